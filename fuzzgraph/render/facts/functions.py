"""What functions, generators, scopes and exceptions do."""

from __future__ import annotations

from typing import Any


def nonlocal_of_two() -> bool:
    z, k = 1, 2

    def make():
        def copy() -> None:
            nonlocal k, z
            k = z

        return copy

    def run(function) -> None:
        nonlocal z
        z = 3
        function()

    run(make())
    return z == 3 and k == 3


def defaults_are_kept() -> bool:
    def add(item: int, into: list = []) -> list:
        into.append(item)
        return into

    add(1)
    return add(2) == [1, 2] and add(3, []) == [3] and add.__defaults__ == ([1, 2],)


def late_and_early_binding() -> bool:
    late = [lambda: n for n in range(3)]
    early = [lambda n=n: n for n in range(3)]
    n = 10
    at_call = [lambda: n]
    n = 11
    return [f() for f in late] == [2, 2, 2] and [f() for f in early] == [0, 1, 2] and at_call[0]() == 11


def cells_are_shared() -> bool:
    def make():
        n = 0

        def up() -> int:
            nonlocal n
            n += 1
            return n

        return up, lambda: n

    up, get = make()
    other, _ = make()
    up()
    up()
    return get() == 2 and other() == 1 and up.__closure__[0].cell_contents == 2


def arguments_of_all_kinds() -> bool:
    def f(a, /, b, *rest, c=3, **more):
        return a, b, rest, c, more

    try:
        f(a=1, b=2)
    except TypeError:
        return f(1, *[2, 3], **{"c": 4}, a=5) == (1, 2, (3,), 4, {"a": 5}) and f(1, b=2) == (1, 2, (), 3, {})
    return False


def finally_returns_first() -> bool:
    log = []

    def f() -> int:
        for n in range(3):
            try:
                if n == 1:
                    return n
                log.append(n)
            finally:
                log.append("f")
        return -1

    return f() == 1 and log == [0, "f", "f"]


def error_is_unbound_behind() -> bool:
    error = 1
    try:
        raise ValueError
    except ValueError as error:  # noqa: F841
        pass
    try:
        return error == 1
    except UnboundLocalError:
        return True


def deleted_name() -> bool:
    n = 1
    del n
    try:
        return n == 1
    except NameError:
        n = 2
    return n == 2


def chain_of_errors() -> bool:
    def f() -> None:
        try:
            {}["a"]
        except KeyError as e:
            raise ValueError(1) from e

    try:
        f()
    except ValueError as e:
        first = isinstance(e.__cause__, KeyError) and e.__suppress_context__
    try:
        try:
            raise KeyError(1)
        except KeyError:
            raise TypeError(2) from None
    except TypeError as e:
        return first and e.__cause__ is None and isinstance(e.__context__, KeyError)
    return False


class Manager:
    def __init__(self, log: list[object]) -> None:
        self.log = log

    def __enter__(self) -> int:
        self.log.append("in")
        return 3

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        self.log.append(kind)
        return kind is KeyError


def manager_swallows() -> bool:
    log: list[object] = []
    with Manager(log) as n, Manager(log):
        log.append(n)
        raise KeyError
    return log == ["in", "in", 3, KeyError, None]


def stack_of_managers() -> bool:
    import contextlib

    log = []

    @contextlib.contextmanager
    def manager(name: str):
        log.append(name)
        try:
            yield name
        finally:
            log.append(name.upper())

    with contextlib.ExitStack() as stack:
        names = [stack.enter_context(manager(n)) for n in "ab"]
        stack.callback(log.append, "c")
    with contextlib.suppress(ZeroDivisionError):
        1 // 0
    return names == ["a", "b"] and log == ["a", "b", "c", "B", "A"]


def generator_is_lazy() -> bool:
    log = []

    def count():
        for n in range(3):
            log.append(n)
            yield n
        log.append("end")

    made = count()
    first = (list(log), next(made), list(log))
    made.close()
    return first == ([], 0, [0]) and list(made) == [] and log == [0]


def generator_is_sent_to() -> bool:
    def average():
        total, n, mean = 0, 0, None
        while True:
            value = yield mean
            if value is None:
                return total
            total, n = total + value, n + 1
            mean = total / n

    made = average()
    next(made)
    means = [made.send(2), made.send(4)]
    try:
        made.send(None)
    except StopIteration as end:
        return means == [2.0, 3.0] and end.value == 6
    return False


