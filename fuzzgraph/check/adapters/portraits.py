# ---- Added by fuzzgraph check: what a file's calls may have changed, as data.


class FuzzgraphPortraits:
    """Draws values as containers of numbers and tensors, by which two runs can be compared."""

    def find_modules(self, places):
        """The modules among (name, value) pairs; each once, by name."""
        import torch

        found = {}
        for name, value in places:
            if isinstance(value, torch.nn.Module) and all(value is not other for other in found.values()):
                found[name] = value
        return found

    def states(self, space, modules, known):
        """What the file keeps in its global names, in modules, and in what its own `state` gives. `known` names tensors
        by their ids."""
        states = {where: {**dict(m.named_parameters()), **dict(m.named_buffers())} for where, m in modules.items()}
        if "state" in space:
            states["state"] = space["state"]()
        mine = {name: value for name, value in space.items() if not name.startswith(("_", "fuzzgraph", "Fuzzgraph"))}
        states["globals"] = self.portraits(mine, known)
        states["attributes"] = {where: self.portraits(vars(m), known, private=False) for where, m in modules.items()}
        return states

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
        if depth == 0 or isinstance(value, torch.nn.Module | FuzzgraphPortraits):
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
