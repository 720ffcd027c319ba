"""Functions that standalone reproducers quote: their source is copied, so they need torch and each other only."""

# mypy: ignore-errors

import torch


def same(*args, **options):
    """torch._dynamo.utils.same, imported when it is needed: the engine, which only quotes, is spared 3 CPU seconds."""
    from torch._dynamo.utils import same as judge

    return judge(*args, **options)


def widened(tensors):
    """The tensors in float64: same strides and offsets, and what shared memory shares it again."""
    storages, wide = {}, dict(tensors)
    for name, t in tensors.items():
        if t.is_floating_point():
            storage = t.untyped_storage()
            flat = t.detach().as_strided((storage.nbytes() // t.itemsize,), (1,), 0)
            base = storages.setdefault(storage._cdata, flat.double())
            wide[name] = base.as_strided(t.shape, t.stride(), t.storage_offset())
            wide[name].requires_grad_(t.requires_grad)
    return wide


def as_good(eager, compiled, wide):
    """Whether compiled is as near to the float64 result as eager, so that they differ by rounding only."""
    if not (isinstance(wide, torch.Tensor) and wide.shape == eager.shape and eager.is_floating_point()):
        return False
    finite = eager.isfinite() & compiled.isfinite() & wide.isfinite()
    e, c, w = (t[finite].double() for t in (eager, compiled, wide))
    odd = torch.allclose(eager[~finite], compiled[~finite], equal_nan=True)
    # Where float64 computes something else altogether (reinterpreted bits, say) it is no judge.
    return odd and torch.allclose(e, w, rtol=0.05, atol=0.05) and same(e, c, w, tol=1e-5)


def raises_alike(expected, error):
    """Whether an exception is of the expected one's type, is caused by one that is, or quotes one."""
    while error is not None:
        if isinstance(error, type(expected)) or f"{type(expected).__name__}(" in str(error):
            return True
        error = getattr(error, "inner_exception", None) or error.__cause__
    return False


def difference(eager, compiled, wide=None):
    """What differs between two leaves, in words; None if nothing does."""
    if type(eager) is not type(compiled):
        return f"eager {type(eager).__name__}, compiled {type(compiled).__name__}"
    if not isinstance(eager, torch.Tensor):
        equal = eager == compiled or eager != eager or "object at" in repr(eager)
        return None if equal else f"eager {eager!r}, compiled {compiled!r}"
    try:
        torch.testing.assert_close(compiled.detach(), eager.detach(), equal_nan=True)
    except AssertionError as e:
        if not as_good(eager.detach(), compiled.detach(), wide):
            return str(e)
    minus = [(t == 0) & t.signbit() for t in (eager, compiled) if t.is_floating_point()]
    if minus and not torch.equal(*minus):
        return f"sign of zero: {minus[0].sum()} times -0.0 in eager, {minus[1].sum()} times in compiled"
    bits = [(t.is_conj(), t.is_neg()) for t in (eager, compiled)]
    if bits[0] != bits[1]:
        return f"conj and neg bits: eager {bits[0]}, compiled {bits[1]}"
    strides = [[s for s, n in zip(t.stride(), t.shape) if n > 1] for t in (eager, compiled)]
    if strides[0] != strides[1] and eager.numel():
        return f"strides: eager {eager.stride()}, compiled {compiled.stride()}"
    grad = eager.requires_grad
    return None if compiled.requires_grad == grad else f"requires_grad: eager {grad}, compiled {not grad}"


def random_differences(eager, compiled):
    """What holds in eager whatever the seed, and not in compiled runs: pairs of a kind and of words. Each run is a dict
    of leaves, each argument has one for every seed; leaves whose shapes differ between runs are left out."""

    def numbers(run, name):
        t = run[name].detach()
        return (torch.view_as_real(t.resolve_conj()) if t.is_complex() else t).double().reshape(-1)

    def alike(a, b):
        return a.shape == b.shape and torch.allclose(a, b, equal_nan=True)

    def same_zeros(a, b):
        return torch.equal(a == 0, b == 0)

    def distinct(run, group):
        values = torch.cat([numbers(run, name) for name in group])
        return values[~values.isnan()].unique().numel()

    def masks(run, name):
        t = run[name].detach()
        return (t == 0).reshape(-1, t.shape[-1]).unique(dim=0).shape[0] if t.dim() > 1 else 0

    found, first = [], eager[0]
    shapes = [{k: t.shape for k, t in r.items() if isinstance(t, torch.Tensor) and t.numel()} for r in eager + compiled]
    names = [k for k in shapes[0] if all(shape.get(k) == shapes[0][k] for shape in shapes)]
    changing = [k for k in names if not all(alike(numbers(r, k), numbers(first, k)) for r in eager)]
    for k in names:
        if k not in changing and not any(alike(numbers(r, k), numbers(first, k)) for r in compiled):
            found.append(("value", f"{k} differs from eager, where it is the same for all seeds"))
    pairs = [(a, b) for i, b in enumerate(changing) for a in changing[:i] if first[a].dtype == first[b].dtype]
    for group in [(k,) for k in changing] + pairs:
        theirs, ours = [distinct(r, group) for r in eager], [distinct(r, group) for r in compiled]
        label = " and ".join(map(str, group))
        if min(theirs) >= 4 and max(ours) <= min(theirs) / 2:
            found.append(("repeated", f"{label}: {min(theirs)} or more distinct values in eager, compiled {max(ours)}"))
        elif min(ours) >= 4 and min(ours) >= max(theirs) * 2:
            found.append(("varied", f"{label}: {max(theirs)} or less distinct values in eager, compiled {min(ours)}"))
    for k in changing:
        theirs, ours = [masks(r, k) for r in eager], [masks(r, k) for r in compiled]
        if min(theirs) >= 4 and max(ours) <= min(theirs) / 2:
            words = f"{k}: in {min(theirs)} rows or more zeros are placed differently in eager, in {max(ours)} compiled"
            found.append(("repeated", words))
    for a, b in pairs:
        for agree, what in (alike, "equal"), (same_zeros, "zero in the same places"):
            both = [(numbers(r, a), numbers(r, b)) for r in eager + compiled]
            keeps = [len(x) >= 4 and agree(x, y) for x, y in both]
            if all(keeps[: len(eager)]) and not all(keeps):
                found.append(("unequal", f"{a} and {b} are {what} in eager for all seeds, not compiled"))
    return found
