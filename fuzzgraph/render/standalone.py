"""A reproducer: one script that imports torch only, says what differs, and exits with a status for `git bisect run`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..ir.program import Program
from ..ir.settings import as_torch
from . import check, quote
from .contexts import compile_kwargs
from .forms import Form, load_forms
from .literals import literal
from .module import has_gradients, has_states, module_parts, python_modules, torch_modules
from .unusual import MISSED, NAMES, RANDOM, RANDOM_CALLS, fake_compare

if TYPE_CHECKING:
    from ..grammar import RuleBook

Path = Sequence[str | int]

_MODULES = {"inductor": "torch._inductor", "dynamo": "torch._dynamo", "functorch": "torch._functorch"}

VALUES = ("results", "inputs", "gradients", "states")
PARTS = (*VALUES, "structure", "memory")

_TREE = ("keystr", "tree_leaves", "tree_leaves_with_path", "tree_structure")

# Compiled code draws eager's random numbers, no result of an earlier run is taken from a cache, and no pool of
# compilers is started for a kernel or two.
_SETTINGS = {
    "inductor.fallback_random": True, "inductor.fx_graph_cache": False, "functorch.enable_autograd_cache": False,
    "inductor.compile_threads": 1,
}  # fmt: skip

_COMPARE = '''\
def compare():
    eager = execute(lambda f: f)
WIDE    compiled = execute(lambda f: torch.compile(ARGS))
IGNORE    found = {k: difference(eager.get(k), compiled.get(k)LEAF) for k in {**eager, **compiled}ONLY}
    for name, text in found.items():
        if text:
            print(f"{name}: {text}")
    return any(found.values())'''

_MAIN = '''\
if __name__ == "__main__":
    if sys.argv[1:]:
        signal.alarm(LIMIT)  # ends a hang: exit status -14
        EAGER
        sys.exit(sys.argv[1:] == ["STEP"] and DO)
    status = subprocess.run([sys.executable, __file__, "STEP"]).returncode  # a child, which may die
    print(f"STEP: exit status {status}" if status else "eager and STEP agree")HANG
    if status not in (0, 1):
        status = 125 if subprocess.run([sys.executable, __file__, "eager"]).returncode else 1
    sys.exit(status)'''

_EAGER = '''\
try:
            CALL
        except BaseException as error:
            print(f"eager: {error!r}")
            sys.exit(125)'''

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
    found = {keystr(path): leaf for path, leaf in tree_leaves_with_path(seen)}"""

# Tensors that share memory, and how many bytes after the first each begins.
_MEMORY = """\
    memory = {}
    for name, value in found.items():
        if isinstance(value, torch.Tensor) and value.numel():
            begin = value.storage_offset() * value.itemsize
            memory.setdefault(value.untyped_storage()._cdata, []).append((name, begin))
    groups = [group for group in memory.values() if len(group) > 1]
    shared = [[(name, begin - group[0][1]) for name, begin in group] for group in groups]"""

# For inputs that are dense and share nothing.
_WIDE_INPUTS = """\
        inputs = {
            k: t.detach().double().requires_grad_(t.requires_grad) if t.is_floating_point() else t
            for k, t in inputs.items()
        }"""


@dataclass(frozen=True)
class Checks:
    """What a script compares. `parts`: of results, inputs, gradients, states, structure (containers and their types)
    and memory (which tensors share it). Of tensors: `values` with dtypes and shapes, `layout` (strides, requires_grad),
    `zero_sign` (-0.0 differs from 0.0), `bits` (conj and neg)."""

    parts: tuple[str, ...] = PARTS
    values: bool = True
    layout: bool = True
    zero_sign: bool = False
    bits: bool = False

    @property
    def prefixes(self) -> str:
        """Names of leaves that count, as source: a tuple's items."""
        names = {"structure": "structure", "memory": "sharing of memory"}
        return ", ".join(f'"{names.get(part, f"[{part!r}]")}"' for part in self.parts)


ALL = Checks()


