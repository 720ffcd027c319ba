# ---- Added by fuzzgraph check: drives `scenario`.


def fuzzgraph_make_inputs():
    """Nothing: a scenario makes its own."""
    if "reset" in globals():
        globals()["reset"]()
    return {}


def fuzzgraph_run(wrap, inputs):
    """One call, whose result is what the scenario returns."""
    import random

    import torch

    space = globals()
    torch.manual_seed(torch.initial_seed())
    random.seed(0)

    def wrapped(function, **own):
        return wrap(function, **{**space.get("COMPILE_KWARGS", {}), **own})

    with torch.no_grad() if space.get("NO_GRAD") else torch.enable_grad():
        return [space["scenario"](wrapped)]


def fuzzgraph_get_states():
    portraits = FuzzgraphPortraits()
    return portraits.states(globals(), portraits.find_modules(globals().items()), {})


fuzzgraph_config = {
    f"{module}.{name}": value
    for module, values in globals().get("CONFIG", {}).items()
    for name, value in values.items()
}
