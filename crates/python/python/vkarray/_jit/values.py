"""What an expression of a kernel is while it is translated."""

import operator
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate

from . import types
from .types import I32, Scalar


@dataclass(frozen=True)
class Value:
    """A number or a tuple: its WGSL, its type, the number itself where it is known, and the parts of a tuple.

    A natural value is known not to be negative, so that it needs no care as an index.
    """

    text: str
    kind: object
    const: object = field(default=None, compare=False)  # A number is compared by its text, since NaN is not NaN.
    items: tuple = None
    natural: bool = False

    @property
    def is_global(self):
        """Whether every function can write it."""
        return self.const is not None or self.text.startswith("given.")

    @property
    def known(self):
        """The number or the tuple of numbers, of a value that `is_known`."""
        return self.const if self.items is None else tuple(item.known for item in self.items)


@dataclass(frozen=True)
class ArrayValue:
    """An array or a view of one. Element (i, j) is `name[first + i * strides[0] + j * strides[1]]`."""

    name: str
    element: Scalar
    space: str
    shape: tuple
    strides: tuple
    first: Value
    length: int = 0


@dataclass(frozen=True)
class Known:
    """An object that a function is given and that is no value of WGSL: a function, a type."""

    found: object


@dataclass
class State:
    """What is found out about a kernel. A pass over the program may add to it; then another pass follows."""

    kinds: dict = field(default_factory=dict)
    returns: dict = field(default_factory=dict)
    facts: set = field(default_factory=set)
    names: dict = field(default_factory=dict)
    changed: bool = False

    def name(self, prefix, *key):
        """A name of WGSL that stays the same in all passes."""
        return self.names.setdefault(key, f"{prefix}{len(self.names)}")

    def note(self, *fact):
        """Keeps a fact, such as that an array is written."""
        if fact not in self.facts:
            self.facts.add(fact)
            self.changed = True

    def widen(self, table, key, kind):
        """Gives a variable or a result the common type of all its values. Returns None if there is none."""
        before = table.get(key)
        after = kind if before is None else types.join(before, kind)
        if after != before and after is not None:
            table[key] = after
            self.changed = True
        return after


def is_known(value):
    """Whether an argument of a device function is known while it is translated."""
    if isinstance(value, Value):
        return value.const is not None or (value.items is not None and all(map(is_known, value.items)))
    return isinstance(value, Known)


def integer(number):
    """A known index or length."""
    return Value(types.literal(number, I32), I32, const=number, natural=number >= 0)


def _combined(sign, compute, neutral, a, b):
    if a.const is not None and b.const is not None:
        return integer(compute(a.const, b.const))
    if neutral in (a.const, b.const):
        return b if a.const == neutral else a
    return Value(f"({a.text} {sign} {b.text})", I32, natural=a.natural and b.natural)


plus, times = partial(_combined, "+", operator.add, 0), partial(_combined, "*", operator.mul, 1)


def packed_strides(shape):
    """The strides of an array in C order without gaps."""
    strides = accumulate(reversed(shape[1:]), times, initial=integer(1))
    return tuple(strides)[::-1][: len(shape)]
