"""Types of all nodes again, after an input, an operator or an attribute changed."""

from __future__ import annotations

from .builder import Builder, bind_parameters


def retype(builder: Builder) -> None:
    """Infer the types of all nodes anew, in order. Raises Rejected where a call no longer fits its operands."""
    for function in builder.functions.values():
        params = function.placeholders[len(function.captures) :]
        for node, found in zip(params, bind_parameters(builder, function.name, len(params)), strict=True):
            node.meta["type"] = found
        for node in function.nodes:
            if node.op == "get_attr":
                node.meta["type"] = builder.outer_type(str(node.target))
            elif node.op == "call_function":
                node.meta["type"] = function.typed(str(node.meta["op"]), node.args, dict(node.kwargs))
