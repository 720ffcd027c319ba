"""What the compiler and torch's own tests know: operators that Inductor lowers or decomposes, and those of `op_db`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def catalog() -> dict[str, Any]:
    """`lowered`, `fallback`, `decomposed`: overload packets as "namespace.name", without Python functions and
    higher-order operators. `sampled`: names of `op_db`'s operators, each with its aliases. Raises ImportError where
    something is missing that torch's test code imports."""
    import torch._inductor.decomposition
    import torch._inductor.lowering as lowering
    from torch.testing._internal.common_methods_invocations import op_db

    return {
        "lowered": packets(set(lowering.lowerings) - set(lowering.fallbacks)),
        "fallback": packets(lowering.fallbacks),
        "decomposed": packets(torch._inductor.decomposition.decompositions),
        "sampled": sorted({info.name: sorted(alias.name for alias in info.aliases) for info in op_db}.items()),
    }


def packets(operators: Iterable[Any]) -> list[str]:
    return sorted({name for name in map(packet, operators) if name})


def packet(operator: Any) -> str:
    """Name of an operator's overload packet, "" for what is none."""
    import torch

    if isinstance(operator, torch._ops.OpOverload):
        operator = operator._overloadpacket
    return str(operator) if isinstance(operator, torch._ops.OpOverloadPacket) else ""


def recorder(found: set[str]) -> Any:
    """A dispatch mode that adds what runs in it to `found`, before autograd's and meta functions' own calls."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Recorder(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            found.add(packet(func))
            return func(*args, **(kwargs or {}))

    return Recorder()
