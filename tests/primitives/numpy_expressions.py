#!/usr/bin/env python3
"""Random expressions and reductions of arrays, with NumPy's results.

    numpy_expressions.py SEED COUNT > numpy_expressions.txt

One program a line, fields separated by tabs:

    dtype  shape  views  program  result

`views` has one view for each of three arrays; see `array`. `program` is in reverse Polish notation, in which 0, 1 and 2 are
the arrays. A reduction may follow as `name:axes:keepdims`. The result is `dtype;shape;crc`: the CRC-32 of its bytes in C
order, with zeros positive and every NaN the same. Programs of floats have exact results in every step, so that neither
rounding nor the order of a sum matters; means and variances divide by powers of two, since a device may round other
divisions differently. The recorded programs were made by NumPy 2.4.6 with

    numpy_expressions.py 20261122 2000 | gzip -9n > numpy_expressions.txt.gz

numpy_expressions.rs reads this.
"""

import random
import sys
import warnings
import zlib

import numpy as np

warnings.simplefilter("ignore")
TYPES = {"bool": "b1", "i8": "i1", "u8": "u1", "i16": "i2", "u16": "u2", "i32": "i4", "u32": "u4", "i64": "i8",
         "u64": "u8", "f16": "f2", "f32": "f4", "f64": "f8"}
NAMES = {code: name for name, code in TYPES.items()}
EXACT = "g"  # Has 64 bits of mantissa, more than any of the types.
LENGTHS = [0, 1, 2, 3, 4, 5, 7, 8, 16, 17]
LONG = [63, 64, 127, 128, 129, 255, 256, 257, 1021, 1024, 4099]
LARGE = [[70_001], [263, 300], [7, 11, 1021]]
VIEWS = ["c", "c", "c", "f", "flip", "step", "back", "row", "column", "one"]
BINARY = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "minimum": np.minimum,
          "maximum": np.maximum, "larger": lambda a, b: np.where(a < b, b, a),
          "equal_or_zero": lambda a, b: np.where(a == b, a, np.zeros_like(a)),
          "first_true": lambda a, b: np.where(a != 0, a, b)}
