"""Compact form of a set of feature ids for the store."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int32]


def as_ids(ids: Iterable[int] | Ids) -> Ids:
    """The ids sorted, each once."""
    array = ids if isinstance(ids, np.ndarray) else np.fromiter(ids, dtype=np.int32)
    return np.unique(array).astype(np.int32, copy=False)


def pack_ids(ids: Iterable[int] | Ids) -> bytes:
    """Sorted deltas as LEB128 varints, deflated: about 0.3 bytes an id for the lines of a compiler run."""
    deltas = np.diff(as_ids(ids), prepend=0).astype(np.uint32)
    if deltas.size == 0:
        return b""
    # Byte k of each varint as a column: kept where the value is that long.
    columns = [(deltas >> np.uint32(7 * k)) & np.uint32(0x7F) for k in range(5)]
    longer = [(deltas >> np.uint32(7 * (k + 1))) != 0 for k in range(5)]
    table = np.stack([c | np.where(m, 0x80, 0).astype(np.uint32) for c, m in zip(columns, longer)], axis=1)
    used = np.stack([np.ones_like(longer[0]), *longer[:4]], axis=1)
    return zlib.compress(table.astype(np.uint8)[used].tobytes(), 6)


def unpack_ids(blob: bytes) -> Ids:
    """Inverse of `pack_ids`. Raises ValueError on bytes that it did not make."""
    if not blob:
        return np.zeros(0, dtype=np.int32)
    try:
        data = np.frombuffer(zlib.decompress(blob), dtype=np.uint8)
    except zlib.error as error:
        raise ValueError(f"not a feature set: {error}") from error
    last = data < 0x80
    if data.size == 0 or not last[-1]:
        raise ValueError("not a feature set: it ends inside a number")
    starts = np.concatenate([[0], np.flatnonzero(last)[:-1] + 1])
    place = np.arange(data.size) - np.repeat(starts, np.diff(np.append(starts, data.size)))
    deltas = np.add.reduceat((data & 0x7F).astype(np.int64) << (7 * place), starts)
    return np.cumsum(deltas).astype(np.int32)
