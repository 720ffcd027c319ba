"""What a call leaves for the next one. Each keeps the same account twice, once in a plain list: they stay equal."""

from __future__ import annotations

import collections
import dataclasses
import heapq
import itertools
from collections.abc import Callable, Iterator
from typing import Any


class Shelf:
    items: list[int] = []
    n = 0

    @classmethod
    def count(cls) -> None:
        cls.n += 1


SHELF_LIST: list[int] = []


def list_of_class_is_kept() -> bool:
    same = Shelf.items == SHELF_LIST
    Shelf.items.append(1)
    SHELF_LIST.append(1)
    return same


def list_is_kept_by_an_instance() -> bool:
    same = Shelf.items == SHELF_LIST
    Shelf().items.append(1)
    SHELF_LIST.append(1)
    return same


SHELF_COUNT: list[int] = []


def number_of_class_is_kept() -> bool:
    same = len(SHELF_COUNT) == Shelf.n
    Shelf.n += 1
    Shelf.count()
    SHELF_COUNT.extend([1, 1])
    return same


class Box:
    def __init__(self) -> None:
        self.n = 0
        self.rows: list[list[int]] = [[]]
        self.text = ""
        self.pair = (0, 0)

    @property
    def value(self) -> int:
        return self.n

    @value.setter
    def value(self, value: int) -> None:
        self.n = value
        self.rows[0].append(value)

    def __call__(self) -> int:
        self.n += 1
        return self.n


BOX, BOX_LIST = Box(), []


def attributes_are_kept() -> bool:
    same = BOX.n == len(BOX_LIST) and len(BOX.text) == BOX.n and BOX.pair == (BOX.n, -BOX.n)
    BOX.n += 1
    BOX.text += "a"
    BOX.pair = (BOX.n, -BOX.n)
    BOX_LIST.append(1)
    return same


SET_BOX, SET_BOX_LIST = Box(), []


def what_a_setter_does_is_kept() -> bool:
    same = SET_BOX.rows[0] == SET_BOX_LIST and len(SET_BOX_LIST) == SET_BOX.value
    SET_BOX.value += 1
    SET_BOX_LIST.append(len(SET_BOX_LIST) + 1)
    return same


CALLED, CALLED_LIST = Box(), []


def what_a_call_counts_is_kept() -> bool:
    same = CALLED.n == len(CALLED_LIST)
    CALLED()
    CALLED_LIST.append(1)
    return same


ANY, ANY_LIST = Box(), []


def attributes_by_name_are_kept() -> bool:
    n = len(ANY_LIST)
    same = getattr(ANY, "k", 0) == n and vars(ANY).get("m", 0) == n
    setattr(ANY, "k", n + 1)
    ANY.__dict__["m"] = n + 1
    ANY_LIST.append(1)
    return same


REGISTRY: list[Box] = []
REGISTRY_LIST: list[int] = []


def objects_in_a_list_are_kept() -> bool:
    same = [box.n for box in REGISTRY] == REGISTRY_LIST
    box = Box()
    box.n = len(REGISTRY) * 2
    REGISTRY.append(box)
    REGISTRY_LIST.append(len(REGISTRY_LIST) * 2)
    return same


class Slots:
    __slots__ = ("n",)

    def __init__(self) -> None:
        self.n = 0


SLOTS, SLOTS_LIST = Slots(), []


def slots_are_kept() -> bool:
    same = SLOTS.n == len(SLOTS_LIST)
    SLOTS.n += 1
    SLOTS_LIST.append(1)
    return same


@dataclasses.dataclass
class Record:
    n: int = 0
    tags: dict[str, int] = dataclasses.field(default_factory=dict)


RECORD, RECORD_LIST = Record(), []


def data_class_is_kept() -> bool:
    same = RECORD == Record(len(RECORD_LIST), {"a": len(RECORD_LIST)} if RECORD_LIST else {})
    RECORD.n += 1
    RECORD.tags["a"] = RECORD.n
    RECORD_LIST.append(1)
    return same


class Stack(list[int]):
    top = 0

    def push(self, n: int) -> None:
        self.append(n)
        self.top = n


STACK, STACK_LIST = Stack(), [0]


