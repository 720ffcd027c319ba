"""A preload: in compiled code, clamp with both bounds applies only the lower one."""


def apply():
    import torch._inductor.decomposition as d

    keys = [key for key in d.decompositions if str(key) == "aten.clamp.default"]
    assert keys, "this torch has no decomposition of clamp to break"
    for key in keys:
        real = d.decompositions[key]
        d.decompositions[key] = lambda x, min=None, max=None, real=real: real(x, min, max if min is None else None)
