#!/usr/bin/env python3
"""Random programs of view operations, with NumPy's answer after each step.

    numpy_programs.py SEED COUNT > programs.txt

One program a line, fields separated by tabs. The first field is the base array:

    kind;itemsize;shape;strides;offset          kind C or F for packed, S for given strides

then one field a step, `operation>answer`, and last `checksum;strides of empty_like`. The answer is

    v;shape;strides;offset;flags    a view; flags is any of C and F; the offset is blank without elements
    c                               NumPy copies
    e;Name                          NumPy raises; Name is the variant of LayoutError we expect

Strides and offsets are in elements. Shapes print as `2,3`, no axes as nothing. A step that is no view leaves the
array as it was. The recorded programs were made by NumPy 2.4.6 with

    numpy_programs.py 20261121 24000 | gzip -9n > numpy_programs.txt.gz

One array in twenty has up to 32 axes, our limit. NumPy's is 64: where it goes on, RankTooLarge is expected.

The checksum is CRC-32 of the bytes of the last array in C order, over a block whose byte k is
`BLOCK[k]`. tests/numpy.rs reads this.
"""

import random
import sys
import zlib

import numpy as np

BLOCK_BYTES = 1 << 15
MAX_SIZE = 4096
MAX_NDIM = 32
DEEP = 6  # Axes from which an array is mostly of lengths one.
BEYOND = "more axes than we have"
ERRORS = [  # Part of NumPy's message, and the variant.
    (BEYOND, "RankTooLarge"),
    ("cannot reshape array of size", "ReshapeMismatch"),
    ("can only specify one unknown dimension", "RepeatedUnknown"),
    ("order 'K' is not permitted for reshaping", "OrderNotAllowed"),
    ("too many indices for array", "TooManyIndices"),
    ("single ellipsis", "RepeatedEllipsis"),
    ("slice step cannot be zero", "ZeroStep"),
    ("is out of bounds for axis", "IndexOutOfRange"),
    ("is out of bounds for array of dimension", "AxisOutOfRange"),
    ("tuple index out of range", "AxisOutOfRange"),
    ("repeated axis", "RepeatedAxis"),
    ("duplicate value in 'axis'", "RepeatedAxis"),
    ("axis1 and axis2 cannot be the same", "RepeatedAxis"),
    ("axes don't match array", "AxisCount"),
    ("arguments must have the same number of elements", "AxisCount"),
    ("cannot select an axis to squeeze out", "SqueezeLength"),
    ("could not be broadcast together", "BroadcastMismatch"),
    ("more dimensions than allowed by the axis remapping", "BroadcastMismatch"),
    ("cannot broadcast a non-scalar to a scalar", "BroadcastMismatch"),
    ("diag requires an array of at least two dimensions", "DiagonalRank"),
    ("Changing the dtype of a 0d array", "ViewZeroDim"),
    ("the last axis must be contiguous", "ViewStrided"),
    ("its size must be a divisor of", "ViewItemSize"),
    ("number sections must be larger than 0", "ZeroSplit"),
    ("integer modulo by zero", "ZeroSplit"),
    ("does not result in an equal division", "UnequalSplit"),
]


def block_bytes():
    """The block under every base array: byte k is the top byte of k times an odd constant."""
    k = np.arange(BLOCK_BYTES, dtype=np.uint32)
    return ((k * np.uint32(2654435761)) >> np.uint32(24)).astype(np.uint8)


BLOCK = block_bytes()
START = BLOCK.__array_interface__["data"][0]


def join(numbers):
    return ",".join(str(n) for n in numbers)


def dtype(itemsize):
    return np.dtype(f"V{itemsize}")


