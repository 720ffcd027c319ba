"""What tensors are as objects of Python: identity, memory, attributes. None asks for what a context around the program
changes: gradients, autocast, the default dtype."""

from __future__ import annotations

from typing import Any

import torch


def same_object() -> bool:
    x, y = torch.ones(2), torch.ones(2)
    held = [x, y]
    return held[0] is x and held[1] is not x and x.add_(0) is x and x.contiguous() is x and x.detach() is not x


def shape_is_a_tuple() -> bool:
    x = torch.zeros(2, 3)
    rows, columns = x.shape
    fine = isinstance(x.shape, tuple) and type(x.shape) is torch.Size and x.shape == (2, 3) and x.size(-1) == columns
    return fine and rows == len(x) and x.shape[1:] == torch.Size([3]) and x.ndim == x.dim() == len(x.shape) == 2


def strides_and_offsets() -> bool:
    x = torch.zeros(3, 4)
    t, s = x.t(), x[1:, ::2]
    fine = t.stride() == (1, 4) and not t.is_contiguous() and t.t().is_contiguous()
    return fine and s.stride() == (4, 2) and s.storage_offset() == 4 and s.numel() == 4 and x[0].stride(0) == 1


def written_through_views() -> bool:
    x = torch.arange(6)
    rows = x.view(2, 3)
    rows[1] = -1
    x[0] = 7
    return rows.tolist() == [[7, 1, 2], [-1, -1, -1]] and x.tolist() == [7, 1, 2, -1, -1, -1]


def iterated() -> bool:
    x = torch.arange(4).view(2, 2)
    rows = [row.sum().item() for row in x]
    a, (b, c) = x
    return (
        rows == [1, 5]
        and (a.tolist(), int(b), float(c)) == ([0, 1], 2, 3.0)
        and [len(r) for r in x.unbind(1)] == [2, 2]
    )


def read_as_numbers() -> bool:
    x = torch.tensor([3, 0])
    fine = bool(x[0]) and not x[1] and int(x[0]) == 3 and [5, 6, 7, 8][x[0]] == 8 and list(range(x[0])) == [0, 1, 2]
    return fine and f"{x[0]}" == "3" and x[0].item() + 1 == 4 and type(x[0].item()) is int


def searched_by_identity() -> bool:
    x, y = torch.zeros(2), torch.ones(2)
    names = {x: "x", y: "y"}
    return names[x] == "x" and names[y] == "y" and len({x, y, x}) == 2 and hash(x) == hash(x)


def attributes_of_tensors() -> bool:
    x = torch.zeros(2)
    x.note = "a"
    y = x.add(1)
    fine = x.note == "a" and hasattr(x, "note") and not hasattr(y, "note")
    del x.note
    return fine and not hasattr(x, "note")


def indexed() -> bool:
    x = torch.arange(12).view(3, 4)
    fine = (
        x[-1, ::2].tolist() == [8, 10] and x[None, ..., 1].shape == (1, 3) and x[[0, 2]][:, [1]].tolist() == [[1], [9]]
    )
    mask = x % 5 == 0
    return fine and x[mask].tolist() == [0, 5, 10] and x[torch.tensor([1, 1]), torch.tensor([0, 3])].tolist() == [4, 7]


def index_assigned() -> bool:
    x = torch.zeros(2, 3, dtype=torch.int64)
    x[:, 0] = torch.tensor([1, 2])
    x[1][1:] += 5
    x[[0, 0], [1, 2]] = 9
    x[x == 9] = -1
    return x.tolist() == [[1, -1, -1], [2, 5, 5]]


def in_place_keeps_the_name() -> bool:
    x = torch.ones(2)
    y = x
    x += 1
    fine = x is y and y.tolist() == [2.0, 2.0]
    x = x + 1
    return fine and x is not y and y.tolist() == [2.0, 2.0]


class Bits:
    def __init__(self) -> None:
        self.at = torch.zeros(2)
        self.cache: dict[int, Any] = {}

    def step(self) -> Any:
        self.at = self.at + 1
        self.cache[int(self.at[0])] = self.at
        return self.at


def tensors_in_objects() -> bool:
    bits = Bits()
    first = bits.step()
    second = bits.step()
    return bits.at is second and list(bits.cache) == [1, 2] and bits.cache[1] is first and first.tolist() == [1.0, 1.0]


KEPT, KEPT_CALLS = torch.zeros(2), [0]


def tensor_is_kept() -> bool:
    same = KEPT.tolist() == [float(KEPT_CALLS[0])] * 2
    KEPT.add_(1)
    KEPT_CALLS[0] += 1
    return same


NEWEST, NEWEST_CALLS = [torch.zeros(1)], [0]


def tensor_in_a_list_is_kept() -> bool:
    same = NEWEST[0].item() == NEWEST_CALLS[0]
    NEWEST[0] = NEWEST[0] + 1
    NEWEST_CALLS[0] += 1
    return same


class Counts(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seen = torch.nn.Buffer(torch.zeros((), dtype=torch.int64))
        self.last: Any = None
        self.n = 0

    def forward(self, x: Any) -> Any:
        self.seen += 1
        self.n += 1
        self.last = x
        return x + self.n


COUNTS, COUNTS_CALLS = Counts(), []


def module_is_kept() -> bool:
    calls = len(COUNTS_CALLS)
    same = COUNTS.n == calls and int(COUNTS.seen) == calls and (COUNTS.last is None) == (calls == 0)
    made = COUNTS(torch.zeros(2))
    COUNTS_CALLS.append(1)
    return same and made.tolist() == [calls + 1.0] * 2
