"""What operators ask of the objects that they are given."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any


class Plain:
    def __init__(self, n: int) -> None:
        self.n = n

    def __add__(self, other: int) -> Any:
        return Plain(self.n + other)


class InPlace(Plain):
    def __iadd__(self, other: int) -> Any:
        self.n += 10 * other
        return self


def in_place_falls_back() -> bool:
    plain, in_place = Plain(1), InPlace(1)
    first, second = plain, in_place
    plain += 2
    in_place += 2
    return plain is not first and in_place is second and (plain.n, first.n, in_place.n) == (3, 1, 21)


class Declines:
    def __add__(self, other: object) -> Any:
        return NotImplemented


class Reflects:
    def __radd__(self, other: object) -> str:
        return "reflected"


def other_operand_is_asked() -> bool:
    try:
        Declines() + 1
    except TypeError:
        return Declines() + Reflects() == "reflected"
    return False


class Minus:
    def __sub__(self, other: object) -> str:
        return "base"

    def __rsub__(self, other: object) -> str:
        return "reflected base"


class DerivedMinus(Minus):
    def __rsub__(self, other: object) -> str:
        return "reflected derived"


def derived_right_operand_goes_first() -> bool:
    return Minus() - DerivedMinus() == "reflected derived" and DerivedMinus() - Minus() == "base"


class Compared:
    def __lt__(self, other: object) -> bool:
        return other == 3

    def __eq__(self, other: object) -> bool:
        return other == 4

    __hash__ = None  # type: ignore[assignment]


def comparison_is_reflected() -> bool:
    box = Compared()
    return 3 > box and not 2 > box and 4 == box and box != 5 and not 4 != box


class Bare:
    pass


def equality_is_identity() -> bool:
    one, two = Bare(), Bare()
    return one == one and one != two and one in [two, one] and [one, two].index(two) == 1 and len({one, two, one}) == 2


class Squares:
    def __getitem__(self, i: int) -> int:
        if i > 2:
            raise IndexError(i)
        return i * i


def iteration_by_index() -> bool:
    return list(Squares()) == [0, 1, 4] and 4 in Squares() and 5 not in Squares()  # type: ignore[call-overload]


class Logged:
    def __init__(self) -> None:
        self.log: list[int] = []

    def __iter__(self) -> Iterator[int]:
        for n in (1, 2, 3):
            self.log.append(n)
            yield n


def membership_by_iteration() -> bool:
    box = Logged()
    first, *rest = Logged()
    return 2 in box and box.log == [1, 2] and (first, rest) == (1, [2, 3]) and max(Logged()) == 3


class Sized:
    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n


class Sure(Sized):
    def __bool__(self) -> bool:
        return True


def truth_by_length() -> bool:
    return not Sized(0) and bool(Sized(2)) and bool(Sure(0)) and [n for n in (0, 1) if Sized(n)] == [1]


class Two:
    def __index__(self) -> int:
        return 2

    def __float__(self) -> float:
        return 2.5


def numbers_by_object() -> bool:
    box = Two()
    return [5, 6, 7][box] == 7 and [5, 6, 7][:box] == [5, 6] and list(range(box)) == [0, 1] and float(box) == 2.5


class Keys:
    def __getitem__(self, key: Any) -> Any:
        return key


def slices_are_handed_over() -> bool:
    box = Keys()
    return box[1:2, ..., None] == (slice(1, 2), ..., None) and box[::3] == slice(None, None, 3) and box[()] == ()


class Writes(dict[str, Any]):
    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value * 2)

    def __delitem__(self, key: str) -> None:
        super().__setitem__(key, None)


def items_set_and_deleted() -> bool:
    box = Writes(a=1)
    box["b"] = 2
    box.update(c=3)
    del box["a"]
    return box == {"a": None, "b": 4, "c": 3}


class Fills(dict[int, int]):
    def __missing__(self, key: int) -> int:
        self[key] = key * 2
        return -1


def missing_keys() -> bool:
    box = Fills()
    return [box[3], box[3], box.get(4, 0), len(box)] == [-1, 6, 0, 1]


class Metres(int):
    def __add__(self, other: int) -> Metres:
        return Metres(int(self) + other)


def arithmetic_of_a_subclass() -> bool:
    return type(Metres(1) + 2) is Metres and type(Metres(1) * 2) is int and sum([Metres(1), Metres(2)], Metres(0)) == 3


@functools.total_ordering
class Ordered:
    def __init__(self, n: int) -> None:
        self.n = n

    def __eq__(self, other: Any) -> bool:
        return bool(self.n == other.n)

    def __lt__(self, other: Any) -> bool:
        return bool(self.n < other.n)

    def __hash__(self) -> int:
        return self.n


def total_ordering() -> bool:
    ends = sorted([Ordered(3), Ordered(1), Ordered(2)])
    return Ordered(1) <= Ordered(1) and Ordered(2) > Ordered(1) and [e.n for e in ends] == [1, 2, 3]


class Shown:
    def __format__(self, spec: str) -> str:
        return "<" + spec + ">"

    def __str__(self) -> str:
        return "str"

    def __repr__(self) -> str:
        return "repr"


def shown_as_text() -> bool:
    box = Shown()
    return f"{box:ab}{box!r}{box!s}" == "<ab>reprstr" and str([box]) == "[repr]" and "%s" % box == "str"


class Key:
    def __init__(self, n: int) -> None:
        self.n = n

    def __hash__(self) -> int:
        return self.n % 2

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and self.n == other.n


def hashed_by_object() -> bool:
    found = {Key(1): "a", Key(3): "b", Key(1): "c"}
    return len(found) == 2 and found[Key(1)] == "c" and Key(5) not in found and len({Key(2), Key(2)}) == 1


class Signs:
    def __matmul__(self, other: int) -> int:
        return other * 3

    def __rmatmul__(self, other: int) -> int:
        return other * 5

    def __neg__(self) -> str:
        return "neg"

    def __invert__(self) -> str:
        return "invert"

    def __divmod__(self, other: int) -> str:
        return "divmod"

    def __rpow__(self, other: int) -> str:
        return "rpow"


def rare_operators() -> bool:
    box = Signs()
    return (box @ 2, 2 @ box, -box, ~box, divmod(box, 1), 2**box) == (6, 10, "neg", "invert", "divmod", "rpow")


def chained_comparison_stops() -> bool:
    log = []

    def say(n: int) -> int:
        log.append(n)
        return n

    return not (say(2) < say(1) < say(0)) and log == [2, 1]
