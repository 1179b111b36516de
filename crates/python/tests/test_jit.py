"""Kernels that are Python functions. NumPy and Python compute what is expected."""

import math
import operator
import runpy

import numpy as np
import pytest

import vkarray as vk

SIZES = [0, 1, 63, 64, 65, 1009]
FACTOR = 3
COLUMN = np.arange(10, 17, dtype="int32").reshape(7, 1)
SHORT = np.array([1, 0, 3, 200], dtype="uint8")
TABLE = np.array([2, 3, 5, 7, 11], dtype="float32")


@vk.jit
def saxpy(x, y, a):
    i = vk.grid(1)
    if i < x.size:
        y[i] += a * x[i]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "float32", "float64"])
def test_saxpy_on_arrays_of_both_sides(n, dtype):
    x, y = np.arange(n).astype(dtype), np.ones(n, dtype)
    device = vk.asarray(y)
    saxpy.forall(max(n, 1))(vk.asarray(x), device, 2)
    saxpy[max(-(-n // 32), 1), 32](x, y, np.dtype(dtype).type(2))
    np.testing.assert_array_equal(y, 1 + 2 * x)
    np.testing.assert_array_equal(device.copy_to_host(), y)


def test_numbers_beside_doubles_are_doubles():
    y = np.zeros(3, "float64")
    saxpy[1, 64](np.ones(3), y, 0.1)
    assert y.tolist() == [0.1] * 3


def test_a_python_integer_takes_the_type_beside_it():
    @vk.jit
    def kernel(x, out, a):
        out[0] = x[0] > a
        out[1] = x[0] * a // 7

    x = np.array([2**31], "uint32")
    for a in (1, -1, 2**31):
        out = np.zeros(2, "int64")
        kernel[1, 1](x, out, a)
        assert out.tolist() == [2**31 > a, 2**31 * a // 7]
    assert ("uint32[:]", "int64[:]", "int32") in kernel.inspect_wgsl()


def test_views_and_streams():
    x, y = np.arange(60.0, dtype="float32").reshape(5, 12), np.zeros((5, 12), "float32")
    for key in [np.s_[:, 1], np.s_[3, ::-2], np.s_[::2, 5], np.s_[4]]:
        device, stream = vk.asarray(y), vk.Stream()
        saxpy[1, 64, stream](vk.asarray(x)[key], device[key], 2)
        expected = y.copy()
        expected[key] += 2 * x[key]
        np.testing.assert_array_equal(device.copy_to_host(), expected)


@vk.jit
def mandelbrot(out, limit):
    column, row = vk.grid(2)
    height, width = out.shape
    if row >= height or column >= width:
        return
    cr, ci = -2 + 3 * column / width, -1 + 2 * row / height
    zr = zi = 0.0
    n = 0
    while n < limit and zr * zr + zi * zi <= 4:
        zr, zi = zr * zr - zi * zi + cr, 2 * zr * zi + ci
        n += 1
    out[row, column] = n


def test_mandelbrot():
    out = np.zeros((37, 53), "int32")
    mandelbrot[(7, 5), (8, 8)](out, 40)
    row, column = np.indices(out.shape, dtype="float32")
    c = (np.float32(-2) + 3 * column / np.float32(53)) + 1j * (np.float32(-1) + 2 * row / np.float32(37))
    z, expected = np.zeros_like(c), np.zeros_like(out)
    for _ in range(40):
        inside = np.abs(z) <= 2
        expected += inside
        z[inside] = z[inside] ** 2 + c[inside]
    # Roundings decide on a few points of the border.
    assert np.count_nonzero(out != expected) < out.size // 100
    assert expected.max() == 40 and out.max() == 40


TILE = 8


@vk.jit
def transpose(x, y):
    tile = vk.shared.array((TILE, TILE + 1), vk.float32)
    i, j = vk.threadIdx.y, vk.threadIdx.x
    row, column = vk.blockIdx.y * TILE + i, vk.blockIdx.x * TILE + j
    if row < x.shape[0] and column < x.shape[1]:
        tile[i, j] = x[row, column]
    vk.syncthreads()
    row, column = vk.blockIdx.x * TILE + i, vk.blockIdx.y * TILE + j
    if row < y.shape[0] and column < y.shape[1]:
        y[row, column] = tile[j, i]


@vk.jit
def product(a, b, c):
    left, right = vk.shared.array((TILE, TILE), vk.float32), vk.shared.array((TILE, TILE), vk.float32)
    column, row = vk.grid(2)
    i, j, total = vk.threadIdx.y, vk.threadIdx.x, 0.0
    for k in range(0, a.shape[1], TILE):
        left[i, j] = a[row, k + j] if row < a.shape[0] and k + j < a.shape[1] else 0
        right[i, j] = b[k + i, column] if k + i < b.shape[0] and column < b.shape[1] else 0
        vk.syncthreads()
        for t in range(TILE):
            total += left[i, t] * right[t, j]
        vk.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


def test_tiles_in_shared_memory():
    x, y = np.random.default_rng(1).random((19, 29), "float32"), np.zeros((29, 19), "float32")
    transpose[(4, 3), (TILE, TILE)](x, y)
    np.testing.assert_array_equal(y, x.T)
    c = np.zeros((19, 19), "float32")
    product[(3, 3), (TILE, TILE)](x, y, c)
    np.testing.assert_allclose(c, x @ x.T, rtol=1e-5)


@vk.jit
def block_sums(x, out):
    part = vk.shared.array(0, vk.float32)
    i, step = vk.threadIdx.x, vk.blockDim.x // 2
    part[i] = x[vk.grid(1)] if vk.grid(1) < x.size else 0
    vk.syncthreads()
    while step > 0:
        if i < step:
            part[i] += part[i + step]
        vk.syncthreads()
        step //= 2
    if i == 0:
        out[vk.blockIdx.x] = part[0]


@pytest.mark.parametrize("n", [1, 63, 64, 65, 1009])
def test_block_reduction_in_shared_memory_of_the_launch(n):
    x, groups = np.arange(n, dtype="float32"), -(-n // 64)
    out = np.zeros(groups, "float32")
    block_sums[groups, 64, None, 64 * 4](x, out)
    np.testing.assert_array_equal(out, [x[i : i + 64].sum() for i in range(0, n, 64)])


@vk.jit
def histogram(values, bins):
    own = vk.shared.array(10, vk.int32)
    for i in range(vk.threadIdx.x, 10, vk.blockDim.x):
        own[i] = 0
    vk.syncthreads()
    for i in range(vk.grid(1), values.size, vk.gridsize(1)):
        vk.atomic.add(own, values[i], 1)
    vk.syncthreads()
    for i in range(vk.threadIdx.x, 10, vk.blockDim.x):
        vk.atomic.add(bins, i, own[i])


def test_histogram_by_atomic_operations():
    values, bins = np.random.default_rng(2).integers(0, 10, 10007).astype("int32"), np.zeros(10, "int32")
    histogram[3, 64](values, bins)
    np.testing.assert_array_equal(bins, np.bincount(values))


def test_atomic_operations_return_what_was_there():
    @vk.jit
    def kernel(x, old, v):
        old[0] = vk.atomic.sub(x, 0, v)
        old[1] = vk.atomic.max(x, 1, v)
        old[2] = vk.atomic.min(x, (2,), v)
        old[3] = vk.atomic.and_(x, 3, v)
        old[4] = vk.atomic.or_(x, 4, v)
        old[5] = vk.atomic.xor(x, -3, v)
        old[6] = vk.atomic.exch(x, 6, v)
        old[7] = vk.atomic.cas(x, 7, 107, v)
        old[7] += vk.atomic.cas(x, 7, 107, 1)

    for dtype in ["int32", "uint32"]:
        x, old = (100 + np.arange(8)).astype(dtype), np.zeros(8, dtype)
        kernel[1, 1](x, old, np.dtype(dtype).type(104))
        before = 100 + np.arange(8)
        assert old.tolist() == [*before[:7], 107 + 104]
        v = 104
        assert x.tolist() == [(100 - v) % 2**32 if dtype == "uint32" else -4, v, 102, 103 & v, 104 | v, 105 ^ v, v, v]


def test_atomic_counters_that_wrap():
    @vk.jit
    def kernel(x):
        vk.atomic.inc(x, 0, 4)
        vk.atomic.dec(x, 1, 4)

    x = np.array([3, 3], "uint32")
    kernel[1, 64](x)
    up, down = 3, 3
    for _ in range(64):
        up = 0 if up >= 4 else up + 1
        down = 4 if down == 0 or down > 4 else down - 1
    assert x.tolist() == [up, down]


def test_atomic_operations_on_floats():
    @vk.jit
    def kernel(x, out):
        part = vk.shared.array(3, vk.float32)
        if vk.threadIdx.x == 0:
            part[0], part[1], part[2] = 0, -1e30, 1e30
        vk.syncthreads()
        v = x[vk.threadIdx.x]
        vk.atomic.add(part, 0, v)
        vk.atomic.max(part, 1, v)
        vk.atomic.min(part, 2, v)
        vk.atomic.add(out, 3, v)
        vk.syncthreads()
        if vk.threadIdx.x < 3:
            out[vk.threadIdx.x] = part[vk.threadIdx.x]

    x, out = np.arange(-20, 44, dtype="float32"), np.zeros(4, "float32")
    kernel[1, 64](x, out)
    assert out.tolist() == [x.sum(), 43, -20, x.sum()]


@pytest.mark.parametrize("dtype", ["int32", "uint64", "float32", "float64"])
def test_extremes_and_sums_by_atomic_operations(dtype):
    @vk.jit
    def kernel(x, out, old):
        i = vk.grid(1)
        if i < x.size:
            vk.atomic.max(out, 0, x[i])
            vk.atomic.min(out, 1, x[i])
            vk.atomic.add(out, 2, x[i])
            old[i] = vk.atomic.compare_and_swap(out[3 + i :], 7, x[i])

    x = np.random.default_rng(3).integers(1, 1000, 211).astype(dtype)
    out = np.concatenate([[0, 2000, 0], np.resize([7, 8], x.size)]).astype(dtype)
    device, old = vk.asarray(out), vk.zeros(x.size, dtype=vk.int32)
    kernel.forall(x.size)(x, device, old)
    expected = [x.max(), x.min(), x.sum(), *np.where(out[3:] == 7, x, out[3:])]
    assert device.copy_to_host().tolist() == expected
    assert old.copy_to_host().tolist() == out[3:].tolist()


def test_extremes_with_nan():
    @vk.jit
    def kernel(x, old):
        old[0] = vk.atomic.max(x, 0, math.nan)
        old[1] = vk.atomic.min(x, 1, 5)
        old[2] = vk.atomic.nanmax(x, 2, math.nan)
        old[3] = vk.atomic.nanmin(x, 3, 5)

    for dtype in ["float32", "float64"]:
        x, old = np.array([1, np.nan, 2, np.nan], dtype), np.zeros(4, dtype)
        before = x.copy()
        kernel[1, 1](x, old)
        np.testing.assert_array_equal(old, before)
        np.testing.assert_array_equal(x, np.array([1, np.nan, 2, 5], dtype))


@pytest.mark.parametrize("key", [np.s_[::2, 1::3], np.s_[::-1], np.s_[:, -1:0:-2], np.s_[3, ::-4], np.s_[:, 3]])
def test_views_are_read_and_written_where_they_are(key):
    @vk.jit
    def scale(x, y):
        for i in range(x.shape[0]):
            if x.ndim == 1:
                y[i] = 2 * x[i] + y[-1 - i]
            else:
                for j in range(x.shape[1]):
                    y[i, j] = 2 * x[i, j] + len(y)

    a, b = np.arange(7.0 * 13, dtype="float32").reshape(7, 13), np.ones((7, 13), "float32")
    x, y = vk.asarray(a), vk.asarray(b)
    scale[1, 1](x[key], y[key])
    scale.py_func(a[key], b[key])
    np.testing.assert_array_equal(y.copy_to_host(), b)
    [types] = scale.inspect_wgsl()
    assert all(each.endswith("with gaps") for each in types)


def test_views_that_share_memory_are_copied():
    x = vk.arange(21, dtype=vk.float32)
    saxpy[1, 64](x[::2], x[1::2], 2)
    expected = np.arange(21.0)
    expected[1::2] += 2 * expected[:-1:2]
    assert x.copy_to_host().tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16"])
def test_short_integers_and_truths(dtype):
    @vk.jit
    def kernel(x, out, mask):
        part = vk.shared.array(4, vk.bool)
        i = vk.grid(1)
        part[i] = x[i] > 1
        if not part[i]:
            mask[i] = x[i] == 1
        out[i] += x[i] + SHORT[i]

    x, out, mask = np.array([0, 1, 2, 3]).astype(dtype), np.full(4, 250).astype(dtype), np.zeros(4, bool)
    device = vk.asarray(out)
    kernel[1, 4](x, out, mask)
    kernel[1, 4](x[::-1].copy()[::-1], device, mask)
    expected = np.full(4, 250).astype(dtype).astype(int) + x.astype(int) + SHORT
    np.testing.assert_array_equal(out, expected.astype(dtype))
    np.testing.assert_array_equal(device.copy_to_host(), out)
    assert mask.tolist() == (x == 1).tolist()


def test_slices_in_kernels():
    @vk.jit
    def total(part):
        result = 0
        for i in range(part.shape[0]):
            result += part[i]
        return result

    @vk.jit
    def kernel(x, out, first, last):
        rows = x[first:last]
        out[0] = total(x[first:, 1])
        out[1] = total(x[1, :last])
        out[2] = total(rows[0]) if len(rows) > 0 else -1
        out[3] = total(x[-1, first:last:2])
        out[4] = len(rows) * 100 + x[:3, 2:].size
        out[5] = total(x[-1, last:first:-2])
        out[6] = total(x[::-1, 0][1:3])

    a = np.arange(5 * 7, dtype="int32").reshape(5, 7)
    for first, last in [(1, 4), (-3, 100), (3, 2), (0, -1), (-100, 5)]:
        out = np.zeros(7, "int32")
        kernel[1, 1](a, out, first, last)
        rows = a[first:last]
        expected = [a[first:, 1].sum(), a[1, :last].sum(), rows[0].sum() if len(rows) else -1]
        expected += [a[-1, first:last:2].sum(), len(rows) * 100 + a[:3, 2:].size, a[-1, last:first:-2].sum()]
        assert out.tolist() == [*expected, a[::-1, 0][1:3].sum()]


def test_loops_over_arrays_and_tuples():
    def sums(x, y, out):
        n = 4
        own = [0.5, 1, 2.5, n]
        for i, value in enumerate(own):
            out[i] += value
        for (i, a), b in zip(enumerate(x), y):
            out[i] += a * b
        for row in out_of[::2]:
            for value in row:
                out[n] += value
        for value in x[::-1]:
            out[n + 1] = out[n + 1] * 10 + value

    out_of = np.arange(12, dtype="int32").reshape(4, 3)
    x, y = np.array([3, 1, 4, 1], "int32"), np.array([2, 7, 1], "float32")
    expected, out = np.zeros(6, "float64"), np.zeros(6, "float64")
    sums(x, y, expected)
    vk.jit(sums)[1, 1](x, y, out)
    assert out.tolist() == expected.tolist()


def test_tuples_are_arguments():
    @vk.jit
    def kernel(out, sizes, pair):
        rows, columns = sizes
        out[0] = rows * columns + pair[0]
        if pair[1]:
            out[1] = len(sizes) * 0.5

    out = np.zeros(2)
    kernel[1, 1](out, (3, np.int64(2**40)), (0.1, True))
    assert out.tolist() == [3 * 2**40 + 0.1, 1]
    assert list(kernel.inspect_wgsl()) == [("float64[:]", "(int32, int64)", "(float64, bool)")]
    with pytest.raises(TypeError, match="tuples of numbers"):
        kernel[1, 1](out, (3, out), (1, 2))


def test_a_name_that_is_assigned_once_is_a_constant():
    @vk.jit
    def kernel(out, n):
        size = 4
        own = vk.local.array((size, size // 2), vk.int32)
        if out[0] == 0:
            n = 7
        own[3, 1] = n
        out[0] = own[3, 1] + own.size + vk.int16(70000) + vk.uint8(-1)

    out = np.ones(1, "int32")
    kernel[1, 1](out, 1)
    assert out.tolist() == [1 + 8 + 70000 - 65536 + 255]


def test_functions_types_and_constants_are_arguments_of_device_functions():
    double = vk.jit(lambda value: 2 * value, device=True)

    @vk.jit
    def apply(function, update, dtype, n, x, out, twice):
        own = vk.local.array(n, dtype)
        for i in range(n):
            own[i] = function(x[i])
        if twice:
            own[0] = function(own[0])
        for i in range(n):
            update(out, i, own[i])

    @vk.jit
    def kernel(x, out):
        apply(double, vk.atomic.add, vk.int32, 3, x, out, False)
        apply(math.sqrt, vk.atomic.sub, vk.float64, 2, x, out, True)
        out[2] += operator.mul(x[1], 3)

    x, out = np.array([16.0, 4.0, 9.0]), np.zeros(3)
    kernel[1, 1](x, out)
    assert out.tolist() == [32 - 2, 8 - 2, 18 + 12]


def test_barriers_that_count():
    @vk.jit
    def kernel(out):
        i = vk.threadIdx.x
        out[0, i] = vk.syncthreads_count(i % 3 == 0)
        out[1, i] = vk.syncthreads_and(i < 63)
        out[2, i] = vk.syncthreads_and(i >= 0)
        out[3, i] = vk.syncthreads_or(i == 5)
        out[4, i] = vk.syncthreads_or(i == 64)

    out = np.zeros((5, 64), "int32")
    kernel[1, 64](out)
    assert out.tolist() == [[22] * 64, [0] * 64, [1] * 64, [1] * 64, [0] * 64]


def run(function, *columns, dtype=None):
    """A kernel's function of numbers, on each row of the columns."""
    device_function = vk.jit(function, device=True)
    columns = [np.asarray(column) for column in columns]
    out = np.zeros(columns[0].size, dtype or columns[0].dtype)
    kernels = {1: one_column, 2: two_columns}
    kernels[len(columns)](device_function)[1, out.size](*columns, out)
    return out.tolist()


def one_column(function):
    @vk.jit
    def kernel(x, out):
        i = vk.grid(1)
        out[i] = function(x[i])

    return kernel


def two_columns(function):
    @vk.jit
    def kernel(x, y, out):
        i = vk.grid(1)
        out[i] = function(x[i], y[i])

    return kernel


PAIRS = [(a, b) for a in (-7, -6, -1, 0, 1, 6, 7, 100) for b in (-7, -3, -1, 1, 2, 3, 7)]


def floor_of(a, b):
    return a // b


def modulo_of(a, b):
    return a % b


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_division_rounds_down_as_in_python(dtype):
    a, b = (np.array(column, dtype) for column in zip(*PAIRS))
    assert run(floor_of, a, b) == [x // y for x, y in PAIRS]
    assert run(modulo_of, a, b) == [x % y for x, y in PAIRS]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_division_is_exact_beside_whole_quotients(dtype):
    a = np.array([1, 1, 7, -1, 0.3, 5.5, -6, 3], dtype)
    b = np.array([0.1, 0.3, 0.7, 0.1, -0.1, 1.1, np.inf, np.inf], dtype)
    np.testing.assert_array_equal(run(floor_of, a[:6], b[:6]), a[:6] // b[:6])
    np.testing.assert_array_equal(run(modulo_of, a, b), a % b)


def test_true_division_and_powers():
    def divide(a, b):
        return a / b

    def power(a, b):
        return a**b

    def square_and_root(a):
        return a**2 - a**-1 + abs(a) ** 0.5

    a, b = np.array([7, -7, 1, 0], "int32"), np.array([2, 2, 3, 5], "int32")
    np.testing.assert_allclose(run(divide, a, b, dtype="float32"), a / b, rtol=1e-6)
    assert run(power, a, b) == (a**b).tolist()
    x, y = np.array([2, -2, -2, 9, 0, 0], "float32"), np.array([0.5, 3, -2, -0.5, 0, 2], "float32")
    np.testing.assert_allclose(run(power, x, y), x**y, rtol=1e-5)
    assert math.isnan(run(power, np.array([-2.0], "float32"), np.array([0.5], "float32"))[0])
    np.testing.assert_allclose(run(square_and_root, x[:4]), x[:4] ** 2 - 1 / x[:4] + np.abs(x[:4]) ** 0.5, rtol=1e-5)


@pytest.mark.parametrize("name", """sqrt fabs exp exp2 log log2 log10 log1p expm1 sin cos tan asin acos atan sinh cosh
tanh asinh acosh atanh degrees radians floor ceil trunc""".split())
def test_functions_of_math(name):
    if not hasattr(math, name):
        pytest.skip(f"math.{name} is newer than this Python")
    function = getattr(math, name)

    def kernel(a):
        return function(a)

    x = {"acosh": [1, 1.5, 20], "atanh": [-0.5, 0, 0.75], "log": [0.01, 1, 90]}.get(name, [0.01, 0.5, 0.75])
    if name in ("floor", "ceil", "trunc", "fabs"):
        x = [-1.5, -0.5, 0.5, 2]
    for dtype, rtol, atol in [("float32", 2e-3, 1e-6), ("float64", 1e-14, 0)]:
        expected = [function(each) for each in np.array(x, dtype).tolist()]
        np.testing.assert_allclose(run(kernel, np.array(x, dtype)), expected, rtol=rtol, atol=atol)


@pytest.mark.parametrize("name", ["atan2", "hypot", "fmod", "pow", "copysign"])
def test_functions_of_two_numbers(name):
    function = getattr(math, name)

    def kernel(a, b):
        return function(a, b)

    for dtype, rtol in [("float32", 1e-6), ("float64", 1e-14)]:
        a, b = np.array([0.5, 3, 7.25, 1e3], dtype), np.array([-2.5, 0.1, 3, -0.75], dtype)
        expected = [function(*each) for each in zip(a.tolist(), b.tolist())]
        np.testing.assert_allclose(run(kernel, a, b), expected, rtol=rtol)


def test_floats_are_classified():
    def kernel(a):
        return math.isnan(a) + 2 * math.isinf(a) + 4 * (math.isfinite(a) == (a < 1))

    x = [0.5, 2, math.inf, -math.inf, math.nan]
    for dtype in ["float32", "float64"]:
        assert run(kernel, np.array(x, dtype), dtype="int32") == [kernel(each) for each in x]


def test_functions_of_python():
    def kernel(a, b):
        return max(a, b, 1) - min(a, b) + round(a) + int(b) * abs(a) + math.atan2(a, b) + math.hypot(a, b)

    def kinds(a):
        return int(math.isnan(a)) + 2 * int(math.isinf(a)) + 4 * int(math.isfinite(a)) + 8 * bool(a)

    a, b = np.array([-2.5, 1.5, 2.5, 3], "float32"), np.array([1.7, -1.7, 0.5, 2], "float32")
    expected = [max(x, y, 1) - min(x, y) + round(x) + int(y) * abs(x) + math.atan2(x, y) + math.hypot(x, y)
                for x, y in zip(a.tolist(), b.tolist())]
    np.testing.assert_allclose(run(kernel, a, b), expected, rtol=1e-5)
    assert run(kinds, np.array([np.nan, np.inf, -np.inf, 0, 3], "float32"), dtype="int32") == [9, 10, 10, 4, 12]


def test_loops_branches_and_conditions():
    def collatz(n):
        steps = 0
        while True:
            if n == 1:
                break
            n = 3 * n + 1 if n % 2 else n // 2
            steps += 1
        return steps

    def counted(n):
        total = 0
        for i in range(n, -n, -3):
            if i % 2 == 0:
                continue
            for j in range(i):
                if j > 4:
                    break
                total += j * i
            total -= i
        return total

    n = np.arange(1, 60, dtype="int32")
    for function in (collatz, counted):
        assert run(function, n) == [function(int(each)) for each in n]


def test_chained_comparisons_and_operators_of_bits():
    def chained(a, b):
        if 0 < a <= b != 5 or not (a or b):
            return (a & b) | (a ^ 3)
        elif a > 20 and b:
            return ~a << 2
        return a >> 1

    a, b = (each.ravel().astype("int32") for each in np.meshgrid([-5, 0, 1, 4, 21], [0, 3, 5, 30]))
    assert run(chained, a, b) == [chained(int(x), int(y)) for x, y in zip(a, b)]


def test_the_loops_name_keeps_its_last_value_and_may_be_changed():
    def last(n):
        i = -1
        total = 0
        for i in range(n):
            total += i
            i = 100
        return total + i

    n = np.arange(0, 6, dtype="int32")
    assert run(last, n) == [last(int(each)) for each in n]


def test_device_functions_tuples_and_constants():
    @vk.jit(device=True)
    def both(a, b):
        return a + b, a - b

    @vk.jit
    def total(x, row):
        result = 0.0
        for j in range(x.shape[1]):
            result += x[row, j]
        return result

    @vk.jit
    def sum_of(row):
        result = 0.0
        for j in range(len(row)):
            result += row[j]
        return result

    @vk.jit
    def kernel(x, out):
        i = vk.grid(1)
        up, down = both(x[i, 0], FACTOR)
        pair = both(up, down)
        out[i, 0] = pair[0] * pair[-1]
        out[i, 1] = total(x, i)
        out[i, 2] = sum_of(x[i]) + sum_of(x[:, 1])
        out[i, 3] = TABLE[i] + vk.const.array_like(TABLE)[-1]

    x, out = np.arange(12, dtype="float32").reshape(4, 3), np.zeros((4, 4), "float32")
    kernel[1, 4](x, out)
    first = 2 * x[:, 0] * 2 * FACTOR
    expected = [first, x.sum(axis=1), x.sum(axis=1) + x[:, 1].sum(), TABLE[:4] + 11]
    np.testing.assert_array_equal(out, np.transpose(expected))


def test_all_values_of_a_tuple_are_taken_before_names_are_assigned():
    @vk.jit
    def kernel(x):
        a, b = x[0], x[1]
        a, b = (b, a + b) if FACTOR else (a, b)
        x[0], x[1] = a, b
        a, b = x[2], x[3]
        pair = a, b = b, a + b
        x[2], x[3] = a, b
        x[4] = pair[0] + 10 * pair[1]

    x = np.array([1, 2, 3, 5, 0], "float32")
    kernel[1, 1](x)
    assert x.tolist() == [2, 3, 5, 8, 85]


def test_local_arrays_go_to_device_functions():
    @vk.jit
    def reverse(values):
        for i in range(len(values) // 2):
            values[i], values[-1 - i] = values[-1 - i], values[i]

    @vk.jit
    def kernel(x):
        own = vk.local.array(5, vk.int32)
        base = 5 * vk.grid(1)
        for i in range(5):
            own[i] = x[base + i]
        reverse(own)
        for i in range(5):
            x[base + i] = own[i]

    x = np.arange(35, dtype="int32")
    kernel[1, 7](x)
    np.testing.assert_array_equal(x.reshape(7, 5), np.arange(35).reshape(7, 5)[:, ::-1])


def test_types_of_variables_are_those_of_all_their_values():
    def wide(a):
        s = 0
        for i in range(3):
            s = s + a
            s += 0.5
        return s

    x = np.array([0.1, 0.2])
    np.testing.assert_allclose(run(wide, x), [wide(each) for each in x.tolist()], rtol=1e-14)
    assert run(wide, np.array([2**40], "int64"), dtype="float32") == [3 * 2.0**40]


def test_casts():
    def cast(a):
        return vk.int32(a) + vk.uint32(2**32 - 1) // np.int64(2) + vk.float64(1) / 3

    x = np.array([-2.7, 3.9], "float32")
    expected = [int(each) + (2**32 - 1) // 2 + 1 / 3 for each in x.tolist()]
    assert run(cast, x, dtype="float64") == expected


def test_calls_happen_in_the_order_of_python_and_only_where_python_calls():
    @vk.jit
    def next_of(counter, by):
        old = vk.atomic.add(counter, 0, by)
        return old

    @vk.jit
    def kernel(counter, out):
        out[0] = counter[0] + next_of(counter, 1) * 10 + counter[0] * 100
        if out[0] < 0 and next_of(counter, 1) > 0:
            out[0] = -1
        if out[0] > 0 or next_of(counter, 1) > 0:
            out[1] = 1 if counter[0] == 1 else next_of(counter, 50)
        n = 0
        while n < 100 and next_of(counter, 1) < 4:
            n += 1
        out[2] = n
        out[3] = counter[0]
        out[next_of(counter, -1)] += next_of(counter, -1)
        i = 4
        i, out[i] = 5, i
        out[i] = -i if 0 < next_of(counter, 1) < 9 and counter[0] == 4 else i
        out[6] = 0 < counter[0] < next_of(counter, 1) < next_of(counter, 1) < next_of(counter, 1)

    counter, out = np.zeros(1, "int32"), np.zeros(7, "int32")
    kernel[1, 1](counter, out)
    assert [*out.tolist(), counter[0]] == reference()


def reference():
    """The same statements, run by Python."""
    counter, out = [0], [0] * 7

    def next_of(by):
        counter[0] += by
        return counter[0] - by

    out[0] = counter[0] + next_of(1) * 10 + counter[0] * 100
    if out[0] < 0 and next_of(1) > 0:
        out[0] = -1
    if out[0] > 0 or next_of(1) > 0:
        out[1] = 1 if counter[0] == 1 else next_of(50)
    n = 0
    while n < 100 and next_of(1) < 4:
        n += 1
    out[2] = n
    out[3] = counter[0]
    out[next_of(-1)] += next_of(-1)
    i = 4
    i, out[i] = 5, i
    out[i] = -i if 0 < next_of(1) < 9 and counter[0] == 4 else i
    out[6] = 0 < counter[0] < next_of(1) < next_of(1) < next_of(1)
    return out + [counter[0]]


def test_arrays_of_three_axes_and_indices_from_the_end():
    @vk.jit
    def kernel(x, out):
        i, j, k = vk.grid(3)
        planes, rows, columns = x.shape
        if i < planes and j < rows and k < columns:
            plane = x[-1 - i]
            out[i, j, k] = plane[j - rows, k] + x[i, :, -1][j] * x.ndim + len(x) * x.size

    x = np.arange(3 * 5 * 7, dtype="int32").reshape(3, 5, 7)
    out = np.zeros_like(x)
    kernel[(2, 3, 2), (2, 2, 4)](x, out)
    np.testing.assert_array_equal(out, x[::-1] + 3 * x[:, :, -1:] + 3 * x.size)


def test_steps_of_either_sign_and_constant_branches():
    @vk.jit
    def kernel(out, step):
        n = 0
        for i in range(5 * step, -5 * step, -step):
            out[n] = i
            n += 1
        if FACTOR == 3:
            out[n] = TABLE.shape[0]
        else:
            out[n] = "never translated"

    for step in (-3, 2):
        out = np.zeros(11, "int64")
        kernel[1, 1](out, step)
        assert out.tolist() == [*range(5 * step, -5 * step, -step), 5]


@pytest.mark.parametrize("dtype", ["uint64", "float16"])
def test_further_types(dtype):
    def twice(a):
        return a * 2 + a // 2 + max(a, 3)

    x = np.array([1, 2, 3, 60], dtype)
    if dtype == "uint64":
        x += np.uint64(2**50)
    assert run(twice, x) == [twice(each) for each in x.tolist()]


def undefined_name(x):
    x[0] = nowhere  # noqa: F821


def generator(x):
    for i in x[0]:
        x[0] = i


def text(x):
    x[0] = "one"


def result(x):
    return x[0]


def two_types(x):
    y = (1, 2)
    y = 3
    x[0] = y[0]


def float_index(x):
    x[x[0]] = 1


def too_many(x):
    x[0, 0] = 1


def raising(x):
    raise ValueError


def foreign(x):
    x[0] = math.lgamma(x[0])


def early(x):
    x[0] = later
    later = 1.0


def keywords(x):
    print(x[0])


def open_step(x):
    x[0] = x[:: x.size].size


def too_large(x):
    x[0] = 2**70 + 1


def writes_a_capture(x):
    TABLE[0] = x[0]


INFINITE = float("inf")


def whole_infinity(x):
    x[0] = math.floor(INFINITE)


def empty_loop(x):
    for i in ():
        x[0] = i


@vk.jit
def calls_itself(n):
    return calls_itself(n - 1)


def recursion(x):
    x[0] = calls_itself(3)


@pytest.mark.parametrize("function, error, line, text", [
    (undefined_name, SyntaxError, 1, "nowhere"), (generator, TypeError, 1, "range"), (text, SyntaxError, 1, "'one'"),
    (result, SyntaxError, 1, "returns nothing"), (two_types, TypeError, 2, "'y'"), (float_index, TypeError, 1, "int()"),
    (too_many, TypeError, 1, "2 indices"), (raising, SyntaxError, 1, "Raise"), (foreign, SyntaxError, 1, "lgamma"),
    (early, SyntaxError, 1, "before"), (keywords, SyntaxError, 1, "print"),
    (writes_a_capture, TypeError, 1, "captured"), (open_step, SyntaxError, 1, "constant"),
    (too_large, SyntaxError, 1, "range"), (whole_infinity, SyntaxError, 1, "infinity"),
    (empty_loop, SyntaxError, 1, "nothing"),
])
def test_what_has_no_translation_is_named_with_its_line(function, error, line, text):
    with pytest.raises(error) as caught:
        vk.jit(function)[1, 1](vk.ones(4))
    line += function.__code__.co_firstlineno
    assert text in str(caught.value)
    if error is SyntaxError:
        assert isinstance(caught.value, vk.JitSyntaxError)
        assert (caught.value.filename, caught.value.lineno) == (__file__, line) and caught.value.offset > 4
    else:
        assert isinstance(caught.value, vk.JitTypeError)
        assert str(caught.value).startswith(f"{__file__}:{line}:")


def test_a_view_keeps_its_place_when_a_name_of_its_index_changes():
    @vk.jit
    def kernel(x, out):
        i = vk.grid(1) + 2
        rest, row = x[i:], COLUMN[i]
        i += 1
        out[0], out[1], out[2] = rest[0], rest.size, row[0]

    x, out = np.arange(7, dtype="int32"), np.zeros(3, "int32")
    kernel[1, 1](x, out)
    assert out.tolist() == [2, 5, 12]


def test_a_parameter_that_is_given_a_function_is_not_assigned():
    @vk.jit
    def assigns(function):
        function = 1
        return function

    @vk.jit
    def kernel(x):
        x[0] = assigns(math.sqrt)

    with pytest.raises(vk.JitTypeError, match="assigns 'function'"):
        kernel[1, 1](vk.ones(1))


def test_a_function_that_calls_itself_is_refused():
    with pytest.raises(vk.JitSyntaxError, match="calls itself"):
        vk.jit(recursion)[1, 1](vk.ones(1))


@pytest.mark.parametrize("error, text, call", [
    (TypeError, "groups, workgroup", lambda k: k(1)), (TypeError, "3 arguments", lambda k: k[1, 1](1)),
    (TypeError, "`x`: kernels have no complex64", lambda k: k[1, 1](np.ones(1, "complex64"), vk.ones(1), 1)),
    (TypeError, "`a` is a str", lambda k: k[1, 1](vk.ones(1), vk.ones(1), "a")),
    (ValueError, "one to three", lambda k: k[1, (1, 1, 1, 1)]), (ValueError, "kernel", lambda k: k[1]),
    (TypeError, "@vk.jit", lambda k: vk.grid(1)),
])
def test_mistakes_of_launches_are_named(error, text, call):
    with pytest.raises(error, match=text):
        call(saxpy)


def test_the_sanitizer_checks_translations():
    @vk.jit(sanitize=True)
    def beyond(x):
        x[vk.grid(1) + 2] = 1

    with pytest.raises(ValueError, match="shader.wgsl"):
        beyond[1, 4](vk.zeros(4))


def test_translations_are_kept_by_types():
    @vk.jit
    def kernel(x):
        x[0] = 1

    kernel[1, 1](vk.zeros(1))
    kernel[2, 1](vk.zeros(9))
    assert list(kernel.inspect_wgsl()) == [("float32[:]",)]
    kernel[1, 1](vk.zeros((1, 1), dtype=vk.int32).reshape(1))
    assert list(kernel.inspect_wgsl()) == [("float32[:]",), ("int32[:]",)]


def test_a_stream_and_bytes_of_shared_memory_may_be_left_out():
    @vk.jit
    def kernel(x):
        x[0] += 1

    x = vk.zeros(1)
    for key in [(1, 1), (1, 1, vk.stream()), (1, 1, None, 0), (1, 1, 0)]:
        kernel[key](x)
    assert x.copy_to_host().tolist() == [4] and len(kernel._built) == 1


def test_known_numbers_of_all_widths():
    short, wide = np.int8(-5), 2**63

    @vk.jit
    def kernel(out, a):
        out[0] = short + 1
        out[1] = wide == a

    out = np.zeros(2, "int32")
    kernel[1, 1](out, 2**63)
    assert out.tolist() == [-4, 1]
    assert list(kernel.inspect_wgsl()) == [("int32[:]", "uint64")]


def test_functions_are_found_by_their_lines():
    several_lines = vk.jit(
        lambda value:
            value * 2,
        device=True,
    )

    @vk.jit(device=True)
    def last(values):
        return values[-1] if len(values) > 2 else later(values)

    @vk.jit(
        device=True,
    )
    def swapped(values):
        values[0], values[1] = values[1], values[0]
        return last(values)

    @vk.jit
    def kernel(x):
        own = vk.local.array(3, vk.float32)
        for i in range(3):
            own[i] = x[i]
        x[2] = swapped(own) + several_lines(own[0])

    x = vk.asarray(np.array([1, 10, 100], "float32"))
    kernel[1, 1](x)
    assert x.copy_to_host().tolist() == [1, 10, 120]
    if x is None:
        later = last  # `later` has no value while the kernel is translated.


def test_a_call_without_a_result_is_no_argument():
    @vk.jit
    def nothing(x):
        x[0] = 1

    @vk.jit
    def kernel(x):
        x[0] = saxpy_of(nothing(x))

    saxpy_of = vk.jit(lambda value: value, device=True)
    with pytest.raises(vk.JitTypeError, match="without a result"):
        kernel[1, 1](vk.zeros(1))


def test_another_device_gets_translations_of_its_own():
    @vk.jit
    def kernel(x):
        x[vk.grid(1)] += 1

    for _ in range(2):
        x = vk.zeros(4)
        kernel[1, 4](x)
        assert x.copy_to_host().tolist() == [1] * 4
        vk.select_device(vk.gpus[-1])


def test_the_example_of_the_decorator(tmp_path):
    # The source of a function has to be in a file.
    lines = [line.strip()[4:] for line in vk.jit.__doc__.splitlines() if line.strip()[:3] in (">>>", "...")]
    text = "\n".join(lines).replace("x.copy_to_host().tolist()", "result = x.copy_to_host()")
    (tmp_path / "example.py").write_text(text)
    names = runpy.run_path(str(tmp_path / "example.py"))
    assert names["result"].tolist() == [0, 2, 4, 6]
