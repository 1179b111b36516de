"""Arrays against NumPy's, on shapes without elements, of one, of primes and of many axes."""

import pickle
import threading

import numpy as np
import pytest

import vkarray as vk

SHAPES = [(), (0,), (1,), (5,), (2, 3), (3, 0, 2), (4, 1, 7), (257,), (31, 33)]
TYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "float16", "float32"]
DOUBLES, LONGS = vk._core.device_has_doubles_and_longs()
TYPES += ["int64", "uint64"] * LONGS + ["float64"] * DOUBLES
COMPLEX = ["complex64"] + ["complex128"] * DOUBLES


def host(shape, dtype, seed=0):
    numbers = np.random.default_rng(seed).integers(0, 2 if dtype == "bool" else 100, shape)
    return np.asarray(numbers).astype(dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_arrays_come_back_as_they_were(shape, dtype):
    expected = host(shape, dtype)
    array = vk.asarray(expected)
    assert (array.shape, array.dtype, array.size) == (shape, expected.dtype, expected.size)
    assert array.strides == np.ascontiguousarray(expected).reshape(shape).strides or expected.size == 0
    np.testing.assert_array_equal(array.copy_to_host(), expected)
    np.testing.assert_array_equal(np.asarray(array), expected)
    np.testing.assert_array_equal(np.from_dlpack(array), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(array)).copy_to_host(), expected)


@pytest.mark.parametrize("key", [
    np.s_[2], np.s_[-1], np.s_[1:3], np.s_[::-1], np.s_[..., 0], np.s_[:, None, ::2], np.s_[3:1], np.s_[1, ::-2, 1:],
    np.s_[-3:, ..., -1], [2, 0, -1], np.array([1, 1]), (slice(None), [3, 0]), (..., [0, 2]), ([0, 1], [1, 0]),
    ([0, 1], [1, 0], 2), (1, [2, 0]),
], ids=repr)
def test_indices_select_what_numpy_selects(key):
    expected = host((5, 4, 3), "int32")
    np.testing.assert_array_equal(vk.asarray(expected)[key].copy_to_host(), expected[key])


def test_views_share_memory_and_masks_copy():
    x = vk.zeros((4, 3))
    x[1:3, ::2] = 7
    x[-1] = np.arange(3)
    x[x == 7] = -1
    expected = np.zeros((4, 3), "float32")
    expected[1:3, ::2] = -1
    expected[-1] = np.arange(3)
    np.testing.assert_array_equal(x.copy_to_host(), expected)
    row = x[0]
    row += 5
    assert x.copy_to_host()[0].tolist() == [5, 5, 5]


@pytest.mark.parametrize("dtype", [each for each in TYPES if each not in ("bool", "float16")])
def test_operators_compute_what_numpy_computes(dtype):
    a, b = host((3, 5), dtype, 1), host((5,), dtype, 2) + np.dtype(dtype).type(1)
    x, y = vk.asarray(a), vk.asarray(b)
    for expected, found in [
        (a + b, x + y), (a - b, x - y), (a * b, x * y), (a // b, x // y), (a % b, x % y),
        (3 - b, 3 - y), (b * 2, y * 2),
        (a < b, x < y), (a == b, x == y), (-a, -x), (abs(a), abs(x)), (a**2, x**2),
        (np.maximum(a, b), vk.maximum(x, y)),
    ]:
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.copy_to_host(), expected)
    np.testing.assert_allclose((x / y).copy_to_host(), a / b, rtol=1e-6)
    x += 1
    np.testing.assert_array_equal(x.copy_to_host(), a + np.dtype(dtype).type(1))


