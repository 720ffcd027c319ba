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


def wrap(kwargs):
    return compiled("inductor", kwargs)
