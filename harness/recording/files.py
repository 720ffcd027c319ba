"""Record what a file holds: `python -m fuzzgraph.harness.recording.files KIND SPOOL ARGUMENT...`

    exported SPOOL FILE      a program of torch.export, saved as .pt2
    repro SPOOL FILE         a repro.py or minifier_launcher.py of Dynamo's or Inductor's minifier
    samples SPOOL PATTERN N  up to N samples of each of op_db's operators whose name matches

Graphs go to the folder SPOOL as `hook.Spool` says. Ends with status 2 and one line on stderr where there is nothing to
record.
"""

from __future__ import annotations

import ast
import functools
import os
import runpy
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import hook
from .nothing import NothingThere, first_line


def main(argv: list[str]) -> int:
    kind, folder, *arguments = argv
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    warnings.simplefilter("ignore")
    spool = hook.Spool(folder)
    spool.mark("python")
    try:
        if kind == "samples":
            from . import samples

            samples.record(spool, arguments[0], int(arguments[1]))
        else:
            {"exported": exported, "repro": repro}[kind](spool, Path(arguments[0]))
    except NothingThere as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return 2
    return 0


# --- exported programs


def exported(spool: hook.Spool, path: Path) -> None:
    import torch

    from .graph import Recorder

    try:
        program = torch.export.load(str(path))
    except Exception as error:  # damaged files fail in many ways
        raise NothingThere(f"no exported program: {first_line(error)}") from error
    recorder = Recorder(program.graph_module, path.name)
    try:
        # Parameters are recorded as requiring grad or not, as they do; the graph itself was captured as it stands.
        _, recorded = recorder.record(*lifted(program))
    except NothingThere:
        raise
    except Exception as error:
        raise NothingThere(f"the exported program does not run on its example inputs: {first_line(error)}") from error
    spool.add(recorded)


def lifted(program: Any) -> Iterator[Any]:
    """What the graph's placeholders stand for: parameters, buffers and constants, then the example inputs."""
    import torch
    from torch.export.graph_signature import InputKind

    if program.example_inputs is None:
        raise NothingThere("the exported program holds no example inputs, whose types are needed")
    given = iter(torch.utils._pytree.tree_leaves(program.example_inputs))
    for spec in program.graph_signature.input_specs:
        if spec.kind == InputKind.USER_INPUT:
            yield next(given)
        elif spec.target in program.state_dict:
            yield program.state_dict[spec.target]
        elif spec.target in program.constants:
            yield program.constants[spec.target]
        else:
            raise NothingThere(f"it takes a {spec.kind.name.lower()} {spec.arg.name}, which is no tensor")


# --- repros


def repro(spool: hook.Spool, path: Path) -> None:
    """Runs the file, but not its `__main__` part, then its module under the recording backend."""
    import torch
    from torch._dynamo.debug_utils import InputReader

    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError) as error:
        raise NothingThere(f"no Python file: {error}") from error
    defined = {n.name for n in tree.body if isinstance(n, ast.ClassDef | ast.FunctionDef)}
    if not {"Repro", "load_args"} <= defined:
        raise NothingThere("no repro of the minifier: that has a class Repro and a function load_args")
    try:
        space = runpy.run_path(str(path), run_name="fuzzgraph_repro")
        reader = InputReader(save_dir=saved(tree))
        space["load_args"](reader)
        module = space["mod"] if "mod" in space else space["Repro"]()
    except Exception as error:  # it is the user's code
        raise NothingThere(f"the repro does not load: {first_line(error)}") from error
    try:
        torch.compile(module, backend=functools.partial(hook.backend, spool))(*reader.args)
    except Exception as error:
        raise NothingThere(f"the repro's module does not run on its inputs: {first_line(error)}") from error


def saved(tree: ast.Module) -> str | None:
    """The folder of saved inputs that the file gives its runner, where it is there; else inputs are made up."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "save_dir" and isinstance(node.value, ast.Constant):
            folder = node.value.value
            if isinstance(folder, str) and os.path.isdir(folder):
                return folder
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
