"""Types of all nodes again, after an input, an operator or an attribute changed."""

from __future__ import annotations

from .builder import Builder
from .builtins import OPAQUE
from .program import type_of
from .types import AnyType
from .typing import Rejected, bind_parameters


def retype(builder: Builder) -> None:
    """Infer the types of all nodes anew, in order. Raises Rejected where a call no longer fits its operands.

    Declared types of opaque results, and of parameters that the script does not bind, stay; so does the type of the
    first call that no longer fits in a program that expects an error.
    """
    allowed = builder.options.expects_error
    for function in builder.functions.values():
        params = function.placeholders[len(function.captures) :]
        bound = bind_parameters(builder, function.name, [n.name for n in params])
        for node, found in zip(params, bound or [], strict=bound is not None):
            node.meta["type"] = found
        for node in function.nodes:
            if node.op == "get_attr":
                node.meta["type"] = builder.outer_type(str(node.target))
            elif node.op == "call_function":
                op = str(node.meta["op"])
                try:
                    found = function.typed(op, node.args, dict(node.kwargs))
                except Rejected:
                    if not allowed:
                        raise
                    allowed, found = False, type_of(node)
                if not isinstance(found, AnyType) or op not in OPAQUE:
                    node.meta["type"] = found
    builder.stale = False
