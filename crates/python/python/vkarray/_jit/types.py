"""Types of values in kernels: which type two values have in common, and how WGSL writes numbers and conversions.

Literals are weak: `x + 1` has the type of `x`. A variable that only ever holds literals is `int32` or `float32`.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from .. import _core


@dataclass(frozen=True)
class Scalar:
    """A type of numbers: its name in NumPy and in WGSL, its kind (of `biuf`), and the suffix of its literals."""

    name: str
    wgsl: str
    kind: str
    suffix: str
    weak: bool = False

    def __str__(self):
        return self.name


@dataclass(frozen=True)
class Tuple:
    """The type of a tuple, which is a struct in WGSL."""

    items: tuple

    @property
    def wgsl(self):
        return "Tuple_" + "_".join(item.wgsl for item in self.items) + "_"

    def __str__(self):
        return f"({', '.join(map(str, self.items))})"


BOOL, I32, U32 = Scalar("bool", "bool", "b", ""), Scalar("int32", "i32", "i", "i"), Scalar("uint32", "u32", "u", "u")
I64, U64 = Scalar("int64", "i64", "i", "li"), Scalar("uint64", "u64", "u", "lu")
F16, F32, F64 = (Scalar(f"float{bits}", f"f{bits}", "f", suffix) for bits, suffix in ((16, "h"), (32, "f"), (64, "lf")))
INT, FLOAT = replace(I32, weak=True), replace(F32, weak=True)

BY_NAME = {each.name: each for each in (BOOL, I32, U32, I64, U64, F16, F32, F64)}
SHORT = ("int8", "uint8", "int16", "uint16")
_RANK = {"b": 0, "i": 1, "u": 1, "f": 2}


def of_dtype(dtype):
    """The type of numbers of a NumPy type. Raises `TypeError` for a type that kernels do not have."""
    name = np.dtype(dtype).name
    if name not in BY_NAME:
        raise TypeError(f"kernels have no {name}; there are {', '.join(BY_NAME)}")
    return BY_NAME[name]


def of_elements(dtype):
    """The type that the elements of an array have in kernels, which compute short integers in 32 bits."""
    return I32 if np.dtype(dtype).name in SHORT else of_dtype(dtype)


def in_memory(kind):
    """The type of elements as they lie in memory, where WGSL has no `bool`."""
    return U32 if kind == BOOL else kind


def of_number(number):
    """The type of a literal or of another number that is known before the launch, or None for another object."""
    if isinstance(number, np.generic):
        return of_elements(number.dtype)
    if isinstance(number, bool):
        return BOOL
    if isinstance(number, int):
        return INT if -(2**31) <= number < 2**31 else I64 if number < 2**63 else U64
    return FLOAT if isinstance(number, float) else None


def concrete(kind):
    """The type of a variable with this value."""
    if isinstance(kind, Tuple):
        return Tuple(tuple(map(concrete, kind.items)))
    return BY_NAME[kind.name] if isinstance(kind, Scalar) else kind


def parts(kind):
    """The types of the numbers that a number or a tuple of numbers has."""
    return kind.items if isinstance(kind, Tuple) else (kind,)


def computed(kind):
    """The type in which numbers are computed and compared: truths as integers."""
    return I32 if kind == BOOL else concrete(kind)


def join(a, b):
    """The type that has the values of both, by the tables of arrays; None if there is none."""
    if a == b:
        return a
    if isinstance(a, Tuple) and isinstance(b, Tuple) and len(a.items) == len(b.items):
        items = tuple(map(join, a.items, b.items))
        return None if None in items else Tuple(items)
    if not (isinstance(a, Scalar) and isinstance(b, Scalar)):
        return None
    if a.weak or b.weak or BOOL in (a, b):
        if _RANK[a.kind] == _RANK[b.kind]:
            return b if a.weak else a
        higher = max(a, b, key=lambda each: _RANK[each.kind])
        both_literals = (a.weak or a == BOOL) and (b.weak or b == BOOL)
        return higher if both_literals else concrete(higher)
    common = _core.promote(np.dtype(a.name), np.dtype(b.name))
    return None if common is None else of_dtype(common)


def floating(kind):
    """The type in which a function of floats computes numbers of a type."""
    return concrete(join(kind, FLOAT))


def literal(number, kind):
    """A number as WGSL writes it. Raises `OverflowError` if the type does not have it."""
    if kind.kind == "b":
        return "true" if number else "false"
    if kind.kind in "iu":
        number = int(number)
        limits = np.iinfo(kind.name)
        if not limits.min <= number <= limits.max:
            raise OverflowError(f"{number} is not in the range of {kind}")
        if number == limits.min and number < 0:
            return f"({number + 1}{kind.suffix} - 1{kind.suffix})"
        return f"{number}{kind.suffix}" if number >= 0 else f"({number}{kind.suffix})"
    with np.errstate(over="ignore"):
        value = np.dtype(kind.name).type(number)
    if not np.isfinite(value) and math.isfinite(number):
        raise OverflowError(f"{number} is not in the range of {kind}")
    if not np.isfinite(value):
        if kind == F16:
            return converted(literal(number, F32), F32, F16)
        return f"bitcast<{kind.wgsl}>({value.view(f'u{value.itemsize}')}{'lu' if kind == F64 else 'u'})"
    text = f"{float(value)!r}{kind.suffix}"
    return f"({text})" if text.startswith("-") else text


def stored(text, source, target):
    """An element as memory has it, or the other way: floats may lie there as integers, for atomic operations."""
    if source.kind != target.kind and "f" in (source.kind, target.kind):
        return f"bitcast<{target.wgsl}>({text})"
    return converted(text, source, target)


def converted(text, source, target):
    """The expression of one type as one of another, as NumPy's `astype` converts."""
    source, target = concrete(source), concrete(target)
    if source == target:
        return text
    if target == BOOL:
        return f"({text} != {literal(0, source)})"
    if source == BOOL:
        return f"select({literal(0, target)}, {literal(1, target)}, {text})"
    between = {(U32, I64): U64, (I32, U64): I64}.get((source, target))
    if between is not None:
        # One conversion that changes both width and sign takes the sign of the wrong type.
        text = f"{between.wgsl}({text})"
    return f"{target.wgsl}({text})"