def standalone(
    program: Program, book: RuleBook | None = None, *, title: str = "", details: str = "", crash: bool = False,
    fake: bool = False, missed_error: bool = False, random: str = "", checks: Checks = ALL,
    ignore: Sequence[Path] = (), limit: int = 300, hang: bool = True, backend: str = "",
    forms: Mapping[str, Form] | None = None,
) -> str:  # fmt: skip
    """A script that runs the program eagerly and compiled: the same functions as `render`, and a main.

    It exits with 1 while the compiled run raises, dies, takes more than `limit` seconds (without `hang` that is 125) or
    differs from eager in what it prints, 0 when they agree, 125 when the eager run fails. With `crash` only that the
    compiled run gets through is checked, which makes it much shorter; for a program that expects an error (or with
    `missed_error`) that it raises an exception of eager's type, 125 where eager raises nothing; with `fake` FakeTensors
    are held against eager, and nothing is compiled; with `random` (a kind of the oracle randomness) runs under
    several seeds are compared, in which compiled code draws random numbers of its own. `checks` says what is compared.
    `ignore` lists what may hold other values, by paths such as ("results", 0, 1): call 0, second item; ("inputs", "x"),
    ("states", "log"), ("gradients",). `backend` is torch.compile's, "" its default. `title` and `details` become the
    docstring. Raises ProgramError as `render` does.
    """
    reserved = quote.names(check) | {"compare", "execute", "same", "status", *NAMES, *_TREE}
    parts = module_parts(program, book, load_forms() if forms is None else forms, reserved, options_in_run=True)
    missed_error = missed_error or program.options.expects_error
    short = crash or missed_error  # nothing is compared
    narrow = any(_narrow(s.type.dtype) for s in (*program.inputs, *program.constants))
    wide = narrow and checks.values and not (short or fake or random)
    arguments = _arguments(program, backend)
    eager = _EAGER.replace("CALL", "run(lambda f: f, make_inputs())" if fake else "execute(lambda f: f)")
    main = {"EAGER": eager, "STEP": "fake" if fake else "compiled", "DO": "compare()", "LIMIT": str(limit)}
    main["HANG"] = "" if hang else "\n    if status == -signal.SIGALRM:\n        sys.exit(125)"
    if fake:
        parts += [fake_compare(program)]
    elif short:
        parts += [_execute(program, wide, None)]
        parts += [quote.source("raises_alike", check), MISSED.replace("ARGS", arguments)] if missed_error else []
        main["DO"] = "missed()" if missed_error else f"execute(lambda f: torch.compile({arguments}))"
        main["EAGER"] = "if raised(lambda f: f) is None:\n            sys.exit(125)" if missed_error else eager
    elif random:
        parts += _random_parts(program, checks, random, arguments)
    else:
        parts += [*_judges(program, wide, checks), _execute(program, wide, checks)]
        parts += [_compare(wide, ignore if checks.values else (), arguments, checks)]
    end = _MAIN
    for word, text in main.items():
        end = end.replace(word, text)
    tree = _tree_functions(program, checks, short, fake)
    modules = ["torch", "torch._functorch.config", *torch_modules(parts)]
    header = _header(program, wide, tree, fake, {"inductor.fallback_random": False} if random else {}, modules)
    header = "".join(f"import {name}\n" for name in python_modules(parts)) + header
    return _docstring(title, details) + header + "\n\n\n" + "\n\n\n".join([*parts, end]) + "\n"


def _tree_functions(program: Program, checks: Checks, short: bool, fake: bool) -> list[str]:
    if fake:
        return ["keystr", "tree_leaves_with_path"]
    leaves = ["tree_leaves"] if program.options.grad else []
    structure = ["tree_structure"] if "structure" in checks.parts else []
    return leaves if short else ["keystr", *leaves, "tree_leaves_with_path", *structure]


def _judges(program: Program, wide: bool, checks: Checks) -> list[str]:
    difference = quote.source("difference", check)
    if not checks.values:
        difference = _without(difference, "    try:", "    minus = ").replace(", wide=None", "")
    if not checks.zero_sign:
        difference = _without(difference, "    minus = ", "    bits = ")
    if not checks.bits:
        difference = _without(difference, "    bits = ", "    strides = ")
    if not checks.layout:
        difference = difference[: difference.index("\n    strides = ")]
    if wide:
        layouts = [] if _plain(program) else [quote.source("widened", check)]
        return [*layouts, quote.source("as_good", check), difference]
    excuse = "        if not as_good(eager.detach(), compiled.detach(), wide):\n    "
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


