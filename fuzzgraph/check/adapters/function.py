# ---- Added by fuzzgraph check: drives `f` or what `make_fn` makes, with what `make_inputs` makes.


class FuzzgraphFile:
    """`make_inputs()` makes the callable and the arguments of all calls; `run(wrap, inputs)` makes the calls.

    Tensors among the arguments are handed over by name, so that the harness may replace them in between.
    """

    def make_inputs(self):
        import torch

        space = globals()
        self.seed()
        if "reset" in space:
            space["reset"]()
        self.function = space["make_fn"]() if "make_fn" in space else space["f"]
        self.modules = dict(self.find_modules(space))
        self.calls, self.after, inputs = [], [], {}
        for number, arguments in enumerate(self.arguments(space)):
            found, spec = torch.utils._pytree.tree_flatten_with_path(arguments)
            leaves = []
            for path, leaf in found:
                name = f"call {number} argument {torch.utils._pytree.keystr(path)}"
                if isinstance(leaf, torch.Tensor):
                    inputs[name] = leaf
                leaves.append((name, leaf))
            self.calls.append((leaves, spec))
        return inputs

    def find_modules(self, space):
        """The modules that the function is, closes over, or may reach as globals; each once, by name."""
        import torch

        code = getattr(self.function, "__code__", None)
        cells = [self.contents(cell) for cell in getattr(self.function, "__closure__", None) or ()]
        places = [("module", self.function), *zip(getattr(code, "co_freevars", ()), cells), *space.items()]
        seen = set()
        for name, value in places:
            if isinstance(value, torch.nn.Module) and id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def arguments(self, space):
        """One tuple a call."""
        if "make_inputs_seq" in space:
            self.seed()
            made = list(space["make_inputs_seq"]())
        else:
            made = []
            for _ in range(space.get("CALLS", 2)):
                self.seed()
                made.append(space["make_inputs"]())
        return [arguments if isinstance(arguments, tuple) else (arguments,) for arguments in made]

    def run(self, wrap, inputs):
        import torch

        space = globals()
        self.inputs = inputs
        start = torch.initial_seed()  # random numbers are looked at under several seeds
        function = wrap(self.function, **space.get("COMPILE_KWARGS", {}))
        results = []
        for leaves, spec in self.calls:
            values = [inputs.get(name, leaf) for name, leaf in leaves]
            arguments = torch.utils._pytree.tree_unflatten(values, spec)
            self.after.append(arguments)
            self.seed(start)
            with torch.no_grad() if space.get("NO_GRAD") else torch.enable_grad():
                results.append(function(*arguments))
            if space.get("BACKWARD"):
                self.backward(results[-1], space.get("WEIGHTED"))
        return results

    def backward(self, result, weighted):
        """From the sum of all that needs it; `weighted`: each element counts differently."""
        import torch

        total = 0
        for tensor in torch.utils._pytree.tree_leaves(result):
            if isinstance(tensor, torch.Tensor) and tensor.requires_grad:
                tensor = (tensor.abs() if tensor.is_complex() else tensor).double()
                if weighted:
                    count = torch.arange(1, tensor.numel() + 1, dtype=torch.float64, device=tensor.device)
                    tensor = tensor * count.reshape(tensor.shape)
                total = total + tensor.sum()
        if isinstance(total, torch.Tensor):
            total.backward()

    def gradients(self):
        """What backward left in arguments and parameters; None where that is nothing."""
        if not globals().get("BACKWARD"):
            return {}
        found = {name: tensor.grad for name, tensor in self.inputs.items() if tensor.is_leaf and tensor.requires_grad}
        for where, module in self.modules.items():
            found.update((f"of {where}.{name}", value.grad) for name, value in module.named_parameters())
        return found

    def get_states(self):
        """All that the calls may have changed but the tensors among the arguments."""
        space = globals()
        states = {
            where: {**dict(module.named_parameters()), **dict(module.named_buffers())}
            for where, module in self.modules.items()
        }
        if "state" in space:
            states["state"] = space["state"]()
        known = {id(tensor): name for name, tensor in self.inputs.items()}
        states["arguments"] = [self.portrait(arguments, known) for arguments in self.after]
        names = getattr(getattr(self.function, "__code__", None), "co_freevars", ())
        cells = getattr(self.function, "__closure__", None) or ()
        free = {name: self.contents(cell) for name, cell in zip(names, cells)}
        states["closure"] = self.portraits(free, known)
        mine = {name: value for name, value in space.items() if not name.startswith(("_", "fuzzgraph"))}
        states["globals"] = self.portraits(mine, known)
        states["attributes"] = {
            where: self.portraits(vars(module), known, private=False) for where, module in self.modules.items()
        }
        return states

    def contents(self, cell):
        try:
            return cell.cell_contents
        except ValueError:  # nothing is bound yet
            return None

    NO_DATA = "no data"

    def portraits(self, values, known, private=True):
        """Those of the named values that are data; with `private`, also those whose names start with _."""
        drawn = {name: self.portrait(value, known) for name, value in values.items() if private or name[:1] != "_"}
        return {name: value for name, value in drawn.items() if value is not self.NO_DATA}

    def portrait(self, value, known, depth=6):
        """The value in containers, numbers and tensors, by which two runs can be compared: names stand for the tensors
        that were there before, dicts for objects and classes of the file."""
        import collections

        import torch

        if isinstance(value, torch.Tensor):
            return known.get(id(value), value)
        if value is None or isinstance(value, bool | int | float | complex | str | bytes | torch.dtype | torch.Size):
            return value
        if depth == 0 or isinstance(value, torch.nn.Module | FuzzgraphFile):
            return self.NO_DATA
        if isinstance(value, list | tuple | collections.deque):
            items = [self.portrait(item, known, depth - 1) for item in value]
            return type(value)(items) if type(value) in (list, tuple) else {type(value).__name__: items}
        if isinstance(value, set | frozenset):
            return {type(value).__name__: sorted(map(repr, value))} if self.plain(value) else self.NO_DATA
        if isinstance(value, dict):
            items = {str(key): self.portrait(item, known, depth - 1) for key, item in value.items()}
            return items if type(value) is dict else {type(value).__name__: items}
        own = value if type(value) is type else type(value)
        if own.__module__ != globals()["__name__"]:
            return self.NO_DATA
        found = {name: item for name, item in getattr(value, "__dict__", {}).items() if name[:2] != "__"}
        drawn = {name: self.portrait(item, known, depth - 1) for name, item in found.items()}
        return {own.__name__: {name: item for name, item in drawn.items() if item is not self.NO_DATA}}

    def plain(self, values):
        """Whether the reprs of all values tell them apart, and are the same in each run."""
        return all(value is None or isinstance(value, bool | int | float | complex | str | bytes) for value in values)

    def seed(self, start=0):
        import random

        import torch

        torch.manual_seed(start)
        random.seed(0)


fuzzgraph_file = FuzzgraphFile()
fuzzgraph_make_inputs, fuzzgraph_run = fuzzgraph_file.make_inputs, fuzzgraph_file.run
fuzzgraph_get_states, fuzzgraph_gradients = fuzzgraph_file.get_states, fuzzgraph_file.gradients
fuzzgraph_config = {
    f"{module}.{name}": value
    for module, values in globals().get("CONFIG", {}).items()
    for name, value in values.items()
}