def generators_in_turn() -> bool:
    def inner():
        got = yield 1
        yield got
        return "done"

    def outer():
        result = yield from inner()
        yield result

    made = outer()
    return [next(made), made.send("a"), next(made), next(made, "end")] == [1, "a", "done", "end"]


def generator_catches() -> bool:
    log = []

    def run():
        try:
            yield 1
        except ValueError as e:
            log.append(e.args)
            yield 2
        finally:
            log.append("end")

    made = run()
    next(made)
    return made.throw(ValueError("a")) == 2 and next(made, 3) == 3 and log == [("a",), "end"]


def loops_have_else() -> bool:
    log = []
    for n in range(3):
        if n == 5:
            break
    else:
        log.append("for")
    while n:
        n -= 1
        if n == 1:
            break
    else:
        log.append("while")
    return log == ["for"] and n == 1


def walrus_leaks() -> bool:
    values = [last := n * 2 for n in range(3)]
    n = 7
    total = sum(n for n in values)
    return last == 4 and n == 7 and total == 6


def decorators_in_order() -> bool:
    import functools

    def tag(name: str):
        def wrap(function):
            @functools.wraps(function)
            def inner(*args):
                return name + function(*args)

            inner.tags = (name, *getattr(function, "tags", ()))
            return inner

        return wrap

    @tag("a")
    @tag("b")
    def f(text: str) -> str:
        return text

    return f("c") == "abc" and f.__name__ == "f" and f.tags == ("a", "b") and f.__wrapped__.tags == ("b",)


def partials() -> bool:
    import functools

    def f(*args, **rest):
        return args, rest

    outer = functools.partial(functools.partial(f, 1, k=2), 3, k=4, m=5)
    return outer(6) == ((1, 3, 6), {"k": 4, "m": 5}) and outer.args == (1, 3) and outer.func is f


def cached_once() -> bool:
    import functools

    log = []

    @functools.cache
    def f(n: int) -> int:
        log.append(n)
        return n * 2

    return f(1) + f(1) + f(2) == 8 and log == [1, 2] and f.cache_info().hits == 1


def dispatched() -> bool:
    import functools

    @functools.singledispatch
    def f(value) -> str:
        return "other"

    @f.register(int)
    def _(value) -> str:
        return "int"

    @f.register(list)
    def _(value) -> str:
        return "list"

    return [f(1), f(True), f([]), f(1.0)] == ["int", "int", "list", "other"]


def recursion_with_memory() -> bool:
    known: dict = {}

    def fib(n: int) -> int:
        if n not in known:
            known[n] = n if n < 2 else fib(n - 1) + fib(n - 2)
        return known[n]

    return fib(12) == 144 and len(known) == 13


def functions_have_attributes() -> bool:
    def f() -> int:
        f.calls += 1
        return f.calls

    f.calls = 0
    f()
    return f() == 2 and f.__qualname__.endswith("f") and f.__dict__ == {"calls": 2}


def evaluated_left_to_right() -> bool:
    log = []

    def say(n: int) -> int:
        log.append(n)
        return n

    made = {say(1): say(2), say(3): say(4)}
    values = [0] * 9
    values[say(5)] = say(6)
    say(7) + say(8) * say(0)
    return log == [1, 2, 3, 4, 6, 5, 7, 8, 0] and made == {1: 2, 3: 4} and (say(0) or (say(9) and say(1))) == 1


class Pair:
    __match_args__ = ("x", "y")

    def __init__(self, x: int, y: int) -> None:
        self.x, self.y = x, y


def patterns_match() -> bool:
    def what(value):
        match value:
            case {"k": [first, *rest], **more} if rest:
                return first, rest, more
            case Pair(0, y=y):
                return y
            case (1 | 2) as n, _:
                return n
            case str() | None:
                return "text"
            case _:
                return None

    found = [what({"k": [1, 2], "m": 3}), what(Pair(0, 5)), what((2, 9)), what("a"), what(Pair(1, 1))]
    return found == [(1, [2], {"m": 3}), 5, 2, "text", None]


def groups_of_errors() -> bool:
    log = []
    try:
        raise ExceptionGroup("two", [ValueError(1), KeyError(2), TypeError(3)])
    except* (KeyError, TypeError) as group:
        log.append(len(group.exceptions))
    except* ValueError as group:
        log.append(group.exceptions[0].args)
    return log == [2, (1,)]
