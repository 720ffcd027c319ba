"""Functions and classes that rendered modules quote: their source is copied, so each stands alone beside `torch`.

Random values are drawn in the widest type and rounded: vectorized paths differ between machines for narrow ones.
"""

# Quoted in programs, which are plain Python.
# mypy: ignore-errors

import torch


def normal(shape, dtype, mean=0.0, std=1.0, seed=0):
    gen = torch.Generator().manual_seed(seed)
    wide = torch.complex128 if dtype.is_complex else torch.float64
    return (torch.randn(shape, dtype=wide, generator=gen) * std + mean).to(dtype)


def uniform(shape, dtype, low=0.0, high=1.0, seed=0):
    gen = torch.Generator().manual_seed(seed)
    wide = torch.complex128 if dtype.is_complex else torch.float64
    return (torch.rand(shape, dtype=wide, generator=gen) * (high - low) + low).to(dtype)


def ints(shape, dtype, low, high, seed=0):
    gen = torch.Generator().manual_seed(seed)
    return torch.randint(low, high + 1, shape, generator=gen).to(dtype)


def permutation(shape, dtype, seed=0):
    gen = torch.Generator().manual_seed(seed)
    return torch.randperm(torch.Size(shape).numel(), generator=gen).reshape(shape).clone().to(dtype)


def bools(shape, dtype, share=0.5, seed=0):
    gen = torch.Generator().manual_seed(seed)
    return (torch.rand(shape, generator=gen) < share).to(dtype)


def edge(shape, dtype, values, share=0.5, seed=0):
    gen = torch.Generator().manual_seed(seed)
    if dtype.is_floating_point or dtype.is_complex:
        ordinary = torch.randn(shape, dtype=torch.float64, generator=gen).to(dtype)
    else:
        ordinary = torch.randint(-8, 9, shape, generator=gen).to(dtype)
    picked = torch.tensor(values, dtype=dtype)[torch.randint(len(values), shape, generator=gen)]
    return torch.where(torch.rand(shape, generator=gen) < share, picked, ordinary)


class Object:
    def __init__(self, **attributes):
        for name, value in attributes.items():
            setattr(self, name, value)


class default_dtype:
    def __init__(self, dtype):
        self.dtype = dtype

    def __enter__(self):
        self.before = torch.get_default_dtype()
        torch.set_default_dtype(self.dtype)

    def __exit__(self, *_):
        torch.set_default_dtype(self.before)