@pytest.mark.parametrize("dtype", [each for each in TYPES if each.startswith("float")])
def test_quotients_are_rounded_down_also_of_infinities(dtype):
    parts = np.array([0.0, -0.0, 1.0, -2.5, 7.0, np.inf, -np.inf, np.nan], dtype)
    a, b = parts[:, None], parts[None, :]
    with np.errstate(all="ignore"):
        # The standard has the quotient rounded down; NumPy has Python's values where one of both is infinite.
        expected = np.where(np.isinf(a) | np.isinf(b), np.floor(a / b), a // b)
    x, y = vk.asarray(a), vk.asarray(b)
    in_place = x.broadcast_to((8, 8)).copy()
    in_place //= y
    for found in (vk.floor_divide(x, y), x // y, a // y, in_place):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.copy_to_host(), expected)
        is_number = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found.copy_to_host())[is_number], np.signbit(expected)[is_number])
    np.testing.assert_array_equal((x // 2).copy_to_host()[:5], a[:5] // 2)
    np.testing.assert_array_equal((7 // y).copy_to_host()[:, 2:5], 7 // b[:, 2:5])


def test_types_are_cast_as_they_are_promoted():
    for dtype in TYPES:
        for other in TYPES:
            own, to = np.dtype(dtype), np.dtype(other)
            try:
                common = vk.result_type(own, to)
            except TypeError:
                assert "uint64" in (dtype, other) and not vk.can_cast(own, to)
            else:
                assert vk.can_cast(own, common) and vk.can_cast(vk.zeros(1, dtype=to), common)
                assert vk.can_cast(own, to) == (common == to)
    assert not vk.can_cast(vk.int64, vk.int32) and not vk.can_cast(vk.float32, vk.int64)
    assert not vk.can_cast(vk.uint64, vk.int64) and not vk.can_cast(vk.complex64, vk.float64)


def test_arrays_of_numpy_stand_on_both_sides():
    a, x = np.arange(3, dtype="float32"), vk.ones(3)
    for found in (a + x, x + a):
        assert isinstance(found, vk.Array)
        assert found.copy_to_host().tolist() == [1, 2, 3]


@pytest.mark.parametrize("key, values", [
    ([2, 0, -1], 9), ([3, 3, 1], [[[1]], [[2]], [[3]]]), (np.s_[:, [1, 4]], [[7], [8]]), (np.s_[..., [0, 2], :], 5),
    (np.s_[1:, [[0, 1], [2, 3]], 2], np.arange(12).reshape(3, 2, 2)), (([0, 3], [1, -1]), [[1] * 7, [2] * 7]),
    (([0, 3], [1, -1], 5), [1, 2]), (([[0], [3]], [1, 2]), 4), ([], 3), (np.ones((4, 5), bool), 6),
    (np.array([True, False, True, True]), np.arange(7)), (np.arange(20).reshape(4, 5) % 3 == 0, np.arange(7)[:, None]),
    (np.arange(140).reshape(4, 5, 7) % 11 == 0, np.arange(13)), (np.zeros(4, bool), np.arange(7)),
], ids=str)
def test_places_are_written_as_by_numpy(key, values):
    a = np.arange(4 * 5 * 7, dtype="int32").reshape(4, 5, 7)
    x, flipped = vk.asarray(a), vk.asarray(a[::-1].copy())[::-1]
    a[key] = values
    for each in (x, flipped):
        each[key] = values
        np.testing.assert_array_equal(each.copy_to_host(), a)


def test_places_out_of_range_change_nothing():
    x = vk.zeros((3, 4))
    for key, error in [(([0, 3], [0, 0]), IndexError), ([-4], IndexError), (np.s_[:, [4]], IndexError)]:
        with pytest.raises(error):
            x[key] = 1
    for key in ([0, 1], np.array([True, True, False])):
        with pytest.raises(ValueError):
            x[key] = np.zeros(3)
    assert not x.any()


def test_memory_is_viewed_as_another_type():
    a = np.arange(12, dtype="float32").reshape(3, 4)
    for dtype in ["uint32", "uint8", "complex64"]:
        np.testing.assert_array_equal(vk.asarray(a).view(dtype).copy_to_host(), a.view(dtype))
    with pytest.raises(ValueError, match="last axis"):
        vk.asarray(a)[:, ::2].view("uint8")


def test_kernels_of_text_are_elementwise_reductions_and_scans():
    a, b = host((5, 7), "float32"), host((7,), "int32", 1)
    x, y = vk.asarray(a), vk.asarray(b)
    linear = vk.elementwise("a * x + f32(y)")
    assert linear.arguments == ["a", "x", "y"]
    np.testing.assert_array_equal(linear(2, x, y=y).copy_to_host(), 2 * a + b)
    parts, sign = vk.elementwise("let h = floor(x / 2.0); half = h; odd = x - 2.0 * h > 0.5")(x.T)
    np.testing.assert_array_equal(parts.copy_to_host(), a.T // 2)
    np.testing.assert_array_equal(sign.copy_to_host(), a.T % 2 > 0.5)
    norm = vk.reduction("x * x", "a + b", "sqrt(a)", "0.0")
    np.testing.assert_allclose(norm(x, axis=1).copy_to_host(), np.linalg.norm(a, axis=1), rtol=1e-6)
    assert norm(x[:, ::2], keepdims=True).shape == (1, 1)
    np.testing.assert_array_equal(vk.reduction("x", "max(a, b)", identity="-999")(y).copy_to_host(), b.max())
    running = vk.scan("max(a, b)", "-999")
    np.testing.assert_array_equal(running(y).copy_to_host(), np.maximum.accumulate(b))
    np.testing.assert_array_equal(running(y, exclusive=True).copy_to_host()[1:], np.maximum.accumulate(b)[:-1])
    np.testing.assert_array_equal(vk.scan("a + b")(vk.asarray(b)[None, :], axis=0).copy_to_host(), b[None, :])


def test_types_of_results_are_those_of_each_call():
    twice = vk.elementwise("y = x + x; is_large = y > x")
    for dtype in 2 * [each for each in TYPES if each in ("int32", "uint32", "float32", "int64", "uint64", "float64")]:
        a = host((5,), dtype)
        total, is_large = twice(vk.asarray(a))
        assert (total.dtype, is_large.dtype) == (a.dtype, np.dtype("bool"))
        np.testing.assert_array_equal(total.copy_to_host(), a + a)


@pytest.mark.parametrize("error, call", [
    (ValueError, lambda: vk.elementwise("x + nothing")(vk.ones(3))), (TypeError, lambda: vk.elementwise("x")(1, 2)),
    (ValueError, lambda: vk.elementwise("x +")(vk.ones(3))), (ValueError, lambda: vk.elementwise("x")(2.0)),
    (ValueError, lambda: vk.elementwise("x")(y=vk.ones(3))), (TypeError, lambda: vk.scan("a + b")(vk.ones(3) < 2)),
    (TypeError, lambda: vk.reduction("x", "a & b")(vk.ones(3, dtype=vk.int8) > 0)),
])
def test_mistakes_of_texts_are_errors(error, call):
    with pytest.raises(error):
        call()


@pytest.mark.parametrize("n", [1, 2, 7, 8, 60, 128])
def test_transforms_are_numpys(n):
    rng = np.random.default_rng(n)
    a = (rng.random((3, n)) + 1j * rng.random((3, n))).astype("complex64")
    for dtype, rtol in list(zip(COMPLEX, [3e-5, 1e-12])):
        x, host_x = vk.asarray(a.astype(dtype)), a.astype(dtype)
        for name in ["fft", "ifft", "fftn", "ifftn", "hfft", "irfft"]:
            for norm in ["backward", "ortho", "forward"] if n > 1 or name not in ("hfft", "irfft") else []:
                expected = getattr(np.fft, name)(host_x, norm=norm)
                found = getattr(vk.fft, name)(x, norm=norm)
                assert found.dtype == expected.dtype
                np.testing.assert_allclose(found.copy_to_host(), expected, rtol=rtol, atol=rtol * abs(expected).max())
    x = vk.asarray(a.real.copy())
    for found, expected in [
        (vk.fft.rfft(x, n=n + 3), np.fft.rfft(a.real, n=n + 3)), (vk.fft.rfftn(x), np.fft.rfftn(a.real)),
        (vk.fft.fft(x, axis=0), np.fft.fft(a.real, axis=0)), (vk.fft.fftshift(x), np.fft.fftshift(a.real)),
        (vk.fft.irfft(vk.fft.rfft(x), n=n), a.real), (vk.fft.ifftshift(x, axes=1), np.fft.ifftshift(a.real, axes=1)),
    ]:
        np.testing.assert_allclose(found.copy_to_host(), expected, atol=1e-4)


def test_products_and_norms_are_numpys():
    a, b = host((2, 3, 5), "float32"), host((2, 3, 5), "float32", 1)
    x, y = vk.asarray(a), vk.asarray(b)
    for found, expected in [
        (vk.linalg.outer(x[0, 0], y[0, 1]), np.outer(a[0, 0], b[0, 1])),
        (vk.linalg.cross(x, y, axis=1), np.cross(a, b, axis=1)),
        (vk.linalg.trace(x, offset=-1), np.trace(a, -1, 1, 2)),
        (vk.linalg.diagonal(x, offset=3), np.diagonal(a, 3, 1, 2)),
        (vk.linalg.matrix_power(x[:, :, :3], 5), np.linalg.matrix_power(a[:, :, :3], 5)),
        *((vk.linalg.vector_norm(x, axis=1, ord=p), np.linalg.norm(a, p, 1)) for p in (0, 1, 2, 3.5, np.inf, -np.inf)),
        *((vk.linalg.matrix_norm(x, ord=p), np.linalg.norm(a, p, (1, 2))) for p in ("fro", 1, -1, np.inf, -np.inf)),
    ]:
        np.testing.assert_allclose(found.copy_to_host(), expected, rtol=2e-5)


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", "exp cosh tanh cos tan arcsinh arccosh arctanh arcsin arccos arctan".split())
def test_complex_functions_at_infinities_nan_and_cuts(name, dtype):
    parts = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan]
    a = np.array([complex(re, im) for re in parts for im in parts], dtype)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(a)
    found = getattr(vk, name.replace("arc", "a"))(vk.asarray(a)).copy_to_host()
    is_nan = np.isnan(a)  # C leaves the sign of an infinite part of the result open.
    for part in ("real", "imag"):
        own, other = getattr(found, part), getattr(expected, part)
        np.testing.assert_allclose(own[~is_nan], other[~is_nan], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(abs(own[is_nan]), abs(other[is_nan]), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_the_inverse_tangents_are_right_beside_their_poles(dtype):
    tiny, small = float(np.finfo(dtype).smallest_normal), 1e-3
    for d in (tiny, 1e-30, 1e-10, small / 2, small, 2 * small, 0.1):
        a = np.array([complex(1, d), complex(1, -d), complex(-1, d), complex(1 - d, 0), complex(1 + d, d)], dtype)
        a = a[a != 1]
        for x, function, expected in [(a, vk.atanh, np.arctanh(a)), (1j * a, vk.atan, np.arctan(1j * a))]:
            found = function(vk.asarray(x.astype(dtype))).copy_to_host()
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), ()])
@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "any", "all", "mean", "var", "std"])
def test_reductions_are_numpys(name, axis):
    a = host((3, 4, 5), "float32") / 50
    found = getattr(vk, name)(vk.asarray(a), axis=axis)
    np.testing.assert_allclose(found.copy_to_host(), getattr(np, name)(a, axis=axis), rtol=1e-4, atol=1e-6)


def test_elements_are_sorted_and_found():
    a = host((7, 13), "int32")
    x = vk.asarray(a)
    np.testing.assert_array_equal(x[0].sort(-1, False).copy_to_host(), np.sort(a[0]))
    np.testing.assert_array_equal(vk.sort(x, axis=0, descending=True).copy_to_host(), -np.sort(-a, axis=0))
    np.testing.assert_array_equal(vk.argsort(x, axis=1).copy_to_host(), np.argsort(a, axis=1, kind="stable"))
    np.testing.assert_array_equal(vk.sort(x > 9).copy_to_host(), np.sort(a > 9))
    np.testing.assert_array_equal(vk.argsort(x > 9).copy_to_host(), np.argsort(a > 9, kind="stable"))
    values, counts = vk.unique_counts(x)
    expected = np.unique(a, return_counts=True)
    np.testing.assert_array_equal(values.copy_to_host(), expected[0])
    np.testing.assert_array_equal(counts.copy_to_host(), expected[1])
    np.testing.assert_array_equal(vk.cumulative_sum(x, axis=1).copy_to_host(), np.cumsum(a, axis=1))
    for found, places in zip(vk.nonzero(x > 50), np.nonzero(a > 50)):
        np.testing.assert_array_equal(found.copy_to_host(), places)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_numbers_are_unique_and_multiplied_in_turn(dtype):
    parts = np.random.default_rng(5).integers(-1, 2, (2, 11, 13))
    a = (parts[0] + 1j * parts[1]).astype(dtype)
    a[0, 0] = complex(-0.0, 1)
    unique, expected = vk.unique_all(vk.asarray(a)), np.unique(a, True, True, True)
    for found, wanted in zip(unique, expected):
        np.testing.assert_array_equal(found.copy_to_host().reshape(wanted.shape), wanted)
    assert vk.unique_values(vk.zeros(0, dtype=dtype)).size == 0
    for axis in (0, -1):
        found = vk.cumulative_prod(vk.asarray(a + 1), axis=axis).copy_to_host()
        np.testing.assert_allclose(found, np.cumprod(a + 1, axis=axis), rtol=1e-5)


def test_products_are_numpys():
    a, b = host((2, 5, 7), "float32"), host((7, 3), "float32", 1)
    np.testing.assert_allclose((vk.asarray(a) @ vk.asarray(b)).copy_to_host(), a @ b)
    np.testing.assert_allclose(vk.tensordot(vk.asarray(a), vk.asarray(b), axes=1).copy_to_host(), np.tensordot(a, b, 1))


@pytest.mark.parametrize("error, call", [
    (IndexError, lambda: vk.zeros(3)[3]),
    (IndexError, lambda: vk.zeros(3)[[0, 5]]),
    (IndexError, lambda: vk.sum(vk.zeros(3), axis=1)),
    (IndexError, lambda: vk.zeros(3)["a"]),
    (ValueError, lambda: vk.zeros(3) + vk.zeros(4)),
    (ValueError, lambda: vk.zeros(6).reshape(4, 2)),
    (ValueError, lambda: vk.zeros(-1)),
    (TypeError, lambda: vk.asarray(np.zeros(3, "datetime64[s]"))),
    (TypeError, lambda: vk.asarray([1, 2], dtype=vk.int64) + vk.asarray([1, 2], dtype=vk.uint64)),
    (TypeError, lambda: vk.asarray([1, 2]).__iadd__(0.5)),
    (TypeError, lambda: vk.asarray([1, 2]).__ifloordiv__(0.5)),
    (TypeError, lambda: vk.ones(2).__itruediv__(1j)),
    (TypeError, lambda: vk.ones(2) // "two"),
    (TypeError, lambda: vk.sort(vk.zeros(3, dtype=vk.complex64))),
    (TypeError, lambda: len(vk.zeros(()))),
    (TypeError, lambda: bool(vk.zeros(2))),
    (OverflowError, lambda: vk.zeros(3, dtype=vk.uint8) + 256),
    (MemoryError, lambda: vk.empty(1 << 50)),
], ids=lambda value: getattr(value, "__name__", None))
def test_mistakes_are_exceptions_of_python(error, call):
    with pytest.raises(error):
        call()


def test_threads_share_arrays():
    x, results = vk.arange(1000, dtype=vk.float32), []
    threads = [threading.Thread(target=lambda i=i: results.append((x * i).sum().item() / 499500 - i)) for i in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert results == [0.0] * 8


def test_dropped_arrays_give_their_memory_back():
    def free():
        vk.synchronize()
        return vk.memory_info()[0]

    for _ in range(100):
        vk.zeros(1 << 20) + 1
    before = free()
    for _ in range(2000):
        vk.zeros(1 << 20) + 1
    assert before - free() < 64 << 20


def test_default_types_are_those_that_the_device_computes():
    info = vk.__array_namespace_info__()
    integer = vk.int64 if LONGS else vk.int32
    assert info.default_dtypes() == {
        "real floating": vk.float32, "complex floating": vk.complex64, "integral": integer, "indexing": integer,
    }
    assert set(info.default_dtypes().values()) <= set(info.dtypes().values())
    small, truths = vk.asarray([3, 0, 3], dtype=vk.int16), vk.asarray([True, False, True])
    assert {
        vk.asarray(1).dtype, vk.asarray([1, 2]).dtype, vk.full(2, 7).dtype, vk.arange(3).dtype, vk.sum(small).dtype,
        vk.prod(small).dtype, vk.cumulative_sum(small).dtype, vk.argmax(small).dtype, vk.count_nonzero(small).dtype,
        vk.nonzero(small)[0].dtype, vk.argsort(small).dtype, vk.searchsorted(small, small).dtype, (truths + 1).dtype,
        vk.result_type(vk.bool, 1), *(each.dtype for each in vk.unique_all(small)[1:]),
    } == {integer}
    assert vk.mean(small).dtype == vk.linspace(0, 1, 3).dtype == vk.float32
    assert vk.sum(vk.asarray([250, 250], dtype=vk.uint8)).dtype == (vk.uint64 if LONGS else vk.uint32)


@pytest.mark.parametrize("name", ["int64"] * (not LONGS) + ["float64", "complex128"] * (not DOUBLES))
def test_types_that_the_device_does_not_compute_are_refused(name):
    for make in [
        lambda: vk.zeros(3, dtype=name), lambda: vk.empty(3, dtype=name), lambda: vk.asarray([1], dtype=name),
        lambda: vk.ones(3).astype(name), lambda: vk.arange(3, dtype=name),
    ]:
        with pytest.raises(TypeError, match=f"does not compute {name}"):
            make()


@pytest.mark.parametrize("shape, mask", [((0, 0), (0, 3)), ((0, 2), (0, 3)), ((2, 3), (0, 4)), ((0, 0), (3,))])
def test_masks_of_other_shapes_are_refused_also_without_elements(shape, mask):
    with pytest.raises(IndexError):
        vk.zeros(shape)[vk.zeros(mask, dtype=vk.bool)]
