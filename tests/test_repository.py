"""The repository as a whole: what is in it, its lock files and set-up, and the wheel made from it."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MAX_LINES = 500


def files() -> list[Path]:
    """Return what is, or would be, committed; all but hidden and generated files where git does not say."""
    git = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(git, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
        found = [ROOT / name for name in listed if name]
    except (OSError, subprocess.CalledProcessError):
        generated = re.compile(r"(^|/)(\.(?!ci/)|__pycache__|build/)")
        found = [p for p in ROOT.rglob("*") if not generated.search(str(p.relative_to(ROOT)))]
    return [p for p in found if p.is_file()]


def is_python(path: Path) -> bool:
    if path.suffix:
        return path.suffix in (".py", ".pyi")
    return re.match(rb"#!.*python", path.read_bytes()) is not None


def names(lines: list[str]) -> dict[str, str]:
    """Return normalized project name -> what follows it, of requirement lines."""
    split = [re.fullmatch(r"([A-Za-z0-9._-]+)(\[[^]]*\])?\s*(.*)", line) for line in lines]
    return {re.sub(r"[-_.]+", "-", m[1]).lower(): m[3] for m in split if m}


def lock(name: str) -> list[str]:
    lines = (ROOT / "locks" / f"{name}.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_no_absolute_path_of_a_machine() -> None:
    # Written in pieces, so that this file does not hold them.
    pieces = ["work/", "root/", "home/", "opt/wheels", "etc/xdg"]
    bad = re.compile(rb"(?<![\w}.$*-])/(" + "|".join(map(re.escape, pieces)).encode() + rb")")
    assert [str(p.relative_to(ROOT)) for p in files() if bad.search(p.read_bytes())] == []


def test_python_files_are_short() -> None:
    lengths = {str(p.relative_to(ROOT)): len(p.read_bytes().splitlines()) for p in files() if is_python(p)}
    assert lengths and {name: n for name, n in lengths.items() if n > MAX_LINES} == {}


def test_no_campaign_output() -> None:
    kept = [str(p.relative_to(ROOT)) for p in files()]
    assert [name for name in kept if re.search(r"^campaign-|\.(db|sqlite|pyc)$", name)] == []


@pytest.mark.parametrize("name", ["setup", "env", "fuzz", "test", "bin/fuzzgraph"])
def test_scripts_are_executable(name: str) -> None:
    assert os.access(ROOT / "scripts" / name, os.X_OK)


def test_torch_has_a_lower_bound_only() -> None:
    requirements = project()["dependencies"]
    assert re.fullmatch(r">=[\d.]+", names(requirements)["torch"])
    assert not [r for r in requirements if "==" in r or "<" in r]


@pytest.mark.parametrize("name", ["default", "floor"])
def test_lock_pins_all_that_the_project_asks_for(name: str) -> None:
    pinned = names(lock(name))
    assert all(re.fullmatch(r"==\d[\w.]*", pin) for pin in pinned.values())
    assert len(pinned) == len(lock(name)), "a project is pinned twice, or a line is no pin"
    extras = project()["optional-dependencies"]
    wanted = names([*project()["dependencies"], *extras["report"], *extras["test"]])
    for asked, bound in wanted.items():
        assert asked in pinned
        least = [int(n) for n in re.findall(r"\d+", bound)]
        assert [int(n) for n in re.findall(r"\d+", pinned[asked])] >= least


def test_lock_files_name_no_place() -> None:
    for path in (ROOT / "locks").iterdir():
        assert "://" not in path.read_text()
        assert not [line for line in path.read_text().splitlines() if re.match(r"-|[^#].*/", line)]


def setup(tmp_path: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run scripts/setup with an empty cache; what these tests ask for stops before anything is installed."""
    keep = {k: v for k, v in os.environ.items() if k not in ("CXX", "PYENV_ROOT", "FUZZGRAPH_ENV")}
    command = [sys.executable, str(ROOT / "scripts" / "setup")]
    return subprocess.run(
        command,
        env=keep | {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)} | environ,
        capture_output=True,
        text=True,
        timeout=120,
    )


def here(tmp_path: Path, *tools: str) -> str:
    """Return a PATH with the given tools only; a Python is there under its full name."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in tools:
        found = sys.executable if tool.startswith("python") else shutil.which(tool)
        (folder / tool).write_text(f'#!/bin/sh\nexec "{found}" "$@"\n')
        (folder / tool).chmod(0o755)
    return str(folder)


def mine() -> tuple[str, str]:
    """Return the environment that this Python would serve, and the name of its executable."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    served = {"3.13": "default", "3.11": "floor"}
    if version not in served:
        pytest.skip(f"no environment is made with Python {version}")
    return served[version], f"python{version}"


def stopped_by(run: subprocess.CompletedProcess[str], text: str) -> bool:
    lines = run.stderr.splitlines()
    return run.returncode == 3 and run.stdout == "" and len(lines) == 1 and text in lines[0]


def test_setup_without_a_compiler(tmp_path: Path) -> None:
    assert stopped_by(setup(tmp_path, PATH=here(tmp_path)), "no C++ compiler")


