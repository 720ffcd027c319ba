# ---- Made by fuzzgraph check: runs a script with torch.compile replaced, and records what compiled callables do.
FUZZGRAPH_FILE, FUZZGRAPH_TEXT = "FILE", "TEXT"


class FuzzgraphNoJudge(BaseException):
    """The script says nothing about the compiler. No Exception, so that nothing takes it for the compiler's."""


class FuzzgraphScript:
    """One run of the script. What `wrap` makes of a function stands for what torch.compile would.

    Results are those of the compiled callables, call by call; inputs are their tensor arguments.
    """

    MOST = 64  # calls that are recorded: training loops have thousands

    def make_inputs(self):
        return {}

    def run(self, wrap, inputs):
        import sys
        import types

        import torch._dynamo

        self.wrap, self.inputs, self.results, self.modules = wrap, inputs, [], []
        self.count, self.calls, self.raised = 0, 0, None
        module = types.ModuleType("__main__")
        module.__file__ = FUZZGRAPH_FILE
        code = self.compile()
        before = sys.modules["__main__"], sys.argv
        sys.modules["__main__"], sys.argv = module, [FUZZGRAPH_FILE]
        self.originals = torch.compile, torch._dynamo.optimize
        self.intercept(True)
        error = None
        try:
            exec(code, module.__dict__)
        except (Exception, SystemExit) as e:
            error = e
        finally:
            self.intercept(False)
            sys.modules["__main__"], sys.argv = before
        if self.raised is not None:
            raise self.raised
        if not self.results:
            self.explain(error)
        return self.results

    def compile(self):
        import linecache

        lines = FUZZGRAPH_TEXT.splitlines(keepends=True)
        linecache.cache[FUZZGRAPH_FILE] = (len(FUZZGRAPH_TEXT), None, lines, FUZZGRAPH_FILE)
        return compile(FUZZGRAPH_TEXT, FUZZGRAPH_FILE, "exec", dont_inherit=True)

    def explain(self, error):
        """Why there is nothing to compare."""
        if isinstance(error, Exception):
            raise FuzzgraphNoJudge(f"the script raises {type(error).__name__} by itself: {error}") from None
        if self.count == 0:
            raise FuzzgraphNoJudge("the script never calls torch.compile")
        raise FuzzgraphNoJudge("the script never calls what torch.compile returns")

    def intercept(self, on):
        import torch._dynamo

        torch.compile, torch._dynamo.optimize = (self.replace, self.optimize) if on else self.originals

    def replace(self, model=None, **arguments):
        """Stands for torch.compile. Torch's own uses of it, but Module.compile, are none of the script's."""
        import sys

        caller = sys._getframe(1).f_globals.get("__name__", "")
        if arguments.pop("disable", False) or (caller.startswith("torch.") and caller != "torch.nn.modules.module"):
            return self.original(self.originals[0], model, **arguments) if caller.startswith("torch.") else model
        if model is None:
            return lambda model: self.made(model, arguments)
        return self.made(model, arguments)

    def optimize(self, backend="inductor", *, nopython=False, dynamic=None, **arguments):
        """Stands for torch._dynamo.optimize."""
        import sys

        if sys._getframe(1).f_globals.get("__name__", "").startswith("torch."):
            return self.original(self.originals[1], backend, nopython=nopython, dynamic=dynamic, **arguments)
        chosen = {"fullgraph": nopython, **({} if backend == "inductor" else {"backend": backend})}
        return lambda model: self.made(model, {**chosen, **({} if dynamic is None else {"dynamic": dynamic})})

    def original(self, function, *arguments, **named):
        """Call torch's own, which looks for the others by name."""
        self.intercept(False)
        try:
            return function(*arguments, **named)
        finally:
            self.intercept(True)

    def made(self, model, arguments):
        """What the script gets in the place of the compiled callable."""
        import functools

        import torch

        self.count += 1
        given = {name: value for name, value in arguments.items() if value is not None}
        if given.get("backend") == "inductor":
            del given["backend"]
        compiled = self.original(self.wrap, model, **given)
        if isinstance(model, torch.nn.Module):
            self.modules.append(model)
            return fuzzgraph_module(model, lambda *a, **k: self.call(compiled, a, k))

        @functools.wraps(model)
        def recorded(*positional, **named):
            return self.call(compiled, positional, named)

        return recorded

    def call(self, compiled, positional, named):
        import torch

        if torch.compiler.is_compiling() or self.calls >= self.MOST:
            return compiled(*positional, **named)
        number = self.calls
        self.calls += 1
        for path, leaf in torch.utils._pytree.tree_flatten_with_path((positional, named))[0]:
            if isinstance(leaf, torch.Tensor):
                self.inputs[f"call {number} argument {torch.utils._pytree.keystr(path)}"] = leaf
        try:
            result = compiled(*positional, **named)
        except Exception as error:
            self.raised = self.raised or error
            raise
        self.results.append(result)
        return result

    def gradients(self):
        """What the script's own backward left."""
        found = {name: tensor.grad for name, tensor in self.inputs.items() if tensor.is_leaf and tensor.requires_grad}
        for number, module in enumerate(self.modules):
            found.update((f"of module {number} parameter {k}", v.grad) for k, v in module.named_parameters())
        return found

    def get_states(self):
        return {
            f"module {number}": {**dict(module.named_parameters()), **dict(module.named_buffers())}
            for number, module in enumerate(self.modules)
        }


def fuzzgraph_module(original, called):
    """A module with the original's parameters under the names that torch.compile gives them, which runs `called`."""
    import torch

    class Recorded(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self._orig_mod = original

        def forward(self, *positional, **named):
            return called(*positional, **named)

        def __getattr__(self, name):
            return original if name == "_orig_mod" else getattr(original, name)

    return Recorded()


fuzzgraph_script = FuzzgraphScript()
fuzzgraph_make_inputs, fuzzgraph_run = fuzzgraph_script.make_inputs, fuzzgraph_script.run
fuzzgraph_get_states, fuzzgraph_gradients = fuzzgraph_script.get_states, fuzzgraph_script.gradients
