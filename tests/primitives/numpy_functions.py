#!/usr/bin/env python3
"""Calls of NumPy's functions on small arrays, with their results.

    numpy_functions.py SEED COUNT [FUNCTION ...] > numpy_functions.txt

One call a line, fields separated by tabs:

    function  dtype  values  seed  shape  view  parameters  results

Lists are separated by commas. The array is made as `array` below makes it, in Rust as in Python, of numbers that
`splitmix` gives: `few` values with many equal ones, NaN, infinities and zeros of both signs; `all` values of the type;
`whole` numbers from -7 to 7; `nan`, the same with a few NaN; or `signs`, -1 and 1. A result is `dtype;shape;bytes`: its bytes in C order as hexadecimal
digits, or if it has more than 64 their CRC-32 after `crc`. The recorded calls were made by NumPy 2.4.6 with

    (numpy_functions.py 20261122 3000; numpy_functions.py 20261123 400 quantile quantiles median put_mask dot) |
        gzip -9n > numpy_functions.txt.gz

numpy_functions.rs reads this.
"""

import random
import sys
import warnings
import zlib

import numpy as np

warnings.simplefilter("ignore")
MASK = (1 << 64) - 1
SHORT = {"bool": "?", "u8": "u1", "i16": "i2", "f16": "f2", "i32": "i4", "u32": "u4", "f32": "f4",
         "i64": "i8", "u64": "u8", "f64": "f8", "complex<f32>": "c8"}
NUMBERS = ["u8", "i16", "f16", "i32", "u32", "f32", "f32", "i64", "u64", "f64"]
LENGTHS = [0, 1, 2, 3, 5, 17]
LONG = [127, 255, 256, 257, 511, 512, 513, 2047, 2048, 2049, 7919]


def splitmix(seed, count):
    z = (np.uint64(seed & MASK) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def numbers(dtype, values, seed, count):
    raw, to = splitmix(seed, count), np.dtype(SHORT[dtype])
    if dtype == "bool":
        return (raw >> np.uint64(33)) % np.uint64(2) == 1
    if dtype == "complex<f32>":
        return ((raw >> np.uint64(33)) % np.uint64(15)).astype(to)
    if values == "all" and to.kind in "iu":
        return (raw >> np.uint64(11)).astype(to)
    if values == "all":
        return (((raw >> np.uint64(40)).astype(np.int64) - (1 << 23)) * 0.125).astype(to)
    if values == "signs":
        return (1 - 2 * ((raw >> np.uint64(33)) % np.uint64(2)).astype(np.int64)).astype(to)
    if values == "nan":
        whole = numbers(dtype, "whole", seed, count)
        return np.where((raw >> np.uint64(33)) % np.uint64(64) == 9, np.nan, whole).astype(to)
    if values == "whole" or to.kind in "iu":
        low = 0 if to.kind == "u" else 7
        return (((raw >> np.uint64(33)) % np.uint64(15)).astype(np.int64) - low).astype(to)
    at = ((raw >> np.uint64(33)) % np.uint64(24)).astype(np.int64)
    special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0])
    return np.where(at < 5, special[np.minimum(at, 4)], (at - 14) * 0.5).astype(to)


def array(dtype, values, seed, shape, view):
    count = lambda lengths: int(np.prod(lengths, dtype=np.int64))
    if not shape or view == "c":
        return numbers(dtype, values, seed, count(shape)).reshape(shape)
    if view == "f":
        return numbers(dtype, values, seed, count(shape)).reshape(shape[::-1]).T
    if view == "reversed":
        return numbers(dtype, values, seed, count(shape)).reshape(shape)[::-1]
    if view == "stepped":
        base = [*shape[:-1], 2 * shape[-1]]
        return numbers(dtype, values, seed, count(base)).reshape(base)[..., ::2]
    if view == "offset":
        base = [shape[0] + 1, *shape[1:]]
        return numbers(dtype, values, seed, count(base)).reshape(base)[1:]
    assert view == "broadcast"
    base = [1, *shape[1:]]
    return np.broadcast_to(numbers(dtype, values, seed, count(base)).reshape(base), shape)


def indices(seed, count, length):
    return ((splitmix(seed + 2000, count) >> np.uint64(20)) % np.uint64(2 * length)).astype(np.int64) - length


def order(x, axis, descending):
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    flipped = np.flip(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)
    return x.shape[axis] - 1 - flipped


PAD = ["constant", "edge", "reflect", "symmetric", "wrap"]


