"""What one change of a container leaves for the next call: one change each, since another may hide that it is lost.

After so many calls as three or two, all is as it was.
"""

from __future__ import annotations

import collections


def turned(items: list[int], by: int) -> list[int]:
    """The items, the first so many of them at the end."""
    by %= len(items)
    return items[by:] + items[:by]


APPENDED = [1, 2, 3]
APPENDED_CALLS: list[int] = []


def list_append() -> bool:
    same = list(APPENDED) == turned([1, 2, 3], len(APPENDED_CALLS))
    APPENDED.append(APPENDED.pop(0))
    APPENDED_CALLS.append(1)
    return same


INSERTED = [1, 2, 3]
INSERTED_CALLS: list[int] = []


def list_insert() -> bool:
    same = list(INSERTED) == turned([1, 2, 3], -len(INSERTED_CALLS))
    INSERTED.insert(0, INSERTED.pop())
    INSERTED_CALLS.append(1)
    return same


EXTENDED = [1, 2, 3]
EXTENDED_CALLS: list[int] = []


def list_extend() -> bool:
    same = list(EXTENDED) == turned([1, 2, 3], len(EXTENDED_CALLS))
    EXTENDED.extend([EXTENDED.pop(0)])
    EXTENDED_CALLS.append(1)
    return same


ADDED = [1, 2, 3]
ADDED_CALLS: list[int] = []


def list_in_place_sum() -> bool:
    same = list(ADDED) == turned([1, 2, 3], len(ADDED_CALLS))
    first = ADDED.pop(0)
    ADDED.__iadd__([first])
    ADDED_CALLS.append(1)
    return same


SLICED = [1, 2, 3]
SLICED_CALLS: list[int] = []


def list_slice() -> bool:
    same = list(SLICED) == turned([1, 2, 3], len(SLICED_CALLS))
    SLICED[:] = SLICED[1:] + SLICED[:1]
    SLICED_CALLS.append(1)
    return same


DELETED = [1, 2, 3]
DELETED_CALLS: list[int] = []


def list_delete() -> bool:
    same = list(DELETED) == turned([1, 2, 3], len(DELETED_CALLS))
    DELETED.append(DELETED[0])
    del DELETED[0]
    DELETED_CALLS.append(1)
    return same


REMOVED = [1, 2, 3]
REMOVED_CALLS: list[int] = []


def list_remove() -> bool:
    same = list(REMOVED) == turned([1, 2, 3], len(REMOVED_CALLS))
    REMOVED.append(REMOVED[0])
    REMOVED.remove(REMOVED[0])
    REMOVED_CALLS.append(1)
    return same


SWAPPED = [1, 2, 3]
SWAPPED_CALLS: list[int] = []


def list_items() -> bool:
    same = list(SWAPPED) == turned([1, 2, 3], len(SWAPPED_CALLS))
    SWAPPED[0], SWAPPED[1], SWAPPED[2] = SWAPPED[1], SWAPPED[2], SWAPPED[0]
    SWAPPED_CALLS.append(1)
    return same


REVERSED = [1, 2, 3]
REVERSED_CALLS: list[int] = []


def list_reverse() -> bool:
    same = REVERSED == ([3, 2, 1] if len(REVERSED_CALLS) % 2 else [1, 2, 3])
    REVERSED.reverse()
    REVERSED_CALLS.append(1)
    return same


SORTED = [1, 2, 3]
SORTED_CALLS: list[int] = []


def list_sort() -> bool:
    same = SORTED == ([3, 2, 1] if len(SORTED_CALLS) % 2 else [1, 2, 3])
    SORTED.sort(reverse=SORTED[0] == 1)
    SORTED_CALLS.append(1)
    return same


CLEARED = [1, 2, 3]
CLEARED_CALLS: list[int] = []


def list_clear() -> bool:
    same = CLEARED == ([] if len(CLEARED_CALLS) % 2 else [1, 2, 3])
    full = len(CLEARED) == 3
    CLEARED.clear()
    if not full:
        CLEARED.extend((1, 2, 3))
    CLEARED_CALLS.append(1)
    return same


DEQUE_APPENDED = collections.deque([1, 2, 3])
DEQUE_APPENDED_CALLS: list[int] = []


def deque_append() -> bool:
    same = list(DEQUE_APPENDED) == turned([1, 2, 3], len(DEQUE_APPENDED_CALLS))
    DEQUE_APPENDED.append(DEQUE_APPENDED.popleft())
    DEQUE_APPENDED_CALLS.append(1)
    return same


DEQUE_LEFT = collections.deque([1, 2, 3])
DEQUE_LEFT_CALLS: list[int] = []


def deque_append_left() -> bool:
    same = list(DEQUE_LEFT) == turned([1, 2, 3], -len(DEQUE_LEFT_CALLS))
    DEQUE_LEFT.appendleft(DEQUE_LEFT.pop())
    DEQUE_LEFT_CALLS.append(1)
    return same


