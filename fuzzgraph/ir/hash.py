"""The content hash: equal for programs that differ in names and derived types only."""

from __future__ import annotations

import hashlib
from typing import Any

import msgpack

from .program import Program
from .wire import to_data


def canonical_data(program: Program) -> dict[str, Any]:
    """Plain data with names normalised by order of appearance and the types of operator nodes left out.

    Types are a function of the inputs and the operators, and differ in details between torch versions. Names inside
    verbatim source are the source's own, so programs with `python` nodes keep their names.
    """
    data = to_data(program)
    for function in data["functions"]:
        for record in function[2]:
            record[5] = None
    if any(record[2] == "python" for function in data["functions"] for record in function[2]):
        return data
    return _rename(data)


def content_hash(program: Program) -> str:
    """SHA-256, hexadecimal, of the canonical form."""
    packed: bytes = msgpack.packb(canonical_data(program))
    return hashlib.sha256(packed).hexdigest()


def _rename(data: dict[str, Any]) -> dict[str, Any]:
    outer: dict[str, str] = {}
    for group, letter in (("inputs", "i"), ("constants", "c"), ("states", "s"), ("functions", "f"), ("closures", "k")):
        for number, item in enumerate(data[group]):
            outer[item[0]] = f"{letter}{number}"
    outer.update({item[5]: f"r{number}" for number, item in enumerate(data["calls"]) if item[5:] and item[5]})
    captures = {item[0]: list(item[1]) for item in data["functions"]}
    for item in data["closures"]:
        places = captures.get(item[1], [])
        item[2] = sorted(([places.index(k) if k in places else k, v] for k, v in item[2]), key=lambda kv: str(kv[0]))
    for group in ("inputs", "constants", "states", "functions", "closures"):
        for item in data[group]:
            item[0] = outer[item[0]]
    for item in (*data["inputs"], *data["constants"]):
        item[1][7] = None
        item[5] = outer.get(item[5], item[5])
    for item in data["functions"]:
        _rename_function(item, outer)
    for item in data["closures"]:
        item[1] = outer.get(item[1], item[1])
        item[2:] = [[[k, _references(v, outer)] for k, v in item[2]], *_references(item[3:], outer)]
    for item in data["calls"]:
        item[0] = outer.get(item[0], item[0])
        item[1] = _references(item[1], outer)
        item[5:] = [outer.get(name, name) for name in item[5:]]
    return data


def _rename_function(item: list[Any], outer: dict[str, str]) -> None:
    inner = {record[1]: f"v{n}" for n, record in enumerate(item[2])}
    item[1] = [inner.get(c, c) for c in item[1]]
    names = {**outer, **inner}
    for record in item[2]:
        record[1] = inner[record[1]]
        if record[0] == "get_attr":
            record[2] = outer.get(record[2], record[2])
        elif record[0] == "placeholder":
            record[2] = record[1]
        record[3] = _references(record[3], names)
        record[4] = _references(record[4], names)
    item[3] = [[form, inner.get(a, a), inner.get(b, b), args] for form, a, b, args in item[3]]


def _references(data: Any, names: dict[str, str]) -> Any:
    if isinstance(data, list):
        return [_references(v, names) for v in data]
    if isinstance(data, dict):
        if data["$"] in ("node", "ref"):
            return {"$": data["$"], "v": names.get(data["v"], data["v"])}
        return {k: _references(v, names) for k, v in data.items()}
    return data


def skeleton_hash(program: Program) -> str:
    """SHA-256, hexadecimal, of what is left of a program when sizes and values are erased: operators, what they are
    applied to, dtypes of inputs, forms, state. Equal for programs that differ in shapes, strides, elements, numbers
    among the arguments, run options, spellings, contexts of calls, or in how often a call is repeated.
    """
    data = canonical_data(program)
    for item in (*data["inputs"], *data["constants"]):
        kind, dtype = item[1][:2]
        # Value distribution, storage and dynamic dims go; an input that shares storage with another still does.
        item[1:] = [[kind, dtype], item[5]]
    for item in data["states"]:
        item[2] = _erased(item[2])
    for function in data["functions"]:
        for record in function[2]:
            record[3], record[4], record[6] = _erased(record[3]), _erased(record[4]), None
        function[3] = [[form, a, b, _erased(args)] for form, a, b, args in function[3]]
    for item in data["closures"]:
        item[2] = [[k, _erased(v)] for k, v in item[2]]
    calls = {msgpack.packb([function, _erased(args)]) for function, args, *_ in data["calls"]}
    packed: bytes = msgpack.packb([
        *(data[group] for group in ("inputs", "constants", "states", "functions", "closures")), sorted(calls),
    ])  # fmt: skip
    return hashlib.sha256(packed).hexdigest()


def _erased(data: Any) -> Any:
    """Plain data with every number as 0, and lists of nothing but numbers as one of them."""
    if isinstance(data, bool | int | float):
        return 0
    if isinstance(data, list):
        items = [_erased(v) for v in data]
        return [0] if items and all(v == 0 and not isinstance(v, list | dict) for v in items) else items
    if isinstance(data, dict):
        return 0 if data["$"] in ("int", "complex") else {k: _erased(v) for k, v in data.items()}
    return data
