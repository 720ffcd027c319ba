"""What lists, dicts, sets and their kin do."""

from __future__ import annotations


def list_grows_while_read() -> bool:
    values = [1]

    def grow():
        for value in values:
            if len(values) < 3:
                values.append(value + 1)
            yield value

    return list(grow()) == [1, 2, 3]


def list_shrinks_while_read() -> bool:
    values, seen = [1, 2, 3, 4], []
    for value in values:
        seen.append(value)
        values.remove(value)
    return seen == [1, 3] and values == [2, 4]


def dict_grows_while_read() -> bool:
    counts = {"a": 1}
    try:
        for key in counts:
            counts[key + "b"] = 2
    except RuntimeError:
        return len(counts) == 2
    return False


def one_list_of_two_names() -> bool:
    first = second = [1]
    second += [2]
    third = second
    third = third + [3]
    return first == [1, 2] and third == [1, 2, 3] and first is second


def rows_are_one_list() -> bool:
    shared, apart = [[0] * 2] * 2, [[0] * 2 for _ in range(2)]
    shared[0][1] = apart[0][1] = 5
    return shared == [[0, 5], [0, 5]] and apart == [[0, 5], [0, 0]]


def tuple_holds_list() -> bool:
    held = ([1], 2)
    try:
        held[0] += [3]
    except TypeError:
        return held == ([1, 3], 2)
    return False


def slices_are_assigned() -> bool:
    values = list(range(6))
    values[1:3] = [9]
    values[::2] = "abc"
    del values[-1]
    values[:0] = [7]
    try:
        values[::2] = [1]
    except ValueError:
        return values == [7, "a", 9, "b", 4]
    return False


def list_methods() -> bool:
    values = [3, 1, 2]
    values.sort(key=lambda n: -n)
    values.insert(-1, 8)
    values.extend(n for n in (5, 5))
    values.reverse()
    return values == [5, 5, 1, 8, 2, 3] and values.pop(1) == 5 and values.count(5) == 1 and values.index(8) == 2


def sort_is_stable() -> bool:
    pairs = [("b", 1), ("a", 1), ("c", 0)]
    return sorted(pairs, key=lambda p: p[1]) == [("c", 0), ("b", 1), ("a", 1)] and sorted(
        pairs, key=lambda p: p[1], reverse=True
    ) == [("b", 1), ("a", 1), ("c", 0)]


def keys_that_are_equal() -> bool:
    found = {1: "a", True: "b", 1.0: "c"}
    found[0] = "d"
    found[False] = "e"
    return found == {1: "c", 0: "e"} and [type(k) for k in found] == [int, int]


def dict_keeps_its_order() -> bool:
    found = {"a": 1, "b": 2, "c": 3}
    found["a"] = 4
    moved = found.pop("b")
    found["b"] = moved
    found |= {"d": 5, "c": 6}
    return list(found.items()) == [("a", 4), ("c", 6), ("b", 2), ("d", 5)] and found.popitem() == ("d", 5)


def dict_views_follow() -> bool:
    found = {"a": 1}
    keys, values = found.keys(), found.values()
    found["b"] = 2
    return list(keys) == ["a", "b"] and list(values) == [1, 2] and keys & {"b", "c"} == {"b"}


def dict_defaults() -> bool:
    found: dict = {}
    found.setdefault("a", []).append(1)
    found.setdefault("a", []).append(2)
    made = dict.fromkeys("xy", [])
    made["x"].append(3)
    return found == {"a": [1, 2]} and made["y"] == [3]


def ordered_dict_moves() -> bool:
    from collections import OrderedDict

    found = OrderedDict(a=1, b=2, c=3)
    found.move_to_end("a")
    found.move_to_end("c", last=False)
    return list(found) == ["c", "b", "a"] and found.popitem(last=False) == ("c", 3) and found != OrderedDict(a=1, b=2)


def default_dict_creates() -> bool:
    from collections import defaultdict

    found = defaultdict(lambda: [0])
    found["a"].append(1)
    return "b" not in found and found["b"] == [0] and dict(found) == {"a": [0, 1], "b": [0]} and found.get("c") is None


def counter_counts() -> bool:
    from collections import Counter

    counts = Counter("abca")
    counts.update("b")
    counts["z"] += 1
    return counts["a"] == 2 and counts["q"] == 0 and counts.most_common(1)[0][1] == 2 and sum(counts.values()) == 6


def deque_has_an_end() -> bool:
    from collections import deque

    ends = deque([1, 2, 3], maxlen=3)
    ends.append(4)
    ends.appendleft(0)
    ends.rotate(1)
    return list(ends) == [3, 0, 2] and ends.pop() == 2 and ends.popleft() == 3 and len(ends) == 1


def chain_map_writes_first() -> bool:
    from collections import ChainMap

    first, second = {"a": 1}, {"a": 2, "b": 3}
    both = ChainMap(first, second)
    both["b"] = 4
    return first == {"a": 1, "b": 4} and second["b"] == 3 and both["a"] == 1


def set_methods() -> bool:
    found = {1, 2, 3}
    same = found
    found -= {1}
    found |= {5}
    found ^= {5, 6}
    found.discard(9)
    return same == {2, 3, 6} and found is same and found.isdisjoint({1}) and frozenset(found) == found


def unpacked() -> bool:
    first, (second, *rest), *others = 1, (2, 3, 4), 5, 6
    first, second = second, first
    values = [0, 1]
    i, values[i] = 1, 7
    return (first, second, rest, others, values) == (2, 1, [3, 4], [5, 6], [0, 7])


def copies_deep_and_shallow() -> bool:
    import copy

    inner = [1]
    held = {"a": inner, "b": inner}
    shallow, deep = copy.copy(held), copy.deepcopy(held)
    inner.append(2)
    return shallow["a"] is inner and deep == {"a": [1], "b": [1]} and deep["a"] is deep["b"]


def iterators_end() -> bool:
    made = iter([1, 2, 3])
    pairs = list(zip(made, made, strict=False))
    squares = (n * n for n in (1, 2))
    return pairs == [(1, 2)] and sum(squares) == 5 and list(squares) == [] and next(squares, "end") == "end"


def strict_zip() -> bool:
    try:
        list(zip([1, 2], [3], strict=True))
    except ValueError:
        return list(zip([1], [2], strict=True)) == [(1, 2)]
    return False


def tools_of_iteration() -> bool:
    import itertools

    groups = [(k, len(list(g))) for k, g in itertools.groupby("aab")]
    sums = list(itertools.accumulate([1, 2, 3], initial=10))
    longest = list(itertools.zip_longest([1, 2], [3], fillvalue=0))
    pairs = list(itertools.pairwise("abc")) == [("a", "b"), ("b", "c")]
    first, second = itertools.tee([1, 2])
    return (
        groups == [("a", 2), ("b", 1)]
        and sums == [10, 11, 13, 16]
        and longest == [(1, 3), (2, 0)]
        and (
            pairs and next(first) == 1 and list(second) == [1, 2] and len(list(itertools.product("ab", repeat=2))) == 4
        )
    )


def call_until() -> bool:
    values = [3, 2, 1, 0, 5]
    return list(iter(lambda: values.pop(0), 0)) == [3, 2, 1] and values == [5]