FULL_APPENDED = collections.deque([1, 2, 3], maxlen=3)
FULL_APPENDED_CALLS: list[int] = []


def full_deque_append() -> bool:
    same = list(FULL_APPENDED) == turned([1, 2, 3], len(FULL_APPENDED_CALLS))
    FULL_APPENDED.append(FULL_APPENDED[0])
    FULL_APPENDED_CALLS.append(1)
    return same


FULL_LEFT = collections.deque([1, 2, 3], maxlen=3)
FULL_LEFT_CALLS: list[int] = []


def full_deque_append_left() -> bool:
    same = list(FULL_LEFT) == turned([1, 2, 3], -len(FULL_LEFT_CALLS))
    FULL_LEFT.appendleft(FULL_LEFT[-1])
    FULL_LEFT_CALLS.append(1)
    return same


FULL_EXTENDED = collections.deque([1, 2, 3], maxlen=3)
FULL_EXTENDED_CALLS: list[int] = []


def full_deque_extend() -> bool:
    same = list(FULL_EXTENDED) == turned([1, 2, 3], len(FULL_EXTENDED_CALLS))
    FULL_EXTENDED.extend([FULL_EXTENDED[0]])
    FULL_EXTENDED_CALLS.append(1)
    return same


FULL_EXTENDED_LEFT = collections.deque([1, 2, 3], maxlen=3)
FULL_EXTENDED_LEFT_CALLS: list[int] = []


def full_deque_extend_left() -> bool:
    same = list(FULL_EXTENDED_LEFT) == turned([1, 2, 3], -len(FULL_EXTENDED_LEFT_CALLS))
    FULL_EXTENDED_LEFT.extendleft([FULL_EXTENDED_LEFT[-1]])
    FULL_EXTENDED_LEFT_CALLS.append(1)
    return same


ROTATED = collections.deque([1, 2, 3])
ROTATED_CALLS: list[int] = []


def deque_rotate() -> bool:
    same = list(ROTATED) == turned([1, 2, 3], -len(ROTATED_CALLS))
    ROTATED.rotate(1)
    ROTATED_CALLS.append(1)
    return same


FULL_ROTATED = collections.deque([1, 2, 3], maxlen=3)
FULL_ROTATED_CALLS: list[int] = []


def full_deque_rotate() -> bool:
    same = list(FULL_ROTATED) == turned([1, 2, 3], len(FULL_ROTATED_CALLS))
    FULL_ROTATED.rotate(-1)
    FULL_ROTATED_CALLS.append(1)
    return same


DEQUE_REVERSED = collections.deque([1, 2, 3])
DEQUE_REVERSED_CALLS: list[int] = []


def deque_reverse() -> bool:
    same = list(DEQUE_REVERSED) == ([3, 2, 1] if len(DEQUE_REVERSED_CALLS) % 2 else [1, 2, 3])
    DEQUE_REVERSED.reverse()
    DEQUE_REVERSED_CALLS.append(1)
    return same


DEQUE_ITEM = collections.deque([1, 2, 3])
DEQUE_ITEM_CALLS: list[int] = []


def deque_item() -> bool:
    same = list(DEQUE_ITEM) == ([1, 5, 3] if len(DEQUE_ITEM_CALLS) % 2 else [1, 2, 3])
    DEQUE_ITEM[1] = 7 - DEQUE_ITEM[1]
    DEQUE_ITEM_CALLS.append(1)
    return same


TO_END = collections.OrderedDict({1: 0, 2: 0, 3: 0})
TO_END_CALLS: list[int] = []


def ordered_dict_to_end() -> bool:
    same = list(TO_END) == turned([1, 2, 3], len(TO_END_CALLS))
    TO_END.move_to_end(next(iter(TO_END)))
    TO_END_CALLS.append(1)
    return same


TO_FRONT = collections.OrderedDict({1: 0, 2: 0, 3: 0})
TO_FRONT_CALLS: list[int] = []


def ordered_dict_to_front() -> bool:
    same = list(TO_FRONT) == turned([1, 2, 3], -len(TO_FRONT_CALLS))
    TO_FRONT.move_to_end(next(reversed(TO_FRONT)), last=False)
    TO_FRONT_CALLS.append(1)
    return same


POPPED_FIRST = collections.OrderedDict({1: 0, 2: 0, 3: 0})
POPPED_FIRST_CALLS: list[int] = []


def ordered_dict_pop_first() -> bool:
    same = list(POPPED_FIRST) == turned([1, 2, 3], len(POPPED_FIRST_CALLS))
    key, value = POPPED_FIRST.popitem(last=False)
    POPPED_FIRST[key] = value
    POPPED_FIRST_CALLS.append(1)
    return same