LOGICAL = {"logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor}
OF_BITS = {"bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor}
OF_INTEGERS = OF_BITS | {"floor_divide": np.floor_divide, "remainder": np.remainder, "bitwise_left_shift": np.left_shift,
                         "bitwise_right_shift": np.right_shift}
OF_BOOLS = OF_BITS | LOGICAL | {"equal": np.equal, "not_equal": np.not_equal, "first_true": BINARY["first_true"]}
UNARY = {"negative": np.negative, "abs": np.abs, "square": np.square, "sign": np.sign}
ROUND = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.round}
EQUAL = {"equal": np.equal, "not_equal": np.not_equal}
COMPARE = EQUAL | {"less": np.less, "less_equal": np.less_equal, "greater": np.greater, "greater_equal": np.greater_equal}
REDUCE = ["sum", "sum", "prod", "min", "max", "argmin", "argmax", "any", "all", "count_nonzero"]
STATISTICS = ["mean", "var0", "var1", "nansum", "nanprod", "nanmean", "nanmin", "nanmax"]
# Operations of each kind of type: of two values, of one, and those at the end, whose results are truth values.
OPERATIONS = {"b": (OF_BOOLS, {"logical_not": np.logical_not, "bitwise_invert": np.invert}, EQUAL | LOGICAL),
              "i": (BINARY | OF_INTEGERS, UNARY | {"bitwise_invert": np.invert}, COMPARE | LOGICAL),
              "f": (BINARY, UNARY | ROUND, COMPARE | LOGICAL)}
OPERATIONS["u"] = OPERATIONS["i"]


class Inexact(Exception):
    pass


def values(dtype, count, seed, special):
    i = np.arange(count, dtype=np.int64)
    raw = (i * 7919 + seed * 104729) % 61 - 30
    if dtype == "bool":
        return raw % 3 == 0
    if dtype[0] == "u":
        raw = raw + 30
    is_wide = i % 3 > 0  # Most numbers of 64 bits have more bits than 32, or than an f32.
    if dtype[0] != "f":
        return np.where(is_wide & (dtype[1:] == "64"), raw * 0x1_0000_0003, raw).astype(TYPES[dtype])
    made = (raw / 2 + np.where(is_wide & (dtype == "f64"), raw * 2.0**-20, 0)).astype(TYPES[dtype])
    if special:
        at = (i * 31 + seed) % 41
        for k, value in enumerate([np.nan, np.inf, -np.inf, -0.0]):
            made[at == k] = value
    return made


def array(dtype, shape, view, seed, special):
    """An array that broadcasts to the shape."""
    if view == "one":
        return values(dtype, 1, seed, special).reshape(())
    if view == "row":
        shape = [1] * (len(shape) - 1) + shape[-1:]
    if view == "column" and shape:
        shape = shape[:-1] + [1]
    if view in ("step", "back") and shape:
        wide = shape[:-1] + [shape[-1] * 2]
        return values(dtype, int(np.prod(wide)), seed, special).reshape(wide)[..., :: 2 if view == "step" else -2]
    made = values(dtype, int(np.prod(shape)), seed, special).reshape(shape, order="F" if view == "f" else "C")
    return np.flip(made) if view == "flip" else made


def check(value, exact):
    """Floats are computed in EXACT too; both are equal as long as each step is exact."""
    if value.dtype.kind == "f":
        same = (value.astype(EXACT) == exact) | (np.isnan(value) & np.isnan(exact))
        finite = exact[np.isfinite(exact)]
        if not same.all() or (finite.size and np.abs(finite).max() > 2**18):
            raise Inexact
    return value, exact


def expression(rng, arrays):
    """A program, its value, and its exact value."""
    program, stack = [], []
    kind = arrays[0].dtype.kind
    binary, unary, _ = OPERATIONS[kind]
    left = rng.randint(1, 6)
    while left > 0 or len(stack) > 1:
        if len(stack) < 2 or (left > 0 and rng.random() < 0.4):
            at = rng.randrange(3)
            program.append(str(at))
            stack.append((arrays[at], exactly(arrays[at])))
            left -= 1
        else:
            name = rng.choice(list(binary))
            b, a = stack.pop(), stack.pop()
            program.append(name)
            stack.append(check(binary[name](a[0], b[0]), binary[name](a[1], b[1])))
        if rng.random() < 0.2:
            name = rng.choice(list(unary))
            program.append(name)
            a = stack.pop()
            stack.append(check(unary[name](a[0]), unary[name](a[1])))
    return program, *stack[0]


def exactly(value):
    return value.astype(EXACT) if value.dtype.kind == "f" else value


def exact_sum(exact, axis, bits):
    """The sum, which has to be the same in any order of additions with this many bits."""
    scaled = np.where(np.isfinite(exact), exact, 0) * 2.0**44
    whole = scaled.astype("i8")
    low = int(np.bitwise_or.reduce(whole, axis=None))
    if (whole != scaled).any() or np.abs(scaled).sum() >= (low & -low) * 2.0**bits:
        raise Inexact
    return np.sum(exact, axis=axis, keepdims=True)


def exact_prod(exact, axis, bits):
    """The product, likewise."""
    fraction, exponent = np.frexp(np.where(np.isfinite(exact) & (exact != 0), exact, 1))
    odd = np.abs(fraction * 2.0**30).astype("i8")
    if np.abs(exponent).sum() > 60 or np.prod((odd // (odd & -odd)).astype(EXACT)) >= 2.0**bits:
        raise Inexact
    return np.prod(exact, axis=axis, keepdims=True)


def over_power_of_two(total, count):
    if any(n & (n - 1) for n in np.unique(count).tolist()):
        raise Inexact
    return total / np.asarray(count).astype(EXACT)


def of_floats(name, exact, axis, bits):
    """A reduction of floats, which has to be exact, with all axes."""
    count = int(np.prod([exact.shape[i] for i in axis]))
    if name.startswith("nan"):
        name, is_nan = name[3:], np.isnan(exact)
        count = np.sum(~is_nan, axis=axis, keepdims=True)
        exact = np.where(is_nan, exact.dtype.type({"prod": 1, "min": np.inf, "max": -np.inf}.get(name, 0)), exact)
        if name in ("min", "max"):
            return np.where(count == 0, EXACT_NAN, getattr(np, name)(exact, axis=axis, keepdims=True))
    if name == "prod":
        return exact_prod(exact, axis, bits)
    total = exact_sum(exact, axis, bits)
    if name.startswith("var"):
        mean = over_power_of_two(total, count)
        total = exact_sum((exact - mean) ** 2, axis, bits)
        return over_power_of_two(total, max(count - int(name[3:]), 0))
    return over_power_of_two(total, count) if name == "mean" else total


EXACT_NAN = np.dtype(EXACT).type(np.nan)


def reduction(rng, value, exact, other):
    """A reduction of a value, or of its product with the first array."""
    kind = value.dtype.kind
    name = rng.choice(REDUCE + (["vecdot"] if kind != "b" else []) + (2 * STATISTICS if kind == "f" else []))
    divides = name in ("mean", "var0", "var1", "nanmean")
    choices = [i for i, n in enumerate(value.shape) if not divides or n & (n - 1) == 0]
    axes = tuple(sorted(rng.sample(choices, rng.randint(1, len(choices))))) if choices else ()
    if name in ("argmin", "argmax"):
        axes = axes if len(axes) == 1 else tuple(range(value.ndim))
    keep = rng.random() < 0.3
    text = f"{name}:{','.join(map(str, axes))}:{int(keep)}"
    if name in ("min", "max", "argmin", "argmax", "nanmin", "nanmax") and value.size == 0:
        raise Inexact
    if name == "vecdot":
        if kind == "f":
            value, exact = check(value * other, exact * exactly(other))
        else:
            value = value.astype(f"{kind}8") * other.astype(f"{kind}8")  # Multiplied in 64 bits too.
        name = "sum"
    keywords = {"axis": axes[0] if len(axes) == 1 else (None if len(axes) == value.ndim else axes), "keepdims": keep}
    if kind == "f" and name in ["sum", "prod"] + STATISTICS:
        result = of_floats(name, exact, axes, 53 if value.dtype == "f8" else 24).astype(value.dtype)
        result = result if keep else result.squeeze(axes)
    elif name in ("sum", "prod"):
        result = getattr(np, name)(value, dtype="u8" if kind == "u" else "i8", **keywords)
    else:
        result = getattr(np, name)(value, **keywords)
    return text, np.asarray(result)


def canonical(result):
    if result.dtype.kind == "f":
        result = np.where(np.isnan(result), np.abs(result.dtype.type(np.nan)), result + result.dtype.type(0))
    return np.ascontiguousarray(result).tobytes()


def line(rng):
    dtype = rng.choice(list(TYPES))
    shape = [rng.choice(LENGTHS) for _ in range(rng.randint(0, 4))]
    if rng.random() < 0.3:
        shape = [rng.choice(LENGTHS[1:4]), rng.choice(LONG)] if rng.random() < 0.5 else [rng.choice(LONG), rng.choice(LENGTHS[1:4])]
    elif rng.random() < 0.02:
        shape = list(rng.choice(LARGE))
    views = [rng.choice(VIEWS) if shape else "c" for _ in range(3)]
    special = dtype[0] == "f" and rng.random() < 0.3
    arrays = [array(dtype, shape, view, seed, special) for seed, view in enumerate(views)]
    program, value, exact = expression(rng, arrays)
    value, exact = np.asarray(value), np.asarray(exact)
    other = arrays[0]
    if rng.random() < 0.3:
        ends = OPERATIONS[other.dtype.kind][2]
        name = rng.choice(list(ends))
        program += ["0", name]
        value = exact = np.asarray(ends[name](value, other))
    if rng.random() < 0.5:
        text, value = reduction(rng, value, exact, other)
        program.append(text)
    result = f"{NAMES[value.dtype.str[1:]]};{','.join(map(str, value.shape))};{zlib.crc32(canonical(value))}"
    fields = [dtype + ("*" if special else ""), ",".join(map(str, shape)), ",".join(views), " ".join(program), result]
    return "\t".join(fields)


def main():
    rng, count = random.Random(int(sys.argv[1])), int(sys.argv[2])
    while count > 0:
        try:
            print(line(rng))
            count -= 1
        except Inexact:
            pass


main()
