"""torch.compile with Inductor on a GPU: Triton kernels. CUDA does not survive a fork, so each batch has a process of
its own."""

from ._compiled import compiled

SPAWN = True
DEVICE = "cuda"


def available():
    import torch

    if not torch.backends.cuda.is_built():
        return "this torch is built without CUDA"
    if not torch.cuda.is_available():
        return "torch sees no GPU"
    return None


def prepare():
    """Make the CUDA context before limits are set, so that they count from there."""
    import torch

    torch.zeros(1, device="cuda").add_(1).item()


def healthy():
    """A failed assertion on the device spoils the process for good."""
    import torch

    try:
        torch.cuda.synchronize()
    except Exception:  # whatever CUDA says: the process is of no more use, and the next batch member gets a new one
        return False
    return True


def wrap(kwargs):
    return compiled("inductor", kwargs)
