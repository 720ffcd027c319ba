"""A reproducer: one script that imports torch only, says what differs, and exits with a status for `git bisect run`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..ir.program import Program
from . import check, quote
from .contexts import compile_kwargs
from .forms import Form, load_forms
from .literals import literal
from .module import module_parts

if TYPE_CHECKING:
    from ..grammar import RuleBook

Path = Sequence[str | int]

_MODULES = {"inductor": "torch._inductor", "dynamo": "torch._dynamo", "functorch": "torch._functorch"}

_TREE = ("keystr", "tree_leaves", "tree_leaves_with_path", "tree_structure")

# Compiled code draws eager's random numbers, and no result of an earlier run is taken from a cache.
_SETTINGS = (
    ("inductor.fallback_random", True), ("inductor.fx_graph_cache", False), ("functorch.enable_autograd_cache", False),
)  # fmt: skip

_COMPARE = '''\
def compare():
    eager = execute(lambda f: f)
WIDE    compiled = execute(lambda f: torch.compile(ARGS))
IGNORE    found = {k: difference(eager.get(k), compiled.get(k)LEAF) for k in {**eager, **compiled}}
    for name, text in found.items():
        if text:
            print(f"{name}: {text}")
    return any(found.values())'''

_MAIN = '''\
if __name__ == "__main__":
    if sys.argv[1:] == ["eager"]:
        execute(lambda f: f)
    elif sys.argv[1:] == ["compiled"]:
        DO
    else:  # in children, which may crash or hang
        for step, failed in ("eager", 125), ("compiled", 1):
            try:
                status = subprocess.run([sys.executable, __file__, step], timeout=LIMIT).returncode
            except subprocess.TimeoutExpired:
                status = "more than LIMIT s"
            if status:
                print(f"{step}: exit status {status}")
                sys.exit(failed)
        print("eager and compiled agree")'''

# For a program that is made to raise.
_MISSED = """\
def missed():
    try:
        execute(lambda f: f)
    except Exception as error:
        expected = error
        print(f"eager: {type(error).__name__}: {error}")
    else:
        print("eager raises nothing")
        sys.exit(125)
    try:
        execute(lambda f: torch.compile(ARGS))
    except Exception as error:
        print(f"compiled: {type(error).__name__}: {error}")
        return not raises_alike(expected, error)
    print("compiled raises nothing")
    return True


if __name__ == "__main__":
    sys.exit(missed())"""

# Their dtypes, shapes and strides are compared all the same.
_IGNORE = """\
    for seen in (eager, compiled):  # values that may differ
        for k, t in seen.items():
            if isinstance(t, torch.Tensor) and k.startswith((PATHS)):
                seen[k] = torch.empty_strided(t.shape, t.stride(), dtype=t.dtype).zero_()
"""

_WIDE = """\
    try:
        wide = execute(lambda f: f, wide=True)
    except Exception:
        wide = {}  # the program does not run in float64
