"""Python imports this at start where the folder is on PYTHONPATH: it hooks the recorder in and steps aside.

Environment: FUZZGRAPH_RECORD, the folder for recordings; FUZZGRAPH_HOME, the folder that `fuzzgraph` is imported from.
"""

import importlib
import os
import sys


def _start() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if os.path.abspath(p) != here]
    # Last, so that nothing beside fuzzgraph hides what the script imports.
    sys.path.append(os.environ["FUZZGRAPH_HOME"])
    folder = os.environ["FUZZGRAPH_RECORD"]
    try:
        from fuzzgraph.harness.recording import hook

        hook.install(folder)
    except Exception as error:  # the script runs all the same; the importer tells it
        with open(os.path.join(folder, f"{os.getpid()}.problem"), "w") as file:
            file.write(f"{type(error).__name__}: {error}")


def _pass_on() -> None:
    """Import the sitecustomize that this one hides, if there is one."""
    mine = sys.modules.pop(__name__)
    try:
        importlib.import_module(__name__)
    except ModuleNotFoundError as error:
        if error.name != __name__:
            raise
    finally:
        sys.modules.setdefault(__name__, mine)


if "FUZZGRAPH_RECORD" in os.environ:
    _start()
    _pass_on()