def call(r, function, x, dtype, values, seed):
    """The parameters and the results."""
    axis = r.randrange(-x.ndim, x.ndim) if x.ndim else 0
    length = x.shape[axis] if x.ndim else 0
    other = lambda shape: array(dtype, values, seed + 1000, shape, "c")
    word = lambda result: np.asarray(result).astype(np.uint32)
    match function:
        case "take":
            n = 0 if length == 0 else r.choice([0, 1, 4, 9])
            at = indices(seed, n, max(length, 1))
            mode = r.randrange(3)
            if mode:
                at = at * 3
            return [axis, n, mode], [np.take(x, at, axis, mode=["raise", "wrap", "clip"][mode])]
        case "take_along_axis":
            shape = list(x.shape)
            shape[axis] = 0 if length == 0 else r.choice([1, 2, 7])
            at = indices(seed, int(np.prod(shape)), max(length, 1)).reshape(shape)
            return [axis, shape[axis]], [np.take_along_axis(x, at, axis)]
        case "put":
            n, m = r.choice([1, 3, 20]), r.choice([1, 2, 30])
            if x.size == 0:
                n = 0
            out = x.copy()
            np.put(out, indices(seed, n, max(x.size, 1)), other([m]))
            return [n, m], [out]
        case "compact":
            n_axes = r.randint(1, x.ndim)
            mask = numbers("bool", values, seed + 1000, int(np.prod(x.shape[:n_axes]))).reshape(x.shape[:n_axes])
            return [n_axes], [x[mask]]
        case "nonzero":
            return [], [word(places) for places in np.nonzero(x)]
        case "concat":
            extra = list(x.shape)
            extra[axis] = r.choice([0, 1, 3])
            return [axis, extra[axis]], [np.concatenate([x, other(extra), x], axis)]
        case "stack":
            axis = r.randrange(-x.ndim - 1, x.ndim + 1)
            return [axis], [np.stack([x, other(list(x.shape))], axis)]
        case "tile":
            repetitions = [r.randrange(4) for _ in range(r.randrange(4))]
            return repetitions, [np.tile(x, repetitions)]
        case "repeat":
            n = r.randrange(4)
            return [n, axis], [np.repeat(x, n, axis)]
        case "repeat_each":
            counts = [r.randrange(3) for _ in range(length)]
            return [axis, *counts], [np.repeat(x, counts, axis)]
        case "roll":
            shift = r.randrange(-20, 20)
            return [shift, axis], [np.roll(x, shift, axis)]
        case "pad":
            mode = r.randrange(5) if x.size else 0
            widths = [r.randrange(6) for _ in range(2 * x.ndim)]
            return [mode, *widths], [np.pad(x, np.array(widths).reshape(-1, 2), PAD[mode])]
        case "meshgrid":
            xy = r.randrange(2)
            grids = np.meshgrid(x, other([3]), x[:2], indexing=["ij", "xy"][xy])
            return [xy], list(grids)
        case "cumulative_sum" | "cumulative_prod":
            initial = r.randrange(2)
            # Floats of 16 bits are added in 32, where whole numbers are exact, and rounded once.
            wide = x.astype(np.float32) if dtype == "f16" else x
            result = getattr(np, function)(wide, axis=axis, include_initial=bool(initial))
            return [axis, initial], [result.astype(x.dtype) if dtype == "f16" else result]
        case "sort":
            descending = r.randrange(2)
            # The negative zero first, which NumPy leaves where it was.
            x = np.take_along_axis(x, np.argsort(~np.signbit(x), axis=axis, kind="stable"), axis)
            result = np.sort(x, axis=axis, kind="stable")
            return [axis, descending], [np.flip(result, axis) if descending else result]
        case "argsort":
            descending = r.randrange(2)
            return [axis, descending], [word(order(x, axis, descending))]
        case "searchsorted":
            m, side = r.choice([0, 1, 9]), r.randrange(2)
            sorted_ = np.sort(x, kind="stable")
            return [m, side], [word(np.searchsorted(sorted_, other([m]), ["left", "right"][side]))]
        case "isin":
            m = r.choice([0, 1, 9])
            return [m], [np.isin(x, other([m]))]
        case "unique":
            u = np.unique_all(x)
            return [], [u.values, word(u.indices), word(u.inverse_indices), word(u.counts)]
        case "histogram":
            edges = np.sort(numbers(dtype, "whole", seed + 1000, r.choice([2, 3, 6])))
            finite = x[~np.isnan(x)] if x.dtype.kind == "f" else x
            return [len(edges)], [word(np.histogram(finite, edges)[0])]
        case "diff":
            n = r.randrange(4)
            return [n, axis], [np.diff(x, n, axis)]
        case "isclose":
            return [], [np.isclose(x, other(list(x.shape)), 0.5, 0.25)]
        case "histogram_even":
            bins = r.choice([1, 3, 10])
            return [bins], [word(np.histogram(x[~np.isnan(x)], bins, (-3.0, 2.6))[0])]
        case "matmul":
            # One or two axes, or a stack; the other operand's shape follows.
            n, inner = r.choice([1, 2, 33, 64, 65]), x.shape[-1]
            second = r.choice([[inner], [inner, n], [2, inner, n]] if x.ndim < 3 else [[inner], [inner, n]])
            wide = np.float32 if dtype == "f16" else x.dtype
            return second, [np.matmul(x.astype(wide), other(second).astype(wide)).astype(x.dtype)]
        case "tensordot":
            n = r.randint(0, x.ndim)
            axes = r.sample(range(x.ndim), n)
            second = [x.shape[axis] for axis in axes] + [3]
            wide = np.float32 if dtype == "f16" else x.dtype
            result = np.tensordot(x.astype(wide), other(second).astype(wide), (axes, list(range(n))))
            return axes, [result.astype(x.dtype)]
        case "tril" | "triu":
            k = r.randrange(-6, 7)
            return [k], [getattr(np, function)(x, k)]
        case "quantile" | "quantiles" | "median":
            # Numbers and places that are exact in every type; `f16` and NumPy's `q` in it are not.
            n_axes = r.randint(1, x.ndim)
            axes, keepdims = tuple(r.sample(range(x.ndim), n_axes)), r.randrange(2)
            at = [r.randrange(9) for _ in range(1 if function == "quantile" else 3)]
            q = [part / 8 for part in at]
            if function == "median":
                result = np.median(x, axis=axes, keepdims=bool(keepdims))
            else:
                result = np.quantile(x, q[0] if function == "quantile" else q, axis=axes, keepdims=bool(keepdims))
            return [keepdims, *at, *axes], [np.asarray(result).astype(x.dtype)]
        case "put_mask":
            n_axes, n = r.randint(1, x.ndim), r.randrange(2)
            mask = numbers("bool", values, seed + 1000, int(np.prod(x.shape[:n_axes]))).reshape(x.shape[:n_axes])
            out, n_values = x.copy(), 1 if n == 0 else int(np.broadcast_to(
                mask.reshape(mask.shape + (1,) * (x.ndim - n_axes)), x.shape).sum())
            given = other([n_values])
            out[mask] = given[0] if n == 0 else given.reshape(out[mask].shape)
            return [n_axes, n_values], [out]
        case "dot":
            second = r.choice([[], [x.shape[-1]], [x.shape[-1], 3], [2, x.shape[-1], 3]])
            wide = np.float32 if dtype == "f16" else x.dtype
            given = (other(second) if second else other([1])[0]).astype(wide)
            # Of a negative zero NumPy keeps the sign for some shapes and loses it for others, as its BLAS does.
            return second, [np.asarray(np.dot(x.astype(wide), given) + 0).astype(x.dtype)]
    raise ValueError(function)


