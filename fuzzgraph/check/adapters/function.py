# ---- Added by fuzzgraph check: drives `f` or what `make_fn` makes, with what `make_inputs` makes.


class FuzzgraphFile(FuzzgraphPortraits):
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
        self.modules = self.find_modules([("module", self.function), *self.closure().items(), *space.items()])
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
        known = {id(tensor): name for name, tensor in self.inputs.items()}
        states = self.states(globals(), self.modules, known)
        states["arguments"] = [self.portrait(arguments, known) for arguments in self.after]
        states["closure"] = self.portraits(self.closure(), known)
        return states

    def closure(self):
        """What the function closes over, by name."""
        names = getattr(getattr(self.function, "__code__", None), "co_freevars", ())
        cells = getattr(self.function, "__closure__", None) or ()
        return {name: self.contents(cell) for name, cell in zip(names, cells)}

    def contents(self, cell):
        try:
            return cell.cell_contents
        except ValueError:  # nothing is bound yet
            return None

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