def test_setup_without_a_python(tmp_path: Path) -> None:
    path = here(tmp_path, "true")
    assert stopped_by(setup(tmp_path, PATH=path, CXX="true"), "no Python 3.13 or 3.11")
    assert stopped_by(setup(tmp_path, PATH=path, CXX="true", FUZZGRAPH_ENV="floor"), "no Python 3.11")


def test_setup_passes_over_a_python_that_does_not_run(tmp_path: Path) -> None:
    path = here(tmp_path, "true")
    for version in ["3.13", "3.11"]:
        broken = Path(path) / f"python{version}"
        broken.write_text("#!/bin/sh\necho not found >&2\nexit 127\n")
        broken.chmod(0o755)
    assert stopped_by(setup(tmp_path, PATH=path, CXX="true"), "no Python 3.13 or 3.11")


def test_setup_with_a_full_disk(tmp_path: Path) -> None:
    name, python = mine()
    run = setup(
        tmp_path,
        PATH=here(tmp_path, "true", python),
        CXX="true",
        FUZZGRAPH_ENV=name,
        FUZZGRAPH_SETUP_DISK_GB="1e9",
    )
    assert stopped_by(run, f"the {name} environment needs 1e+09 GB free")


def test_setup_refuses_an_unknown_environment(tmp_path: Path) -> None:
    run = setup(tmp_path, CXX="true", PATH=here(tmp_path, "true"), FUZZGRAPH_ENV="newest")
    assert stopped_by(run, "newest")


def run_away(where: Path, target: Path, *arguments: str) -> str:
    """Run Python in an empty folder with the installed wheel on its path, and return what it prints."""
    where.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=where,
        env=os.environ | {"PYTHONPATH": str(target)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder into which a wheel of a copy of this checkout is installed."""
    # Not asked by importing: on 3.11, setuptools breaks in a process that so much as looked for pip's spec.
    if missing := {"pip", "setuptools", "wheel"} - {d.name for d in importlib.metadata.distributions()}:
        pytest.skip(f"not installed: {missing}")
    base = tmp_path_factory.mktemp("wheel")
    source, wheels, target = base / "source", base / "wheels", base / "installed"
    for path in files():
        copy = source / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    for command in [
        ["wheel", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", str(wheels), str(source)],
        ["install", "--no-deps", "--no-index", "--no-compile", "--target", str(target), "fuzzgraph"],
    ]:
        links = ["--find-links", str(wheels)] if command[0] == "install" else []
        run = subprocess.run([*pip, *command, *links], capture_output=True, text=True, cwd=base)
        assert run.returncode == 0, run.stdout + run.stderr
    return target


def test_wheel_holds_one_package(installed: Path) -> None:
    # --target adds bin/ for the command.
    assert {p.name for p in installed.iterdir() if p.suffix != ".dist-info"} == {"fuzzgraph", "bin"}


@pytest.mark.parametrize(
    ("top", "home"),
    [
        ("fuzzgraph", "fuzzgraph"),
        ("harness", "fuzzgraph/harness"),
        ("grammar", "fuzzgraph/_data/grammar"),
        ("corpus", "fuzzgraph/_data/corpus"),
    ],
)
def test_wheel_holds_every_file(installed: Path, top: str, home: str) -> None:
    ours = {p.relative_to(ROOT / top) for p in files() if p.is_relative_to(ROOT / top)}
    theirs = {p.relative_to(installed / home) for p in (installed / home).rglob("*") if p.is_file()}
    assert ours and ours - theirs == set()
    if top != "fuzzgraph":
        assert theirs == ours


def test_wheel_runs_from_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    script = (
        "import sys, fuzzgraph, fuzzgraph.harness\n"
        "from fuzzgraph.resources import data_dir\n"
        "assert 'torch' not in sys.modules\n"
        "print(fuzzgraph.__version__, fuzzgraph.harness.__file__, sep='\\n')\n"
        "print(data_dir('grammar'), data_dir('corpus'), sep='\\n')"
    )
    version, *places = run_away(tmp_path / "empty", installed, "-c", script).splitlines()
    assert version == project()["version"]
    homes = ["harness/__init__.py", "_data/grammar", "_data/corpus"]
    assert places == [str(installed / "fuzzgraph" / home) for home in homes]


def test_wheel_has_the_command(installed: Path, tmp_path: Path) -> None:
    assert "fuzz" in run_away(tmp_path / "empty", installed, "-m", "fuzzgraph", "--help")
    assert "fuzz" in run_away(tmp_path / "empty", installed, str(installed / "bin" / "fuzzgraph"), "--help")


def test_checkout_needs_no_installation(tmp_path: Path) -> None:
    script = (
        "import fuzzgraph.harness; from fuzzgraph.resources import data_dir\n"
        "print(fuzzgraph.harness.__file__, data_dir('grammar'), data_dir('corpus'), sep='\\n')"
    )
    found = run_away(tmp_path / "empty", ROOT, "-c", script).splitlines()
    assert found == [str(ROOT / "harness" / "__init__.py"), str(ROOT / "grammar"), str(ROOT / "corpus")]