MOVES = ["take", "take_along_axis", "put", "compact", "nonzero", "concat", "stack", "tile", "repeat", "repeat_each",
         "roll", "pad", "meshgrid"]
SCANS = ["cumulative_sum", "cumulative_prod"]
ORDERS = ["sort", "argsort", "searchsorted", "isin", "unique", "histogram"]
FLOATS = ["isclose", "histogram_even"]
QUANTILES = ["quantile", "quantiles", "median"]
MATRICES = ["matmul", "tensordot", "tril", "triu"]
FUNCTIONS = MOVES + SCANS + ORDERS + MATRICES + FLOATS + ["diff"]


def program(r, functions):
    function = r.choice(functions)
    dtype = r.choice(NUMBERS + (["bool", "complex<f32>"] if function in MOVES else []))
    if function in FLOATS + QUANTILES:
        dtype = r.choice(["f32", "f64"])
    values = "few" if function in FLOATS else r.choice(["few", "all"])
    if function in SCANS:
        values = "whole" if function == "cumulative_sum" else "signs"
    if function in MATRICES or function in ("diff", "dot"):
        values = "whole"
    if function in QUANTILES:
        values = r.choice(["whole", "nan"])
    one_axis = function in ("searchsorted", "meshgrid")
    ndim = 1 if one_axis else r.randint(0 if function in ("stack", "tile", "isin", "unique", "histogram") else 1, 3)
    shape = [r.choice(LENGTHS) for _ in range(ndim)]
    if function in ("tril", "triu"):
        shape = [*shape, 5][:3] if ndim == 1 else shape
    if function in QUANTILES + ["dot"]:
        shape = [max(length, 1) for length in shape]
    if function in ("matmul", "tensordot", "dot"):
        shape = [r.choice([0, 1, 2, 5, 15, 16, 17]) for _ in shape]
        shape[-1] = r.choice([shape[-1], 63, 64, 65, 130])
    elif ndim and function != "meshgrid" and r.random() < 0.3:
        shape = [min(length, 2) for length in shape]
        shape[r.randrange(ndim)] = r.choice(LONG)
    view = r.choice(["c", "c", "f", "reversed", "stepped", "offset", "broadcast"])
    if function in ("put", "put_mask") and view == "broadcast":
        view = "c"
    seed = r.randrange(1 << 32)
    x = array(dtype, values, seed, shape, view)
    parameters, results = call(r, function, x, dtype, values, seed)
    return "\t".join([function, dtype, values, str(seed), joined(shape), view, joined(parameters),
                      *(written(result) for result in results)])


def joined(items):
    return ",".join(map(str, items))


def written(result):
    names = {np.dtype(short): name for name, short in SHORT.items()}
    result = np.ascontiguousarray(result).reshape(np.shape(result))
    data = result.tobytes()
    text = data.hex() if len(data) <= 64 else f"crc{zlib.crc32(data)}"
    return f"{names[result.dtype]};{joined(result.shape)};{text}"


def main():
    r, functions = random.Random(int(sys.argv[1])), sys.argv[3:] or FUNCTIONS
    for _ in range(int(sys.argv[2])):
        print(program(r, functions))


if __name__ == "__main__":
    main()