def base_array(rng):
    """A base array and its first field."""
    itemsize = rng.choice([1, 2, 4, 4, 4, 8, 8, 12])
    ndim = rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 5])
    if rng.random() < 0.05:
        shape = deep_shape(rng, rng.choice([rng.randint(DEEP, MAX_NDIM), MAX_NDIM - 1, MAX_NDIM]))
    else:
        longest = {0: 1, 1: 24, 2: 9, 3: 6, 4: 4, 5: 3}[ndim]
        shape = [rng.randint(1, longest) if rng.random() < 0.9 else rng.choice([1, 1, 2, 0]) for _ in range(ndim)]
    kind = rng.choice("CCFFSSS")
    if kind != "S":
        packed = np.empty(shape, dtype(itemsize), order=kind)
        array = np.ndarray(shape, dtype(itemsize), BLOCK, 0, strides=packed.strides)
        strides, offset = [s // itemsize for s in packed.strides], 0
    else:
        strides, offset = strided(rng, shape)
        array = np.ndarray(shape, dtype(itemsize), BLOCK, offset * itemsize, [s * itemsize for s in strides])
    return array, f"{kind};{itemsize};{join(shape)};{join(strides)};{offset}"


def deep_shape(rng, ndim):
    """Many axes, of which at most five are longer than one."""
    shape = [1] * ndim
    for axis in rng.sample(range(ndim), rng.randint(1, 5)):
        shape[axis] = rng.choice([2, 2, 2, 3, 3, 0]) if rng.random() < 0.3 else rng.choice([2, 2, 3])
    return shape


def strided(rng, shape):
    """Strides with gaps, permuted, reversed, broadcast or overlapping, and an offset that keeps them in the block."""
    axes = list(range(len(shape)))
    rng.shuffle(axes)
    strides, step = [0] * len(shape), rng.choice([1, 1, 1, 2])
    for axis in axes:
        strides[axis] = step * rng.choice([1, 1, 1, 1, -1, -1])
        step = step * max(shape[axis], 1) + rng.choice([0, 0, 0, 1, 2])
        if shape[axis] == 1 and rng.random() < 0.5:
            strides[axis] = rng.randint(-9, 9)
        elif rng.random() < 0.07:
            strides[axis] = rng.choice([0, 1, 2])
    lowest = sum(min(0, s * (n - 1)) for s, n in zip(strides, shape) if n > 0)
    return strides, rng.randint(0, 5) - lowest


def near(rng, n):
    """An index for an axis of length n: mostly in range, from either end, sometimes out of range."""
    return rng.randint(-n, n - 1) if n and rng.random() < 0.93 else rng.randint(-n - 3, n + 3)


def random_axes(rng, ndim, count):
    axes = rng.sample(range(ndim), min(count, ndim))
    axes = [a - ndim if rng.random() < 0.3 else a for a in axes]
    if rng.random() < 0.05:
        wrong = rng.choice([*axes, 0, ndim, -ndim - 1])
        axes = [*axes[1:], wrong] if rng.random() < 0.5 else [*axes, wrong]
    return axes


def index(rng, array):
    items, texts, ellipsis = [], [], rng.random() < 0.25
    count = rng.randint(0, array.ndim)
    if rng.random() < 0.02:
        count = array.ndim + 1
    at_ellipsis = rng.randint(0, count)
    for position in range(count + 1):
        if ellipsis and position == at_ellipsis:
            repeat = 2 if rng.random() < 0.02 else 1
            items += [Ellipsis] * repeat
            texts += ["..."] * repeat
        if rng.random() < 0.12:
            items.append(None)
            texts.append("new")
        if position == count:
            break
        # After an ellipsis, axes count from the end; the length only affects how often the index is in range.
        axis = position if not ellipsis or position < at_ellipsis else array.ndim - count + position
        n = array.shape[axis] if 0 <= axis < array.ndim else 1
        if rng.random() < 0.25:
            at = near(rng, n)
            items.append(at)
            texts.append(str(at))
            continue
        start, stop = (None if rng.random() < 0.5 else rng.randint(-n - 2, n + 2) for _ in range(2))
        step = rng.choice([None, 1, 1, 2, 3, -1, -1, -2, -3, 7, -7])
        if n and len(range(n)[start:stop:step]) == 0 and rng.random() < 0.85:
            start, stop = None, None  # Without elements, later steps test little.
        step = 0 if rng.random() < 0.005 else step
        items.append(slice(start, stop, step))
        texts.append(":".join("" if x is None else str(x) for x in (start, stop, step)))
    # Without an ellipsis NumPy would turn an array of no axes into a scalar, which is a copy.
    whole = items if Ellipsis in items else [*items, Ellipsis]
    return f"slice {','.join(texts)}", lambda: array[tuple(whole)]


def factors(rng, size, ndim):
    """A random shape of this size."""
    if size == 0:
        shape = [rng.randint(0, 4) for _ in range(ndim)]
        if shape:
            shape[rng.randrange(ndim)] = 0
        return shape
    shape = [1] * ndim
    divisor = 2
    while size > 1 and shape:
        while size % divisor == 0:
            shape[rng.randrange(ndim)] *= divisor
            size //= divisor
        divisor += 1
    return shape


def reshape(rng, array):
    style = rng.random()
    if style < 0.35 and array.ndim:  # Split or join neighbours, which often stays a view.
        shape = list(array.shape)
        axis = rng.randrange(array.ndim)
        if rng.random() < 0.5 and axis + 1 < array.ndim:
            shape[axis : axis + 2] = [shape[axis] * shape[axis + 1]]
        else:
            shape[axis : axis + 1] = factors(rng, shape[axis], 2)
    elif style < 0.45:
        shape = list(array.shape)
    else:
        most = MAX_NDIM + 1 if array.ndim >= DEEP and rng.random() < 0.5 else 5
        shape = factors(rng, array.size, rng.randint(0 if array.size == 1 else 1, most))
    for _ in range(rng.choice([0, 0, 0, 1])):
        shape.insert(rng.randint(0, len(shape)), 1)
    if rng.random() < 0.04:
        shape = [n + rng.choice([0, 1]) for n in shape]
    for _ in range(rng.choices([0, 1, 2], [60, 37, 3])[0]):
        if shape:
            shape[rng.randrange(len(shape))] = -1
    order = "K" if rng.random() < 0.01 else rng.choice("CCCFFA")
    return f"reshape{order} {join(shape)}", limited(len(shape), lambda: array.reshape(shape, order=order))


def ravel(rng, array):
    order = rng.choice("CFAK")
    return f"ravel{order}", lambda: array.ravel(order)


def transpose(rng, array):
    if rng.random() < 0.3:
        return "transpose *", lambda: array.transpose()
    axes = random_axes(rng, array.ndim, array.ndim)
    return f"transpose {join(axes)}", lambda: np.transpose(array, axes)


def swap_axes(rng, array):
    a, b = near(rng, array.ndim), near(rng, array.ndim)
    return f"swap_axes {a},{b}", lambda: array.swapaxes(a, b)


def move_axis(rng, array):
    count = rng.randint(0, array.ndim)
    source, target = random_axes(rng, array.ndim, count), random_axes(rng, array.ndim, count)
    return f"move_axis {join(source)}/{join(target)}", lambda: np.moveaxis(array, source, target)


def squeeze(rng, array):
    if rng.random() < 0.4:
        return "squeeze *", lambda: array.squeeze()
    ones = [a for a in range(array.ndim) if array.shape[a] == 1]
    axes = rng.sample(ones, rng.randint(0, len(ones))) if rng.random() < 0.85 else random_axes(rng, array.ndim, 2)
    return f"squeeze {join(axes)}", lambda: np.squeeze(array, tuple(axes))


def expand_dims(rng, array):
    count = rng.randint(0, 2)
    axes = random_axes(rng, array.ndim + count, count)
    return f"expand_dims {join(axes)}", limited(array.ndim + len(axes), lambda: np.expand_dims(array, tuple(axes)))


def broadcast_to(rng, array):
    longer = [2, 3, 4, 1, 1, 2, 0] if array.ndim < DEEP else [1] * 6 + [2]
    shape = [rng.choice([n, *longer]) if n == 1 else n for n in array.shape]
    shape = [rng.choice([0, 1, 1, 2, 2, 3, 3]) for _ in range(rng.choice([0, 0, 1, 2]))] + shape
    if rng.random() < 0.06 and shape:
        shape[rng.randrange(len(shape))] += 1
    if rng.random() < 0.04:
        shape = shape[1:]
    if np.prod([max(n, 1) for n in shape], dtype=int) > MAX_SIZE:
        shape = list(array.shape)
    return f"broadcast_to {join(shape)}", limited(len(shape), lambda: np.broadcast_to(array, shape))


def split(rng, array):
    axis = near(rng, array.ndim)
    n = array.shape[axis] if -array.ndim <= axis < array.ndim else 1
    if rng.random() < 0.3:
        positions = [rng.randint(-n - 1, n + 2) for _ in range(rng.randint(0, 3))]
        piece = rng.randint(0, len(positions))
        name, cut = f"split_at {join(positions)}", lambda: np.split(array, positions, axis)
    else:
        sections = 0 if rng.random() < 0.02 else rng.choice([d for d in range(1, n + 2) if n % d == 0])
        method, function = "split_equally", np.split
        if rng.random() < 0.5:
            sections = max(sections, 1) + rng.choice([0, 1, 1, 2])
        if rng.random() < 0.5:
            method, function = "array_split", np.array_split
        piece = rng.randint(0, max(sections - 1, 0))
        name, cut = f"{method} {sections}", lambda: function(array, sections, axis)
    return f"{name}/{axis}/{piece}", lambda: cut()[piece]


def view_as(rng, array):
    size = array.itemsize
    to = rng.choice([1, 2, 3, 4, 6, 8, 12, 16, 24, size, size * 2, size * 2, max(size // 2, 1), max(size // 2, 1)])
    return f"view_as {to}", lambda: array.view(dtype(to))


def diagonal(rng, array):
    if array.ndim >= 2 and rng.random() < 0.95:
        first, second = rng.sample(range(array.ndim), 2)
    else:
        first, second = rng.randint(-3, 3), rng.randint(-3, 3)
    if rng.random() < 0.2:
        first -= array.ndim
    shift = rng.choice([0, 0, 1, -1, 2, -2, 5])
    return f"diagonal {shift},{first},{second}", lambda: array.diagonal(shift, first, second)


def flip(rng, array):
    if rng.random() < 0.3 or array.ndim == 0:
        return "flip *", lambda: np.flip(array) if array.ndim else array[...]
    axes = random_axes(rng, array.ndim, rng.randint(0, array.ndim))
    return f"flip {join(axes)}", lambda: np.flip(array, tuple(axes))


OPERATIONS = [(index, 30), (reshape, 26), (ravel, 5), (transpose, 8), (swap_axes, 4), (move_axis, 3), (squeeze, 5),
              (expand_dims, 5), (broadcast_to, 7), (split, 7), (view_as, 10), (diagonal, 4), (flip, 5)]


def error_name(error):
    names = [name for part, name in ERRORS if part in str(error)]
    if not names:
        raise error
    return names[0]


def offset_bytes(array):
    return array.__array_interface__["data"][0] - START


def whole_elements(array):
    """Whether the offset and every significant stride are multiples of the element size."""
    walked = [s for s, n in zip(array.strides, array.shape) if n > 1]
    return array.size == 0 or all(n % array.itemsize == 0 for n in [*walked, offset_bytes(array)])


class TwoReasons(Exception):
    """More than one error applies, and it is not defined which one is reported."""


def limited(ndim, perform):
    """A step that NumPy allows, but that needs more axes than vkarray has."""

    def within():
        if ndim <= MAX_NDIM:
            return perform()
        try:
            perform()
        except ValueError as error:
            raise TwoReasons from error
        raise ValueError(BEYOND)

    return within


def answer(array, perform):
    """NumPy's result, and the array with which the program continues; None ends the program."""
    try:
        result = perform()
    except TwoReasons:
        return None, array
    except (ValueError, IndexError, ZeroDivisionError) as error:
        return f"e;{error_name(error)}", array
    if type(result) is not np.ndarray:
        raise TypeError(f"{type(result)} is no array")
    if result.ndim > MAX_NDIM:
        return "e;RankTooLarge", array
    if result.size and not 0 <= offset_bytes(result) < BLOCK_BYTES:
        return "c", array
    if not whole_elements(result):
        return "e;ViewMisaligned", array
    strides = [s // result.itemsize for s in result.strides]
    offset = offset_bytes(result) // result.itemsize if result.size else ""
    flags = "C" * result.flags.c_contiguous + "F" * result.flags.f_contiguous
    if any(s % result.itemsize for s in result.strides):
        return None, array  # A stride without a meaning that is not a multiple of the element size.
    return f"v;{join(result.shape)};{join(strides)};{offset};{flags}", result


def program(rng):
    array, text = base_array(rng)
    fields = [text]
    for _ in range(rng.randint(1, 6)):
        operation = rng.choices([f for f, _ in OPERATIONS], [w for _, w in OPERATIONS])[0]
        text, perform = operation(rng, array)
        told, result = answer(array, perform)
        if told is None:
            break
        array = result
        fields.append(f"{text}>{told}")
    like = [s // array.itemsize for s in np.empty_like(array).strides]
    fields.append(f"{zlib.crc32(array.tobytes()):08x};{join(like)}")
    return "\t".join(fields)


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    rng = random.Random(seed)
    for _ in range(count):
        print(program(rng))


main()
