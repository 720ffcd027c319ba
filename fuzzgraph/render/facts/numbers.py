"""What numbers and text do."""

from __future__ import annotations


def floats_at_their_edges() -> bool:
    import math

    nan, inf = float("nan"), math.inf
    return (
        nan != nan
        and [nan] == [nan]
        and max(1.0, nan) == 1.0
        and math.copysign(1, -0.0) == -1.0
        and (inf - inf != 0 and str(-0.0) == "-0.0" and 0.0 == -0.0 and math.isnan(inf * 0) and {0.0: 1}[-0.0] == 1)
    )


def division_and_remainder() -> bool:
    import math

    return (
        divmod(-7.5, 2) == (-4.0, 0.5)
        and -7 % -3 == -1
        and math.fmod(-7, 3) == -1.0
        and 7 // -2 == -4
        and (-0.0 // 5 == 0.0 and 1e300 * 1e10 == math.inf and math.remainder(5, 3) == -1.0 and int(-7 / 2) == -3)
    )


def division_by_zero() -> bool:
    caught = []
    for f in (lambda: 1 / 0, lambda: 1 // 0, lambda: 1 % 0, lambda: 1.0 / 0.0, lambda: 0.0**-1, lambda: divmod(1, 0)):
        try:
            f()
        except ZeroDivisionError:
            caught.append(1)
    return len(caught) == 6


def roundings() -> bool:
    import math

    return [round(0.5), round(1.5), round(-2.5), round(2.675, 2), round(1250, -2)] == [0, 2, -2, 2.67, 1200] and (
        math.trunc(-1.7) == -1 and math.floor(-1.5) == -2 and math.ceil(-1.5) == -1 and type(round(1.2, 0)) is float
    )


def powers() -> bool:
    import math

    same = 2**-2 == 0.25 and (-2) ** 3 == -8 and -(2**2) == -4 and 2**3**2 == 512 and pow(7, -1, 5) == 3
    return same and (-8) ** (1 / 3) != -2 and math.isqrt(17) == 4 and math.comb(5, 2) == 10 and 0**0 == 1


def bits() -> bool:
    try:
        1 << -1
    except ValueError:
        return (
            ~5 == -6 and -5 >> 1 == -3 and -5 & 3 == 3 and 5 ^ -1 == -6 and (-5).bit_length() == 3 and 1 << 70 > 2**69
        )
    return False


def large_integers() -> bool:
    n = 2**63
    return (
        n + 1 - n == 1 and n * n // n == n and float(2**53 + 1) == 2.0**53 and -n // 3 == -(n // 3) - 1 and n % 10 == 8
    )


def truth_counts() -> bool:
    flags = [True, False, True]
    return (
        sum(flags) == 2
        and True + 1.5 == 2.5
        and (True ^ True) is False
        and flags.count(1) == 2
        and (isinstance(True & 1, int) and not isinstance(True & 1, bool) and ["a", "b"][True] == "b")
    )


def numbers_from_text() -> bool:
    caught = 0
    for text in ("", "1.5", "0x10", "1__0"):
        try:
            int(text)
        except ValueError:
            caught += 1
    return (
        caught == 4 and int(" -1_0 ") == -10 and int("ff", 16) == 255 and float("1e-3") == 0.001 and int("0b11", 0) == 3
    )


def formats() -> bool:
    text = f"{3.14159:8.2f}|{-5:+04d}|{255:#x}|{1e6:,.0f}|{0.5:.0%}|{'ab':*^6}"
    fine = text == "    3.14|-005|0xff|1,000,000|50%|**ab**" and f"{1 + 1 = }" == "1 + 1 = 2"
    return fine and "%05.1f|%-4s|%x" % (2.25, "a", 10) == "002.2|a   |a"


def formats_by_method() -> bool:
    return "{0[1]}-{k.real}".format([1, 2], k=3) == "2-3" and "{:>{}}".format("a", 3) == "  a"


def methods_of_text() -> bool:
    text = "a,b,,c"
    return (
        text.split(",", 2) == ["a", "b", ",c"]
        and text.rpartition(",") == ("a,b,", ",", "c")
        and (
            "abcabc".replace("b", "x", 1) == "axcabc"
            and "Ab".swapcase() == "aB"
            and "a b".title() == "A B"
            and "ab".translate({97: "x"}) == "xb"
            and "x1".isalnum()
            and "abc".startswith(("x", "a"))
        )
    )


def compared() -> bool:
    mixed = [(1, "b"), (1, "a"), (0, "z")]
    try:
        sorted([1, "a"])
    except TypeError:
        return min(mixed) == (0, "z") and [1, 2] < [1, 2, 0] and "Z" < "a" and (1,) != [1] and 1 == 1.0 == True
    return False


def complex_numbers() -> bool:
    z = complex(3, -4)
    try:
        z < 1
    except TypeError:
        return abs(z) == 5.0 and z.conjugate().imag == 4 and (z * 1j).real == 4 and z != 3 and complex("1+2j").real == 1
    return False


def extremes() -> bool:
    return (
        max([], default=-1) == -1
        and min("ba", "ab", key=lambda t: t[1]) == "ba"
        and max(2, 2.0) is not None
        and (type(max(2, 2.0)) is int and sum([[1], [2]], []) == [1, 2] and any(n > 1 for n in (1, 2)) and all(()))
    )


def sums_and_products() -> bool:
    import math
    import operator

    return (
        math.prod([2, 3], start=2) == 12
        and math.fsum([0.1] * 10) == 1.0
        and operator.itemgetter(1, 0)("ab") == ("b", "a")
        and (
            operator.attrgetter("real")(3) == 3
            and operator.methodcaller("upper")("a") == "A"
            and math.hypot(3, 4) == 5.0
        )
    )
