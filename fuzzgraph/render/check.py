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


def alike(a, b):
    return a.shape == b.shape and torch.allclose(a, b, equal_nan=True)


def seeded(eager, compiled):
    """Runs under different seeds, each a dict of leaves: as float64 matrices of the rows of their last dimensions,
    where all runs agree in the shape; and the names of those that depend on the seed in eager."""

    def matrices(run):
        tensors = {k: t.detach() for k, t in run.items() if isinstance(t, torch.Tensor) and t.numel()}
        rows = {k: t.reshape(-1, t.shape[-1] if t.dim() else 1) for k, t in tensors.items()}
        flat = {k: torch.view_as_real(t.resolve_conj()).flatten(1) if t.is_complex() else t for k, t in rows.items()}
        return {k: t.double() for k, t in flat.items()}

    runs = [matrices(run) for run in eager + compiled]
    names = [k for k, t in runs[0].items() if all(k in run and run[k].shape == t.shape for run in runs)]
    runs = [{k: run[k] for k in names} for run in runs]
    random = [k for k in names if not all(alike(run[k], runs[0][k]) for run in runs[: len(eager)])]
    return runs[: len(eager)], runs[len(eager) :], random


def random_value(eager, compiled):
    """Leaves that differ from eager's for all seeds, where those are the same for all seeds."""
    eager, compiled, random = seeded(eager, compiled)
    wrong = [k for k, t in eager[0].items() if k not in random and not any(alike(run[k], t) for run in compiled)]
    return [f"{k}: eager {eager[0][k].flatten()[:8].tolist()}, compiled {compiled[0][k].flatten()[:8].tolist()}"
            for k in wrong]  # fmt: skip


def random_count(eager, compiled, more=False):
    """Where random numbers take half as many distinct values as in eager, or fewer (`more`: twice as many, or more)."""
    eager, compiled, random = seeded(eager, compiled)
    found = []

    def values(*leaves):
        numbers = torch.cat([t.flatten() for t in leaves])
        return numbers[~numbers.isnan()].unique().numel()

    def zeros(t):
        return (t == 0).unique(dim=0).shape[0]

    def look(what, count, *names):
        theirs, ours = ([count(*(run[k] for k in names)) for run in runs] for runs in (eager, compiled))
        few, many = (theirs, ours) if more else (ours, theirs)
        if min(many) >= max(4, 2 * max(few)):
            found.append(f"{what} in {' and '.join(names)}: {theirs} in eager, {ours} compiled")

    for i, k in enumerate(random):
        look("distinct values", values, k)
        look("rows with zeros in distinct places", zeros, k)
        for j in random[:i]:
            look("distinct values", values, j, k)
    return found


def random_unequal(eager, compiled):
    """Pairs of leaves that are equal, or zero in the same places, in eager for all seeds, and not in compiled runs."""
    eager, compiled, random = seeded(eager, compiled)
    found = []
    for i, k in enumerate(random):
        for j in random[:i]:
            for what, agree in ("equal", alike), ("zero in the same places", lambda a, b: torch.equal(a == 0, b == 0)):
                theirs, ours = [[agree(run[j], run[k]) for run in runs] for runs in (eager, compiled)]
                if eager[0][k].numel() >= 4 and all(theirs) and not all(ours):
                    found.append(f"{j} and {k} are {what} in eager for all seeds, not compiled")
    return found