DICT_POPPED = {1: 0, 2: 0, 3: 0}
DICT_POPPED_CALLS: list[int] = []


def dict_pop() -> bool:
    same = list(DICT_POPPED) == turned([1, 2, 3], len(DICT_POPPED_CALLS))
    first = next(iter(DICT_POPPED))
    DICT_POPPED[first] = DICT_POPPED.pop(first)
    DICT_POPPED_CALLS.append(1)
    return same


DICT_UPDATED = {1: 0, 2: 0, 3: 0}
DICT_UPDATED_CALLS: list[int] = []


def dict_update() -> bool:
    same = list(DICT_UPDATED) == turned([1, 2, 3], len(DICT_UPDATED_CALLS))
    first = next(iter(DICT_UPDATED))
    DICT_UPDATED.update({first: DICT_UPDATED.pop(first)})
    DICT_UPDATED_CALLS.append(1)
    return same


DICT_DEFAULT = {1: 0, 2: 0, 3: 0}
DICT_DEFAULT_CALLS: list[int] = []


def dict_set_default() -> bool:
    same = list(DICT_DEFAULT) == turned([1, 2, 3], len(DICT_DEFAULT_CALLS))
    first = next(iter(DICT_DEFAULT))
    del DICT_DEFAULT[first]
    DICT_DEFAULT.setdefault(first, 0)
    DICT_DEFAULT_CALLS.append(1)
    return same


DICT_POPITEM = {1: 0, 2: 0}
DICT_POPITEM_CALLS: list[int] = []


def dict_pop_item() -> bool:
    same = list(DICT_POPITEM) == ([1] if len(DICT_POPITEM_CALLS) % 2 else [1, 2])
    if len(DICT_POPITEM) == 2:
        DICT_POPITEM.popitem()
    else:
        DICT_POPITEM[2] = 0
    DICT_POPITEM_CALLS.append(1)
    return same


DICT_VALUE = {1: False}
DICT_VALUE_CALLS: list[int] = []


def dict_value() -> bool:
    same = DICT_VALUE == ({1: True} if len(DICT_VALUE_CALLS) % 2 else {1: False})
    DICT_VALUE[1] ^= True
    DICT_VALUE_CALLS.append(1)
    return same


DICT_CLEARED = {1: 0}
DICT_CLEARED_CALLS: list[int] = []


def dict_clear() -> bool:
    same = DICT_CLEARED == ({} if len(DICT_CLEARED_CALLS) % 2 else {1: 0})
    full = bool(DICT_CLEARED)
    DICT_CLEARED.clear()
    if not full:
        DICT_CLEARED[1] = 0
    DICT_CLEARED_CALLS.append(1)
    return same


TOGGLED = {1, 2}
TOGGLED_CALLS: list[int] = []


def set_toggle() -> bool:
    same = TOGGLED == ({1} if len(TOGGLED_CALLS) % 2 else {1, 2})
    TOGGLED.symmetric_difference_update([2])
    TOGGLED_CALLS.append(1)
    return same


DISCARDED = {1, 2}
DISCARDED_CALLS: list[int] = []


def set_discard() -> bool:
    same = DISCARDED == ({1} if len(DISCARDED_CALLS) % 2 else {1, 2})
    if 2 in DISCARDED:
        DISCARDED.discard(2)
    else:
        DISCARDED.add(2)
    DISCARDED_CALLS.append(1)
    return same


SET_CLEARED = {1, 2}
SET_CLEARED_CALLS: list[int] = []


def set_clear() -> bool:
    same = SET_CLEARED == (set() if len(SET_CLEARED_CALLS) % 2 else {1, 2})
    full = len(SET_CLEARED) == 2
    SET_CLEARED.clear()
    if not full:
        SET_CLEARED.update((1, 2))
    SET_CLEARED_CALLS.append(1)
    return same


SUBTRACTED = collections.Counter("ab")
SUBTRACTED_CALLS: list[int] = []


def counter_subtract() -> bool:
    same = SUBTRACTED["a"] == (2 if len(SUBTRACTED_CALLS) % 2 else 1)
    SUBTRACTED.update({"a": 1 - 2 * (SUBTRACTED["a"] - 1)})
    SUBTRACTED_CALLS.append(1)
    return same


READ = collections.defaultdict(list)
READ_CALLS: list[int] = []


def default_dict_read() -> bool:
    same = dict(READ) == ({"a": []} if len(READ_CALLS) % 2 else {})
    if "a" in READ:
        del READ["a"]
    else:
        READ["a"]
    READ_CALLS.append(1)
    return same


BYTES = bytearray(b"ab")
BYTES_CALLS: list[int] = []


def bytes_item() -> bool:
    same = bytes(BYTES) == (b"bb" if len(BYTES_CALLS) % 2 else b"ab")
    BYTES[0] ^= 3
    BYTES_CALLS.append(1)
    return same
