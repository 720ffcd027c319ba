"""The ways to write a call.

    function   torch.add(a, b, alpha=2)
    keywords   torch.add(a, other=b, alpha=2): all arguments after the first by name
    method     a.add(b, alpha=2)

Any other spelling has a template, such as `{0} + {1}` (operator), `{0}[{1}]` (subscript), or the statements
`{0}[{1}] = {2}` (assign) and `{0} += {1}` (augmented): it takes exactly that many positional arguments and no
keyword arguments. After a statement the call's result is its first operand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..ir.types import AnyType, TensorType, UnsizedType

if TYPE_CHECKING:
    from .rule import Rule

STANDARD = ("function", "keywords", "method")
# Spellings that are statements: the call has no expression of its own.
STATEMENTS = frozenset({"assign", "augmented"})


def places(template: str) -> int:
    """How many arguments a template takes."""
    return len(set(re.findall(r"\{(\d+)\}", template)))


def applicable(rule: Rule, spelling: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether a call (types in place of operands) can be written in this spelling."""
    template = rule.spellings[spelling]
    if template:
        return not kwargs and len(args) == places(template)
    if spelling == "method":
        # No method takes out=.
        return bool(args) and "out" not in kwargs and isinstance(args[0], (TensorType, UnsizedType, AnyType))
    return spelling != "keywords" or len(args) > 1


def by_keyword(rule: Rule, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call in the keywords spelling."""
    names = [p.name for p in rule.params]
    return args[:1], {**dict(zip(names[1:], args[1:], strict=False)), **kwargs}