def subclass_of_list_is_kept() -> bool:
    same = [0, *STACK] == STACK_LIST and STACK.top == STACK_LIST[-1]
    STACK.push(STACK.top + 1)
    STACK_LIST.append(STACK_LIST[-1] + 1)
    return same


class Table(dict[str, int]):
    def __setitem__(self, key: str, value: int) -> None:
        super().__setitem__(key, value + 1)


TABLE, TABLE_LIST = Table(), []


def subclass_of_dict_is_kept() -> bool:
    same = TABLE.get("a", 0) == 2 * len(TABLE_LIST)
    TABLE["a"] = TABLE.get("a", 0) + 1
    TABLE_LIST.append(1)
    return same


TOTAL = 0
TOTAL_LIST: list[int] = []


def global_number_is_kept() -> bool:
    global TOTAL
    same = len(TOTAL_LIST) == TOTAL
    TOTAL += 1
    TOTAL_LIST.append(1)
    return same


def counter() -> tuple[Callable[[], int], Callable[[], int]]:
    n = 0

    def up() -> int:
        nonlocal n
        n += 1
        return n

    return up, lambda: n


UP, GET = counter()
UP_LIST: list[int] = []


def cell_is_kept() -> bool:
    same = GET() == len(UP_LIST)
    UP()
    UP_LIST.append(1)
    return same


def noted(n: int, seen: list[int] = []) -> list[int]:
    seen.append(n)
    return seen


NOTED_LIST: list[int] = []


def default_is_kept() -> bool:
    NOTED_LIST.append(1)
    return noted(1) == NOTED_LIST


def called() -> int:
    called.n += 1
    return called.n


called.n = 0
CALLED_TIMES: list[int] = []


def attribute_of_function_is_kept() -> bool:
    CALLED_TIMES.append(1)
    return called() == len(CALLED_TIMES)


GROUPS: collections.defaultdict[str, list[int]] = collections.defaultdict(list)
TALLY: collections.Counter[str] = collections.Counter()
GROUPS_LIST: list[int] = []


def dicts_of_the_library_are_kept() -> bool:
    same = GROUPS["a"] == GROUPS_LIST and TALLY["b"] == len(GROUPS_LIST)
    GROUPS["a"].append(1)
    TALLY["b"] += 1
    GROUPS_LIST.append(1)
    return same


NESTED: dict[str, Any] = {"a": {"b": [0]}, "c": (1, [])}
NESTED_LIST: list[int] = []


def nested_containers_are_kept() -> bool:
    n = len(NESTED_LIST)
    same = NESTED["a"]["b"] == [n] and NESTED["c"][1] == NESTED_LIST
    NESTED["a"]["b"][0] += 1
    NESTED["c"][1].append(1)
    NESTED_LIST.append(1)
    return same


ALIAS = [0]
OTHER_ALIAS = ALIAS


def two_names_are_kept() -> bool:
    same = ALIAS is OTHER_ALIAS and ALIAS[0] == OTHER_ALIAS[-1]
    ALIAS[0] += 1
    OTHER_ALIAS.append(ALIAS[0])
    return same and OTHER_ALIAS[-1] == ALIAS[0]


HEAP: list[int] = [5, 9]
HEAP_LIST = [5, 9]


def heap_is_kept() -> bool:
    same = HEAP[0] == min(HEAP_LIST) and len(HEAP) == len(HEAP_LIST)
    heapq.heappush(HEAP, HEAP[0] - 1)
    HEAP_LIST.append(min(HEAP_LIST) - 1)
    return same


TICKS = itertools.count()
TICKS_LIST: list[int] = []


def iterator_goes_on() -> bool:
    same = next(TICKS) == len(TICKS_LIST)
    TICKS_LIST.append(1)
    return same


def squares() -> Iterator[int]:
    n = 0
    while True:
        yield n * n
        n += 1


SQUARES = squares()
SQUARES_LIST: list[int] = []


def generator_goes_on() -> bool:
    same = next(SQUARES) == len(SQUARES_LIST) ** 2
    SQUARES_LIST.append(1)
    return same


UNDONE, UNDONE_LIST = Box(), []


def what_an_error_leaves_is_kept() -> bool:
    same = UNDONE.n == 2 * len(UNDONE_LIST)
    try:
        UNDONE.n += 1
        raise KeyError
    except KeyError:
        UNDONE.n += 1
    UNDONE_LIST.append(1)
    return same
