#!/usr/bin/env python3
"""Random expressions and reductions of arrays, with NumPy's results.

    numpy_expressions.py SEED COUNT > numpy_expressions.txt

One program a line, fields separated by tabs:

    dtype  shape  views  program  result

`views` has one view for each of three arrays; see `array`. `program` is in reverse Polish notation, in which 0, 1 and 2 are
the arrays. A reduction may follow as `name:axes:keepdims`. The result is `dtype;shape;crc`: the CRC-32 of its bytes in C
order, with zeros positive and every NaN the same. Programs of floats have exact results in every step, so that neither
rounding nor the order of a sum matters. The recorded programs were made by NumPy 2.4.6 with

    numpy_expressions.py 20261122 2000 | gzip -9n > numpy_expressions.txt.gz

numpy_expressions.rs reads this.
"""

import random
import sys
import warnings
import zlib

import numpy as np

warnings.simplefilter("ignore")
TYPES = {"i8": "i1", "u8": "u1", "i16": "i2", "u16": "u2", "i32": "i4", "u32": "u4", "f16": "f2", "f32": "f4"}
NAMES = {"b1": "bool", "i1": "i8", "u1": "u8", "i2": "i16", "u2": "u16", "i4": "i32", "u4": "u32", "i8": "i64",
         "u8": "u64", "f2": "f16", "f4": "f32"}
LENGTHS = [0, 1, 2, 3, 4, 5, 7, 8, 16, 17]
LONG = [63, 64, 127, 128, 129, 255, 256, 257, 1021, 1024, 4099]
VIEWS = ["c", "c", "c", "f", "flip", "step", "row", "column", "one"]
BINARY = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "minimum": np.minimum,
          "maximum": np.maximum, "larger": lambda a, b: np.where(a < b, b, a),
          "equal_or_zero": lambda a, b: np.where(a == b, a, np.zeros_like(a))}
OF_INTEGERS = {"floor_divide": np.floor_divide, "remainder": np.remainder, "bitwise_and": np.bitwise_and,
               "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor, "bitwise_left_shift": np.left_shift,
               "bitwise_right_shift": np.right_shift}
UNARY = {"negative": np.negative, "abs": np.abs, "square": np.square, "sign": np.sign}
OF_FLOATS = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.round}
COMPARE = {"equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
           "greater": np.greater, "greater_equal": np.greater_equal}
REDUCE = ["sum", "sum", "prod", "min", "max", "argmin", "argmax", "any", "all", "count_nonzero"]


class Inexact(Exception):
    pass


def values(dtype, count, seed, special):
    i = np.arange(count, dtype=np.int64)
    raw = (i * 7919 + seed * 104729) % 61 - 30
    if dtype[0] == "u":
        raw = raw + 30
    if dtype[0] != "f":
        return raw.astype(TYPES[dtype])
    made = (raw / 2).astype(TYPES[dtype])
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
    if view == "step" and shape:
        wide = shape[:-1] + [shape[-1] * 2]
        return values(dtype, int(np.prod(wide)), seed, special).reshape(wide)[..., ::2]
    made = values(dtype, int(np.prod(shape)), seed, special).reshape(shape, order="F" if view == "f" else "C")
    return np.flip(made) if view == "flip" else made


def check(value, exact):
    """Floats are computed in f64 too; both are equal as long as each step is exact."""
    if value.dtype.kind == "f":
        same = (value.astype("f8") == exact) | (np.isnan(value) & np.isnan(exact))
        finite = exact[np.isfinite(exact)]
        if not same.all() or (finite.size and np.abs(finite).max() > 2**18):
            raise Inexact
    return value, exact


def expression(rng, dtype, arrays):
    """A program, its value, and its value in f64."""
    program, stack = [], []
    is_float = dtype[0] == "f"
    binary = BINARY | ({} if is_float else OF_INTEGERS)
    unary = UNARY | (OF_FLOATS if is_float else {"bitwise_invert": np.invert})
    left = rng.randint(1, 6)
    while left > 0 or len(stack) > 1:
        if len(stack) < 2 or (left > 0 and rng.random() < 0.4):
            at = rng.randrange(3)
            program.append(str(at))
            stack.append((arrays[at], arrays[at].astype("f8") if is_float else arrays[at]))
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


def reduction(rng, value, exact):
    name = rng.choice(REDUCE)
    axes = tuple(sorted(rng.sample(range(value.ndim), rng.randint(1, value.ndim)))) if value.ndim else ()
    if name in ("argmin", "argmax"):
        axes = axes if len(axes) == 1 else tuple(range(value.ndim))
    keep = rng.random() < 0.3
    keywords = {"keepdims": keep}
    over = axes[0] if len(axes) == 1 else (None if len(axes) == value.ndim else axes)
    kind = value.dtype.kind
    if name in ("sum", "prod") and kind == "f":
        if name == "prod" or (np.isfinite(exact).any() and np.abs(exact[np.isfinite(exact)]).sum() > 2**18):
            raise Inexact
        result = np.sum(exact, axis=over, **keywords).astype(value.dtype)
    elif name in ("sum", "prod"):
        result = getattr(np, name)(value, axis=over, dtype="u8" if kind == "u" else "i8", **keywords)
    elif name in ("min", "max", "argmin", "argmax") and value.size == 0:
        raise Inexact
    else:
        result = getattr(np, name)(value, axis=over, **keywords)
    return f"{name}:{','.join(map(str, axes))}:{int(keep)}", np.asarray(result)


def canonical(result):
    if result.dtype.kind == "f":
        result = np.where(np.isnan(result), np.abs(result.dtype.type(np.nan)), result + result.dtype.type(0))
    return np.ascontiguousarray(result).tobytes()


def line(rng):
    dtype = rng.choice(list(TYPES))
    shape = [rng.choice(LENGTHS) for _ in range(rng.randint(0, 4))]
    if rng.random() < 0.3:
        shape = [rng.choice(LENGTHS[1:4]), rng.choice(LONG)] if rng.random() < 0.5 else [rng.choice(LONG), rng.choice(LENGTHS[1:4])]
    views = [rng.choice(VIEWS) if shape else "c" for _ in range(3)]
    special = dtype[0] == "f" and rng.random() < 0.3
    arrays = [array(dtype, shape, view, seed, special) for seed, view in enumerate(views)]
    program, value, exact = expression(rng, dtype, arrays)
    value = np.asarray(value)
    end = rng.random()
    if end < 0.2:
        name = rng.choice(list(COMPARE))
        program += ["0", name]
        value = np.asarray(COMPARE[name](value, arrays[0]))
    elif end < 0.6:
        text, value = reduction(rng, value, exact)
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
