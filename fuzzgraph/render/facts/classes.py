"""What classes and their instances do."""

from __future__ import annotations

import dataclasses
import enum
import functools
from typing import Any, NamedTuple


class Doubled:
    def __init__(self, value: int) -> None:
        self._value = value

    @property
    def value(self) -> int:
        return self._value + 1

    @value.setter
    def value(self, value: int) -> None:
        self._value = value * 2

    @value.deleter
    def value(self) -> None:
        self._value = -1


def property_set() -> bool:
    box = Doubled(3)
    box.value = 5
    first = box.value
    box.value += 1
    return first == 11 and box._value == 24


def property_deleted() -> bool:
    box = Doubled(3)
    del box.value
    return box.value == 0


def method_of_local_class() -> bool:
    log, counts = [], {"n": 0}

    class Helper:
        def touch(self) -> None:
            log.append("touched")
            counts["n"] += 1

    helper = Helper()
    helper.touch()
    helper.touch()
    return len(log) == 2 and counts["n"] == 2


class Listing:
    items: list[int] = []

    def add(self, item: int) -> None:
        Listing.items.append(item)


def list_of_class() -> bool:
    before = len(Listing.items)
    Listing().add(before)
    Listing().add(before)
    return Listing.items[before:] == [before, before] and len(Listing().items) == before + 2


class Numbered:
    n = 1


def attribute_shadows_that_of_class() -> bool:
    box, other = Numbered(), Numbered()
    box.n += 1
    before = (box.n, Numbered.n, other.n)
    del box.n
    return before == (2, 1, 1) and box.n == 1


def attribute_of_class_is_set() -> bool:
    box = Numbered()
    Numbered.n = 5
    seen = box.n
    Numbered.n = 1
    return seen == 5 and box.n == 1


class ToldOtherwise:
    @property
    def __class__(self) -> Any:
        return int


def class_is_told_otherwise() -> bool:
    box = ToldOtherwise()
    return isinstance(box, int) and isinstance(box, ToldOtherwise) and type(box) is not int


class Slotted:
    __slots__ = ("n",)


def slots_take_no_other() -> bool:
    box = Slotted()
    box.n = 2
    try:
        box.m = 3
    except AttributeError:
        return box.n == 2 and not hasattr(box, "__dict__")
    return False


def attribute_of_a_number() -> bool:
    try:
        (1).n = 2
    except AttributeError:
        return True
    return False


class Missing:
    n = 1

    def __getattr__(self, name: str) -> str:
        return "missing " + name


def attributes_looked_up_last() -> bool:
    box = Missing()
    box.k = 2
    return (box.n, box.k, box.m, getattr(box, "q", 0)) == (1, 2, "missing m", "missing q")


class Seven:
    def __init__(self) -> None:
        self.n = 1

    def __getattribute__(self, name: str) -> Any:
        return 7 if name == "n" else object.__getattribute__(self, name)


def attributes_looked_up_first() -> bool:
    box = Seven()
    return box.n == 7 and box.__dict__ == {"n": 1}


class OneMore:
    def __setattr__(self, name: str, value: int) -> None:
        object.__setattr__(self, name, value + 1)

    def __delattr__(self, name: str) -> None:
        object.__setattr__(self, name, -1)


def attributes_set_by_a_hook() -> bool:
    box = OneMore()
    box.n = 1
    setattr(box, "m", 2)
    box.n += 1
    del box.m
    return (box.n, box.m) == (4, -1)


class Data:
    def __get__(self, this: Any, owner: Any) -> int:
        return 1

    def __set__(self, this: Any, value: int) -> None:
        this.log = value


class NoData:
    def __get__(self, this: Any, owner: Any) -> int:
        return 2


class Described:
    data, other = Data(), NoData()


def descriptor_of_data_goes_first() -> bool:
    box = Described()
    box.data = 5
    box.__dict__["data"] = 6
    box.other = 7
    return (box.data, box.log, box.other, Described.other) == (1, 5, 7, 2)


class Named:
    def __set_name__(self, owner: Any, name: str) -> None:
        self.name = name + "!"

    def __get__(self, this: Any, owner: Any) -> str:
        return self.name


class HasNamed:
    field = Named()


def descriptor_learns_its_name() -> bool:
    return HasNamed().field == "field!" and HasNamed.field == "field!"


class Bottom:
    def run(self, log: list[str]) -> list[str]:
        return [*log, "bottom"]


class Left(Bottom):
    def run(self, log: list[str]) -> list[str]:
        return super().run([*log, "left"])


