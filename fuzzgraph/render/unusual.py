"""Reproducers of failures that are no difference between two results: errors that are missed, types that FakeTensors
get wrong, random numbers that are not what eager's have in common. Each is a function for the script's main."""

from __future__ import annotations

from ..ir.program import Program

NAMES = {"facts", "missed", "raised", "FakeTensorMode"}

MISSED = '''\
def raised(wrap):
    """The exception that the program raises, or None."""
    try:
        execute(wrap)
    except Exception as error:
        return error


def missed():
    eager, compiled = raised(lambda f: f), raised(lambda f: torch.compile(ARGS))
    print(f"eager: {type(eager).__name__}: {eager}")
    print(f"compiled: {type(compiled).__name__}: {compiled}" if compiled else "compiled raises nothing")
    return not raises_alike(eager, compiled)'''

# What is asked of random numbers, by the kind of the failure: the helper of `check`, and the call of it.
RANDOM_CALLS = {
    "value": ("random_value", "random_value(eager, compiled)"),
    "repeated": ("random_count", "random_count(eager, compiled)"),
    "varied": ("random_count", "random_count(eager, compiled, more=True)"),
    "unequal": ("random_unequal", "random_unequal(eager, compiled)"),
    "exception": ("", "[]"),
}  # fmt: skip

RANDOM = '''\
def compare():
    """Compiled code draws random numbers of its own: only what holds in eager under every seed can be compared."""
    eager = [execute(lambda f: f, seed) for seed in range(8)]
    compiled = [execute(lambda f: torch.compile(ARGS), seed) for seed in range(3)]
    found = CALL
    print(*found, sep="\\n")
    return bool(found)'''

FAKE = '''\
def facts(leaf):
    """What FakeTensors must get right; strides count where there is more than one element along them."""
    if not isinstance(leaf, torch.Tensor):
        return repr(leaf)
    strides = [s for s, n in zip(leaf.stride(), leaf.shape) if n > 1 and leaf.numel()]
    return f"{leaf.dtype} {list(leaf.shape)}, strides {strides}, device {leaf.device}"


def compare():
    real = {keystr(k): facts(leaf) for k, leaf in tree_leaves_with_path(run(lambda f: f, make_inputs()))}
    mode = FakeTensorMode()
    inputs = {k: mode.from_tensor(t) for k, t in make_inputs().items()}
CONSTANTS    with mode:
        fake = {keystr(k): facts(leaf) for k, leaf in tree_leaves_with_path(run(lambda f: f, inputs))}
    found = [k for k in {**real, **fake} if real.get(k) != fake.get(k)]
    for k in found:
        print(f"results{k}: eager {real.get(k)}; FakeTensor {fake.get(k)}")
    return bool(found)'''


def fake_compare(program: Program) -> str:
    """The functions of a script that holds FakeTensors against eager."""
    names = [spec.name for spec in program.constants]
    made = ", ".join(f'"{name}": mode.from_tensor({name})' for name in names)
    return FAKE.replace("CONSTANTS", f"    globals().update({{{made}}})\n" if names else "")
