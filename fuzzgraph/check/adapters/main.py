# ---- Added by fuzzgraph check: a main that needs torch only. Exit status 1 while compiled code does not do what eager
# does, 0 once it does, 125 where eager does not run.


def fuzzgraph_opened(value, depth=8):
    """With dicts in the place of what the file's own classes make."""
    if type(value) in (list, tuple):
        return type(value)(fuzzgraph_opened(item, depth - 1) for item in value) if depth else value
    if type(value) is dict:
        return {key: fuzzgraph_opened(item, depth - 1) for key, item in value.items()} if depth else value
    if type(value).__module__ == "fuzzgraph_case" and hasattr(value, "__dict__"):
        return fuzzgraph_opened(dict(vars(value)), depth)
    return value


def fuzzgraph_execute(wrap):
    """Run the file anew; what it returned and what it left behind, by name."""
    import contextlib
    import importlib

    import torch
    from torch.utils._pytree import keystr, tree_leaves_with_path, tree_structure

    torch.set_num_threads(1)  # as it was found: loops, and what is fused, are other ones for more
    torch._dynamo.reset()
    space = {"__name__": "fuzzgraph_case", "__file__": __file__}
    with open(__file__, encoding="utf-8") as file:
        exec(compile(file.read(), __file__, "exec", dont_inherit=True), space)
    settings = {"inductor.fallback_random": True, **space.get("fuzzgraph_config", {})}
    torch.manual_seed(0)
    inputs = space["fuzzgraph_make_inputs"]()
    with contextlib.ExitStack() as stack:
        for key, value in settings.items():
            module, _, name = key.partition(".")
            config = importlib.import_module(f"torch._{module}.config")
            stack.enter_context(config.patch({name: value}))
        results = space["fuzzgraph_run"](wrap, inputs)
        seen = {"results": fuzzgraph_opened(results), "inputs": inputs, "states": space["fuzzgraph_get_states"]()}
        if "fuzzgraph_gradients" in space:
            seen["gradients"] = space["fuzzgraph_gradients"]()
    found = {keystr(path): leaf for path, leaf in tree_leaves_with_path(seen)}
    memory = {}
    for name, value in found.items():
        if isinstance(value, torch.Tensor) and value.layout == torch.strided and value.numel():
            memory.setdefault(value.untyped_storage()._cdata, []).append(name)
    return {**found, "structure": tree_structure(seen), "sharing of memory": [*memory.values()]}


def fuzzgraph_compare():
    """Whether compiled code differs; says how."""
    import traceback

    import torch

    eager, compiled, raised = {}, {}, []
    for seen, wrap in ((eager, lambda f, **_: f), (compiled, lambda f, **own: torch.compile(f, **own))):
        try:
            seen.update(fuzzgraph_execute(wrap))
            raised.append(None)
        except Exception as error:
            traceback.print_exc()
            raised.append(error)
    if raised[0] is not None or raised[1] is not None:
        print(f"eager: {raised[0]!r}\ncompiled: {raised[1]!r}")
        return (raised[0] is None) != (raised[1] is None)
    difference = globals()["difference"]  # it is put before this
    found = {name: difference(eager.get(name), compiled.get(name)) for name in {**eager, **compiled}}
    for name, text in found.items():
        if text:
            print(f"{name}: {text}")
    return any(found.values())


def fuzzgraph_main(limit):
    """Each step in a process of its own, which may crash or hang."""
    import os
    import subprocess
    import sys

    if os.environ.get("FUZZGRAPH_STEP") == "compare":
        sys.exit(1 if fuzzgraph_compare() else 0)
    if os.environ.get("FUZZGRAPH_STEP") == "eager":
        try:
            fuzzgraph_execute(lambda f, **_: f)
        except Exception as error:  # then compiled code should raise too
            print(f"eager: {error!r}")
        sys.exit(0)
    caches = {"TORCHINDUCTOR_FX_GRAPH_CACHE": "0", "TORCHINDUCTOR_AUTOGRAD_CACHE": "0"}
    for step, failed in ("eager", 125), ("compare", 1):
        try:
            environment = {**os.environ, **caches, "FUZZGRAPH_STEP": step}
            status = subprocess.run([sys.executable, __file__], env=environment, timeout=limit).returncode
        except subprocess.TimeoutExpired:
            status = f"none within {limit} s"
        if status:
            print(f"{step}: exit status {status}")
            sys.exit(failed)
    print("eager and compiled agree")


if __name__ == "__main__":
    fuzzgraph_main(limit=300)
