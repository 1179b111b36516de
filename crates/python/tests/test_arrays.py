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


def test_arrays_of_numpy_stand_on_both_sides():
    a, x = np.arange(3, dtype="float32"), vk.ones(3)
    for found in (a + x, x + a):
        assert isinstance(found, vk.Array)
        assert found.copy_to_host().tolist() == [1, 2, 3]


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
    values, counts = vk.unique_counts(x)
    expected = np.unique(a, return_counts=True)
    np.testing.assert_array_equal(values.copy_to_host(), expected[0])
    np.testing.assert_array_equal(counts.copy_to_host(), expected[1])
    np.testing.assert_array_equal(vk.cumulative_sum(x, axis=1).copy_to_host(), np.cumsum(a, axis=1))
    for found, places in zip(vk.nonzero(x > 50), np.nonzero(a > 50)):
        np.testing.assert_array_equal(found.copy_to_host(), places)


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
    (TypeError, lambda: vk.sort(vk.zeros(3, dtype=vk.bool))),
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