"""


_BACKWARD = """\
    outputs = [t for t in tree_leaves(results) if getattr(t, "grad_fn", None)]
    weights = [(torch.arange(t.numel()) % 8 + 1).reshape(t.shape).to(t.dtype) / 4 for t in outputs]
    if outputs:
        torch.autograd.backward(outputs, weights)"""

_SEEN = """\
    found = {keystr(path): leaf for path, leaf in tree_leaves_with_path(seen)}
    memory = {}
    for name, value in found.items():
        if isinstance(value, torch.Tensor):
            memory.setdefault(value.untyped_storage()._cdata, []).append(name)
    return {**found, "structure": tree_structure(seen), "sharing of memory": [*memory.values()]}"""

# For inputs that are dense and share nothing.
_WIDE_INPUTS = """\
        inputs = {
            k: t.detach().double().requires_grad_(t.requires_grad) if t.is_floating_point() else t
            for k, t in inputs.items()
        }"""


def standalone(
    program: Program, book: RuleBook | None = None, *, title: str = "", details: str = "", crash: bool = False,
    zero_sign: bool = False, ignore: Sequence[Path] = (), limit: int = 300,
    forms: Mapping[str, Form] | None = None,
) -> str:  # fmt: skip
    """A script that runs the program eagerly and compiled: the same functions as `render`, and a main.

    It exits with 1 while the compiled run raises, dies, takes more than `limit` seconds or differs from eager in what
    it prints, 0 when they agree, 125 when the eager run fails. With `crash` only that the compiled run gets through is
    checked, which makes it much shorter; with `zero_sign` -0.0 differs from 0.0. `ignore` lists what may hold other
    values, by paths such as ("results", 0, 1): call 0, second item; ("inputs", "x"), ("states", "log"),
    ("gradients",). `title` and `details` become the docstring. Raises ProgramError as `render` does.

    For a program that expects an error the status says that alone: 1 while the compiled run raises nothing or another
    type of exception than eager, 0 when they agree, 125 when eager raises nothing.
    """
    reserved = quote.names(check) | {"compare", "execute", "missed", "same", *_TREE}
    parts = module_parts(program, book, load_forms() if forms is None else forms, reserved, options_in_run=True)
    if program.options.expects_error:
        parts += [_execute(program, False, True), quote.source("raises_alike", check)]
        parts += [_MISSED.replace("ARGS", _arguments(program))]
        header = _header(program, False, True).replace("import subprocess\n", "")
        return _docstring(title, details) + header + "\n\n\n" + "\n\n\n".join(parts) + "\n"
    wide = not crash and any(_narrow(s.type.dtype) for s in (*program.inputs, *program.constants))
    if not crash:
        parts += _judges(program, wide, zero_sign)
    parts += [_execute(program, wide, crash)]
    if not crash:
        parts += [_compare(program, wide, ignore)]
    do = f"execute(lambda f: torch.compile({_arguments(program)}))" if crash else "sys.exit(compare())"
    parts += [_MAIN.replace("DO", do).replace("LIMIT", str(limit))]
    header = _header(program, wide, crash)
    return _docstring(title, details) + header + "\n\n\n" + "\n\n\n".join(parts) + "\n"


def _judges(program: Program, wide: bool, zero_sign: bool) -> list[str]:
    difference = quote.source("difference", check)
    if not zero_sign:
        difference = _without(difference, "    minus = ", "    strides = ")
    if wide:
        layouts = [] if _plain(program) else [quote.source("widened", check)]
        return [*layouts, quote.source("as_good", check), difference]
    excuse = "        if not as_good(eager.detach(), compiled.detach(), wide):\n    "
    assert excuse in difference
    return [difference.replace(excuse, "").replace(", wide=None", "")]


def _without(source: str, first: str, last: str) -> str:
    """The source without the lines from one that starts with `first` to before the next that starts with `last`."""
    start = source.index("\n" + first)
    return source[:start] + source[source.index("\n" + last, start) :]


def _plain(program: Program) -> bool:
    """Whether the inputs are all that there is to widen, dense and with storage of their own each."""
    alone = all(s.view_of is None and s.storage is None and s.type.offset == 0 for s in program.inputs)
    return alone and not program.constants and all(s.type.is_contiguous for s in program.inputs)


def _narrow(dtype: str) -> bool:
    """Whether float64 is more precise."""
    return dtype in ("f16", "bf16", "f32", "c64")


def _docstring(title: str, details: str) -> str:
    text = "\n\n".join(t.strip() for t in (title, details) if t.strip()).replace("\\", "\\\\").replace('"""', "'''")
    return f'"""{text}{chr(10) if details.strip() else ""}"""\n\n' if text else ""


def _header(program: Program, wide: bool, crash: bool) -> str:
    lines = ["import subprocess", "import sys", "", "import torch", "import torch._functorch.config"]
    lines += ["from torch._dynamo.utils import same"] if wide else []
    needed = [n for n in _TREE if not crash or (n == "tree_leaves" and program.options.grad)]
    needed = [n for n in needed if n != "tree_leaves" or program.options.grad]
    lines += [f"from torch.utils._pytree import {', '.join(needed)}"] if needed else []
    lines += [""]
    for key, value in (*_SETTINGS, *program.options.config):
        module, _, name = key.partition(".")
        lines.append(f"{_MODULES.get(module, module)}.config.{name} = {literal(value)}")
    return "\n".join(lines)


def _execute(program: Program, wide: bool, crash: bool) -> str:
    lines = [f"def execute(wrap{', wide=False' if wide else ''}):"]
    lines += [] if crash else ['    """Run the program; what it returned and what it left behind, by name."""']
    lines += ["    torch._dynamo.reset()", "    inputs = make_inputs()"]
    if wide:
        lines += ["    if wide:", _WIDE_INPUTS if _plain(program) else "        inputs = widened(inputs)"]
        constants = ", ".join(f'"{s.name}": {s.name}' for s in program.constants)
        lines += [f"        globals().update(widened({{{constants}}}))"] if constants else []
    lines += ["    torch.manual_seed(0)", "    results = run(wrap, inputs)"]
    if program.options.grad:
        lines += [_BACKWARD]
    if crash:
        return "\n".join(lines)
    lines += ['    seen = {"results": results, "inputs": inputs}']
    if program.options.grad:
        lines += ['    seen["gradients"] = {k: t.grad for k, t in inputs.items() if t.is_leaf}']
    if program.states:
        lines += ['    seen["states"] = get_states()']
    return "\n".join([*lines, _SEEN])


def _compare(program: Program, wide: bool, ignore: Sequence[Path]) -> str:
    text = _COMPARE.replace("ARGS", _arguments(program)).replace("WIDE", _WIDE if wide else "")
    text = text.replace("LEAF", ", wide.get(k)" if wide else "")
    paths = "".join(repr("".join(f"[{key!r}]" for key in path)) + ", " for path in ignore)
    return text.replace("IGNORE", _IGNORE.replace("PATHS", paths.rstrip()) if ignore else "")


def _arguments(program: Program) -> str:
    return ", ".join(["f", *(f"{k}={literal(v)}" for k, v in compile_kwargs(program.options).items())])