def _header(
    program: Program, wide: bool, tree: Sequence[str], fake: bool, settings: Mapping[str, Any], modules: Sequence[str]
) -> str:
    lines = ["import signal", "import subprocess", "import sys", "", *(f"import {name}" for name in modules)]
    lines += ["from torch._dynamo.utils import same"] if wide else []
    lines += ["from torch._subclasses.fake_tensor import FakeTensorMode"] if fake else []
    lines += [f"from torch.utils._pytree import {', '.join(tree)}"] if tree else []
    # Loops, and with them what is fused, are other ones for more threads; programs are found with one.
    lines += ["", "torch.set_num_threads(1)"]
    for key, value in as_torch({**_SETTINGS, **dict(program.options.config), **settings}).items():
        module, _, name = key.partition(".")
        lines.append(f"{_MODULES.get(module, module)}.config.{name} = {literal(value)}")
    return "\n".join(lines)


def _execute(program: Program, wide: bool, checks: Checks | None, seeded: bool = False) -> str:
    lines = [f"def execute(wrap{', wide=False' if wide else ''}{', seed=0' if seeded else ''}):"]
    lines += ['    """Run the program; what it returned and what it left behind, by name."""'] if checks else []
    lines += ["    torch._dynamo.reset()", "    inputs = make_inputs()"]
    if wide:
        lines += ["    if wide:", _WIDE_INPUTS if _plain(program) else "        inputs = widened(inputs)"]
        constants = ", ".join(f'"{s.name}": {s.name}' for s in program.constants)
        lines += [f"        globals().update(widened({{{constants}}}))"] if constants else []
    lines += [f"    torch.manual_seed({'seed' if seeded else 0})", "    results = run(wrap, inputs)"]
    if program.options.grad:
        lines += [_BACKWARD]
    return "\n".join(lines if checks is None else [*lines, *_leaves(program, checks)])


def _leaves(program: Program, checks: Checks) -> list[str]:
    """What of the run is compared, by name."""
    lines = ['    seen = {"results": results, "inputs": inputs}']
    if program.options.grad and "gradients" in checks.parts:
        others = " | get_gradients()" if has_gradients(program) else ""
        lines += [f'    seen["gradients"] = {{k: t.grad for k, t in inputs.items() if t.is_leaf}}{others}']
    if has_states(program) and "states" in checks.parts:
        lines += ['    seen["states"] = get_states()']
    lines += [_SEEN, *([_MEMORY] if "memory" in checks.parts else [])]
    more = ['"structure": tree_structure(seen)'] if "structure" in checks.parts else []
    more += ['"sharing of memory": shared'] if "memory" in checks.parts else []
    return [*lines, f"    return {{{', '.join(['**found', *more])}}}" if more else "    return found"]


def _compare(wide: bool, ignore: Sequence[Path], arguments: str, checks: Checks) -> str:
    only = "" if checks.parts == PARTS else f" if k.startswith(({checks.prefixes},))"
    text = _COMPARE.replace("ARGS", arguments).replace("WIDE", _WIDE if wide else "").replace("ONLY", only)
    text = text.replace("LEAF", ", wide.get(k)" if wide else "")
    paths = "".join(repr("".join(f"[{key!r}]" for key in path)) + ", " for path in ignore)
    return text.replace("IGNORE", _IGNORE.replace("PATHS", paths.rstrip()) if ignore else "")


def _random_parts(program: Program, checks: Checks, kind: str, arguments: str) -> list[str]:
    helper, call = RANDOM_CALLS[kind]
    helpers = [quote.source(name, check) for name in ("alike", "seeded", helper)] if helper else []
    compare = RANDOM.replace("ARGS", arguments).replace("CALL", call)
    return [*helpers, _execute(program, False, checks, seeded=True), compare]


def _arguments(program: Program, backend: str) -> str:
    kwargs = compile_kwargs(program.options)
    if backend:  # only Inductor has modes
        kwargs = {"backend": backend, **{k: v for k, v in kwargs.items() if k != "mode"}}
    return ", ".join(["f", *(f"{k}={literal(v)}" for k, v in kwargs.items())])
