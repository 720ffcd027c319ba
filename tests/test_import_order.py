"""Imports inside fuzzgraph go only from later to earlier parts, and the harness stands apart.

Every import statement counts: lazy ones inside functions and those under TYPE_CHECKING too.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Each part may import the parts of earlier lines, and those before it on its own line if so noted.
ORDER = [
    ["errors"], ["rng"], ["torch_compat"], ["resources"], ["presence"], ["toml"],
    ["ir"],
    ["grammar"],
    ["render"],
    ["oracles"],
    ["execution"],
    ["feedback"],
    ["generate", "mutators", "llm", "importers"],
    ["minimize"],
    ["corpus"],
    ["triage"],
    ["check"],
    ["campaign"],
    ["experiment"],
    ["cli"],
]  # fmt: skip
WITHIN_LEVEL = {("mutators", "generate"), ("llm", "generate")}
LEVEL = {part: level for level, parts in enumerate(ORDER) for part in parts}

# All that the harness may use of the engine.
FOR_HARNESS = ["errors", "torch_compat", "resources", "presence", "ir", "render", "oracles", "execution.protocol"]

VERSION_HOME = "fuzzgraph/torch_compat.py"


def sources(top: str) -> list[str]:
    return sorted(str(p.relative_to(ROOT)) for p in (ROOT / top).rglob("*.py"))


def imports(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """Yield (line, dotted name) of everything imported; for `from a import b` that is `a.b`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                parents = parts[: len(parts) - node.level + 1]
                base = ".".join([*parents, base] if base else parents)
            for alias in node.names:
                yield node.lineno, f"{base}.{alias.name}"


def engine_imports(code: str, package: str) -> Iterator[tuple[int, str]]:
    """Yield (line, name below fuzzgraph) of what `code` imports of the engine or the harness."""
    for line, name in imports(ast.parse(code), package):
        first, _, rest = name.partition(".")
        if first == "fuzzgraph" and rest and not rest.startswith("__"):
            yield line, rest
        elif first == "harness":
            yield line, name


def part_of(path: str) -> str:
    return path.split("/")[1].removesuffix(".py")


def package_of(path: str) -> str:
    """Return the package that relative imports in a file start from."""
    folders = path.split("/")[:-1]
    return ".".join(folders if folders[0] == "fuzzgraph" else ["fuzzgraph", *folders])


def engine_faults(code: str, path: str) -> list[str]:
    me = part_of(path)
    faults = []
    for line, name in engine_imports(code, package_of(path)):
        other = name.split(".")[0]
        if other == "harness":
            faults.append(f"{path}:{line}: the engine imports nothing of the harness")
        elif other not in LEVEL:
            faults.append(f"{path}:{line}: fuzzgraph.{other} has no place in the order")
        elif other != me and LEVEL[other] >= LEVEL[me] and (me, other) not in WITHIN_LEVEL:
            faults.append(f"{path}:{line}: {me} imports {other}, which comes later or beside it")
    return faults


def harness_faults(code: str, path: str) -> list[str]:
    return [
        f"{path}:{line}: the harness may not use fuzzgraph.{name}"
        for line, name in engine_imports(code, package_of(path))
        if not any(f"{name}.".startswith(f"{allowed}.") for allowed in ["harness", *FOR_HARNESS])
    ]


def sampler_faults(code: str, path: str) -> list[str]:
    """Samplers in grammar/ are data of the grammar part: they may use it and what comes before it."""
    return [
        f"{path}:{line}: a sampler may not use {name}"
        for line, name in engine_imports(code, "grammar")
        if LEVEL.get(name.split(".")[0], len(ORDER)) > LEVEL["grammar"]
    ]


def version_faults(code: str, path: str) -> list[str]:
    """Find code that asks which torch it runs on; strings and comments do not count."""
    tree = ast.parse(code)
    asked = ("torch.version.", "torch.__version__.")
    lines = [line for line, name in imports(tree, "") if f"{name}.".startswith(asked)]
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="torch"), attr="__version__" | "version"):
                lines.append(node.lineno)
            case ast.Call(
                func=ast.Name(id="version") | ast.Attribute(attr="version"),
                args=[ast.Constant(value="torch"), *_],
            ):
                lines.append(node.lineno)
    return [f"{path}:{line}: only {VERSION_HOME} asks for torch's version" for line in lines]


