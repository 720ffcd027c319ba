"""Functions that standalone reproducers quote: their source is copied, so they need torch and each other only."""

# mypy: ignore-errors

import torch
from torch._dynamo.utils import same


def leaves(name, value):
    """Yield (path, value) for what nested lists, tuples and dicts hold, and (path, type) for themselves."""
    if isinstance(value, (list, tuple, dict)):
        yield name, type(value)
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(f"{name}[{key!r}]", item)
    else:
        yield name, value


def widened(tensors):
    """The tensors in float64: same strides and offsets, and what shared memory shares it again."""
    storages, wide = {}, dict(tensors)
    for name, t in tensors.items():
        if t.is_floating_point() or t.is_complex():
            storage, dtype = t.untyped_storage(), torch.complex128 if t.is_complex() else torch.float64
            flat = t.detach().as_strided((storage.nbytes() // t.itemsize,), (1,), 0)
            base = storages.setdefault(storage._cdata, flat.to(dtype))
            wide[name] = base.as_strided(t.shape, t.stride(), t.storage_offset())
            wide[name].requires_grad_(t.requires_grad)
    return wide


def as_good(eager, compiled, wide):
    """Whether compiled is as near to the float64 results as eager, so that it differs by rounding only."""
    if not isinstance(wide, torch.Tensor) or wide.dtype == eager.dtype or wide.shape != eager.shape:
        return False
    if eager.is_complex():
        eager, compiled, wide = (torch.view_as_real(t.resolve_conj()) for t in (eager, compiled, wide))
    finite = eager.isfinite() & compiled.isfinite() & wide.isfinite()
    # Where float64 computes something else altogether (reinterpreted bits, say) it is no judge.
    judge = torch.allclose(eager[finite].double(), wide[finite].double(), rtol=0.05, atol=0.05)
    odd = torch.allclose(eager[~finite], compiled[~finite], equal_nan=True)
    return judge and odd and same(eager[finite], compiled[finite], wide[finite], tol=1e-5)


def difference(eager, compiled, wide=None):
    """What differs between two leaves, in words; None if nothing does."""
    if type(eager) is not type(compiled):
        return f"eager {type(eager).__name__}, compiled {type(compiled).__name__}"
    if not isinstance(eager, torch.Tensor):
        equal = eager == compiled or eager != eager or "object at" in repr(eager)
        return None if equal else f"eager {eager!r}, compiled {compiled!r}"
    grad, strides = eager.requires_grad, [s for s, n in zip(eager.stride(), eager.shape) if n > 1]
    try:
        torch.testing.assert_close(compiled.detach(), eager.detach(), equal_nan=True)
    except AssertionError as e:
        if not as_good(eager.detach(), compiled.detach(), wide):
            return str(e)
    if eager.numel() and strides != [s for s, n in zip(compiled.stride(), compiled.shape) if n > 1]:
        return f"strides: eager {eager.stride()}, compiled {compiled.stride()}"
    return None if compiled.requires_grad == grad else f"requires_grad: eager {grad}, compiled {not grad}"