class Right(Bottom):
    def run(self, log: list[str]) -> list[str]:
        return super().run([*log, "right"])


class Both(Left, Right):
    def run(self, log: list[str]) -> list[str]:
        return super().run([*log, "both"])


def order_of_bases() -> bool:
    skipped = super(Left, Both()).run([])
    return Both().run([]) == ["both", "left", "right", "bottom"] and skipped == ["right", "bottom"]


class Who:
    name = "who"

    @classmethod
    def who(cls) -> str:
        return cls.name

    @staticmethod
    def add(n: int, m: int = 1) -> int:
        return n + m


class Whom(Who):
    name = "whom"


def methods_of_classes() -> bool:
    return Whom.who() == Whom().who() == "whom" and Who.who() == "who" and Whom().add(1) == Who.add(0, m=2) == 2


class Changeling:
    def __new__(cls, n: int) -> Any:
        return n + 1 if n > 3 else super().__new__(cls)

    def __init__(self, n: int) -> None:
        self.n = n


def new_gives_another_class() -> bool:
    return Changeling(5) == 6 and Changeling(2).n == 2


class Counting(type):
    def __call__(cls, *args: Any) -> Any:
        made = super().__call__(*args)
        made.n = len(args)
        return made

    def __len__(cls) -> int:
        return 4


class Counted(metaclass=Counting):
    def __init__(self, *args: int) -> None:
        self.n = 100


def class_of_a_class() -> bool:
    return Counted(1, 2).n == 2 and len(Counted) == 4 and type(Counted) is Counting


class Registry:
    scale = 1

    def __init_subclass__(cls, scale: int = 2) -> None:
        cls.scale = scale * 10


class Registered(Registry, scale=3):
    pass


def subclass_is_told() -> bool:
    return (Registry.scale, Registered.scale, Registered().scale) == (1, 30, 30)


class Adder:
    def __init__(self) -> None:
        self.n = 0

    def __call__(self, by: int = 1) -> int:
        self.n += by
        return self.n


def instance_is_called() -> bool:
    count = Adder()
    return [count(), count(5), count(by=2), count.n] == [1, 6, 8, 8]


def bound_methods() -> bool:
    first, second = Adder(), Adder()
    add = first.__call__
    first.n = 4
    return add() == 5 and Adder.__call__(second, 2) == 2 and add == first.__call__ and add.__self__ is first


class Private:
    def __init__(self) -> None:
        self.__n = 1

    def base(self) -> int:
        return self.__n


class MorePrivate(Private):
    def __init__(self) -> None:
        super().__init__()
        self.__n = 2

    def derived(self) -> int:
        return self.__n


def private_names() -> bool:
    made = MorePrivate()
    return (made.base(), made.derived(), len(vars(made))) == (1, 2, 2)


@dataclasses.dataclass(order=True, frozen=True)
class Frozen:
    x: int
    tags: list[str] = dataclasses.field(default_factory=list, compare=False)
    twice: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "twice", self.x * 2)


def data_classes() -> bool:
    first, second = Frozen(1), Frozen(2)
    first.tags.append("a")
    try:
        first.x = 5
    except dataclasses.FrozenInstanceError:
        return first < second and second.tags == [] and dataclasses.replace(first, x=3).twice == 6
    return False


class Kind(enum.Enum):
    A = 1
    B = 2
    ALIAS = 1


class Level(enum.IntEnum):
    LOW = 1


class Bits(enum.Flag):
    X = 1
    Y = 2


def enums() -> bool:
    members = [k.name for k in Kind] == ["A", "B"] and Kind.ALIAS is Kind.A and Kind(2) is Kind["B"]
    return members and Level.LOW + 1 == 2 and Bits.X in (Bits.X | Bits.Y) and (Bits.X & Bits.Y) == Bits(0)


class Point(NamedTuple):
    x: int
    y: int = 7

    def swapped(self) -> Point:
        return Point(self.y, self.x)


def named_tuples() -> bool:
    made = Point(1)
    moved = made._replace(x=2)
    return (made.y, moved, moved._asdict(), made.swapped()) == (7, (2, 7), {"x": 2, "y": 7}, (7, 1))


class Cached:
    def __init__(self) -> None:
        self.calls = 0

    @functools.cached_property
    def value(self) -> int:
        self.calls += 1
        return 5


def property_is_cached() -> bool:
    box = Cached()
    twice = box.value + box.value
    box.__dict__["value"] = 6
    return (twice, box.calls, box.value) == (10, 1, 6)