@pytest.mark.parametrize("path", [p for p in sources("fuzzgraph") if p.count("/") > 1 or part_of(p) in LEVEL])
def test_engine_imports_only_earlier_parts(path: str) -> None:
    assert part_of(path) in LEVEL, f"{path} belongs to no part; give it a place in ORDER"
    assert engine_faults((ROOT / path).read_text(), path) == []


@pytest.mark.parametrize("path", sources("harness"))
def test_harness_uses_little_of_the_engine(path: str) -> None:
    assert harness_faults((ROOT / path).read_text(), path) == []


@pytest.mark.parametrize("path", sources("grammar"))
def test_samplers_use_the_grammar_and_what_is_below(path: str) -> None:
    assert sampler_faults((ROOT / path).read_text(), path) == []


def test_package_files_outside_the_parts() -> None:
    outside = {part_of(p) for p in sources("fuzzgraph") if p.count("/") == 1} - set(LEVEL)
    assert outside == {"__init__", "__main__"}
    for name, allowed in {"__init__": {"resources"}, "__main__": {"cli"}}.items():
        used = engine_imports((ROOT / "fuzzgraph" / f"{name}.py").read_text(), "fuzzgraph")
        assert {rest.split(".")[0] for _, rest in used} == allowed


@pytest.mark.parametrize("top", ["fuzzgraph", "harness", "grammar"])
def test_only_torch_compat_asks_for_a_version(top: str) -> None:
    faults = [f for p in sources(top) if p != VERSION_HOME for f in version_faults((ROOT / p).read_text(), p)]
    assert faults == []


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("fuzzgraph/ir/types.py", "from fuzzgraph.grammar import rules"),
        ("fuzzgraph/ir/types.py", "def f():\n    from ..cli import main"),
        ("fuzzgraph/ir/types.py", "from fuzzgraph import grammar"),
        ("fuzzgraph/ir/types.py", "import fuzzgraph.harness.zygote"),
        ("fuzzgraph/ir/types.py", "import harness"),
        ("fuzzgraph/ir/types.py", "from fuzzgraph import unheard_of"),
        ("fuzzgraph/generate/grow.py", "from fuzzgraph.mutators import splice"),
        ("fuzzgraph/mutators/splice.py", "import fuzzgraph.llm"),
        ("fuzzgraph/errors.py", "from fuzzgraph import rng"),
    ],
)
def test_sees_engine_faults(path: str, code: str) -> None:
    assert len(engine_faults(code, path)) == 1


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("fuzzgraph/mutators/splice.py", "from fuzzgraph.generate import grow"),
        ("fuzzgraph/llm/client.py", "from fuzzgraph import __version__"),
        ("fuzzgraph/ir/types.py", "from . import node\nfrom ..errors import FuzzgraphError\nimport torch.fx"),
        ("fuzzgraph/cli/run.py", "from fuzzgraph import campaign, triage"),
    ],
)
def test_accepts_the_order(path: str, code: str) -> None:
    assert engine_faults(code, path) == []


def test_sees_harness_faults() -> None:
    for code in [
        "from fuzzgraph.execution import protocol",
        "from fuzzgraph.ir.types import T",
        "from . import b",
    ]:
        assert harness_faults(code, "harness/a.py") == []
    for code in [
        "from fuzzgraph.execution import executor",
        "import fuzzgraph.grammar",
        "from ..cli import main",
    ]:
        assert len(harness_faults(code, "harness/a.py")) == 1


def test_sees_sampler_faults() -> None:
    assert sampler_faults("from fuzzgraph.grammar import domains\nimport random", "grammar/a.py") == []
    assert len(sampler_faults("import fuzzgraph.generate", "grammar/a.py")) == 1


def test_sees_version_faults() -> None:
    for code in [
        "import torch\nif torch.__version__ > '2': pass",
        "from torch import __version__",
        "import torch.version",
        "import torch\ntorch.version.cuda",
        "from importlib.metadata import version\nversion('torch')",
    ]:
        assert len(version_faults(code, "x.py")) == 1
    assert version_faults("text = 'print(torch.__version__)'\nversion('numpy')", "x.py") == []
