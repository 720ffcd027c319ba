"""Every difference between torch versions, and every question for a version; nothing else asks.

Importing this module does not import torch.
"""

from __future__ import annotations

from importlib import metadata

from .errors import EnvironmentProblem

# The oldest whose private names the harness's hooks know.
OLDEST_TORCH = (2, 11)


def installed_torch() -> str:
    """Version of the installed torch by its package metadata. Raises EnvironmentProblem where there is none."""
    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        raise EnvironmentProblem("torch is not installed", hint="pip install torch") from None


def check_torch() -> None:
    """Raise EnvironmentProblem unless a supported torch is installed."""
    version = installed_torch()
    parts = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if parts < OLDEST_TORCH:
        oldest = ".".join(map(str, OLDEST_TORCH))
        raise EnvironmentProblem(f"torch {version} is too old", hint=f"torch {oldest} or later is supported")


def imported_torch() -> dict[str, str]:
    """Version and commit of the torch that this process has imported."""
    import torch

    return {"torch": torch.__version__, "torch_git": (torch.version.git_version or "")[:12]}
