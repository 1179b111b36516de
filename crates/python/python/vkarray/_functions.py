"""The functions of the Python array API standard, and a few of NumPy beside them.

Elementwise functions are made of tables: the library has them by the same names.
"""

import builtins as _builtins
import math as _math
from collections import namedtuple as _namedtuple

import numpy as _np

from . import _complex, _core, _data_types
from ._core import Array

_UNARY = """abs acos acosh asin asinh atan atanh bitwise_invert ceil cos cosh exp expm1 floor isfinite isinf isnan
log log1p log2 log10 logical_not negative reciprocal round sign signbit sin sinh sqrt square tan tanh trunc""".split()
_BINARY = """add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal
floor_divide greater greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor maximum minimum
multiply nextafter not_equal pow remainder subtract""".split()
# On integers these are the integers themselves.
_ROUNDING = {"ceil", "floor", "round", "trunc"}


def _unary(name):
    of_complex = _complex.FUNCTIONS.get(name)

    def function(x, /):
        if name in _ROUNDING and x.dtype.kind in "iu":
            return x
        return of_complex(x) if of_complex and x.dtype.kind == "c" else _core.compute(name, x)

    return _named(function, name, "of each element")


def _binary(name):
    kind, of_kind = OF_KIND.get(name, (None, None))

    def function(x1, x2, /):
        if kind and (common := _data_types.result_type(x1, x2)).kind == kind:
            own = (x if isinstance(x, Array) and x.dtype == common else asarray(x, dtype=common) for x in (x1, x2))
            return of_kind(*broadcast_arrays(*own))
        return _core.compute(name, x1, x2)

    return _named(function, name, "of two arrays, or of an array and a number, element by element")


_QUOTIENTS = {
    real: _core.elementwise(
        f"select({real}_floor_divide(x, y), {real}_divide(x, y), {real}_isinf(x) || {real}_isinf(y))"
    ) for real in ("f32", "f64")
}


def _floor_divide(x, y):
    """The quotient of floats, rounded down, also where one is infinite; the library's is NumPy's there."""
    if x.dtype == _data_types.float16:
        x, y = x.astype(_data_types.float32), y.astype(_data_types.float32)
        return _floor_divide(x, y).astype(_data_types.float16)
    return _QUOTIENTS[f"f{x.dtype.itemsize * 8}"](x, y)


# Functions that are computed here, by their names, and the kind of operands for which they are.
OF_KIND = {name: ("c", function) for name, function in _complex.FUNCTIONS.items()} | {
    "floor_divide": ("f", _floor_divide)
}


def _named(function, name, what):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name}` {what}, as in the array API standard."
    return function


globals().update({name: _unary(name) for name in _UNARY})
globals().update({name: _binary(name) for name in _BINARY})


def real(x, /):
    """The real part, which is a real number itself."""
    return _core.compute("real", x) if x.dtype.kind == "c" else x


def imag(x, /):
    """The imaginary part: zeros for real numbers."""
    return _core.compute("imag", x) if x.dtype.kind == "c" else zeros_like(x)


def conj(x, /):
    """The complex conjugate, which is a real number itself."""
    return _core.compute("conj", x) if x.dtype.kind == "c" else x


def positive(x, /):
    """The elements, in a copy."""
    return x.copy()


def clip(x, /, min=None, max=None):
    """The elements, at least `min` and at most `max`, in the type of `x`."""
    def bound(value):
        return value.astype(x.dtype, copy=False) if isinstance(value, Array) else value

    result = x
    if min is not None:
        result = _core.compute("maximum", result, bound(min))
    if max is not None:
        result = _core.compute("minimum", result, bound(max))
    return result.copy() if result is x else result.astype(x.dtype, copy=False)


def where(condition, x1, x2, /):
    """`x1` where the condition is true, otherwise `x2`."""
    return _core.compute("where", condition, x1, x2)


# Creation.


def _check_device(device):
    if device is not None and getattr(device, "name", device) != _core.device_name()[0]:
        raise ValueError(f"arrays are created on {_core.device_name()[0]!r}; `vk.select_device` opens another device")


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """An array of numbers, of nested sequences of them, or of whatever else NumPy makes an array of."""
    _check_device(device)
    return _core.asarray(obj, dtype, copy)


def from_dlpack(x, /, *, device=None, copy=None):
    """An array with the elements of another library's array: a copy of those in host memory, and `vk.from_cuda` of others.
    """
    _check_device(device)
    if getattr(x, "__dlpack_device__", tuple)()[:1] == (2,):  # `kDLCUDA`.
        from ._cuda import from_cuda

        if copy is False:
            raise BufferError("memory of CUDA is copied where vkarray cannot use it; `vk.from_cuda` says where")
        array = from_cuda(x)
        return array.copy() if copy else array
    return _core.asarray(x if isinstance(x, Array) else _np.from_dlpack(x), None, copy)


def empty(shape, *, dtype=None, device=None):
    """An array whose elements are not set."""
    _check_device(device)
    return _core.empty(shape, dtype or _data_types.float32, True)


def full(shape, fill_value, *, dtype=None, device=None):
    """An array of one number, or of the element of an array without axes. Without a type, its own decides."""
    _check_device(device)
    if isinstance(fill_value, Array):
        return broadcast_to(fill_value.astype(dtype or fill_value.dtype), shape).copy()
    return _core.full(shape, fill_value, dtype)


def zeros(shape, *, dtype=None, device=None):
    """An array of zeros."""
    return full(shape, False, dtype=dtype or _data_types.float32, device=device)


def ones(shape, *, dtype=None, device=None):
    """An array of ones."""
    return full(shape, True, dtype=dtype or _data_types.float32, device=device)


def empty_like(x, /, *, dtype=None, device=None):
    """An array of the shape and type of another, whose elements are not set."""
    return empty(x.shape, dtype=dtype or x.dtype, device=device)


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """An array of one number, of the shape and type of another."""
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device)


def zeros_like(x, /, *, dtype=None, device=None):
    """An array of zeros, of the shape and type of another."""
    return zeros(x.shape, dtype=dtype or x.dtype, device=device)


def ones_like(x, /, *, dtype=None, device=None):
    """An array of ones, of the shape and type of another."""
    return ones(x.shape, dtype=dtype or x.dtype, device=device)


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """Evenly spaced numbers from `start` (or 0) to before `stop`."""
    _check_device(device)
    if stop is None:
        start, stop = 0, start
    is_float = _builtins.any(isinstance(end, float) for end in (start, stop, step))
    dtype = _np.dtype(dtype or (_data_types.float32 if is_float else _core.default_types()[2]))
    if dtype.kind in "iu" and is_float:
        count = _builtins.max(_math.ceil((stop - start) / step), 0)
        return _core.asarray(_np.arange(start, stop, step, dtype=dtype)[:count], None, None)
    return _core.arange(start, stop, step, dtype)


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """`num` evenly spaced numbers from `start` to `stop`."""
    _check_device(device)
    is_complex = isinstance(start, complex) or isinstance(stop, complex)
    dtype = dtype or (_data_types.complex64 if is_complex else _data_types.float32)
    return _core.asarray(_np.linspace(start, stop, num, dtype=dtype, endpoint=endpoint), None, None)


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """A matrix with ones on a diagonal."""
    _check_device(device)
    n_cols = n_rows if n_cols is None else n_cols
    rows, columns = arange(n_rows), arange(n_cols)
    k = _builtins.max(-n_rows, _builtins.min(k, n_cols))
    return (expand_dims(rows, axis=1) + k == columns).astype(dtype or _data_types.float32)


def tril(x, /, *, k=0):
    """The matrix with zeros above a diagonal."""
    return _triangle(x, k, False)


def triu(x, /, *, k=0):
    """The matrix with zeros below a diagonal."""
    return _triangle(x, k, True)


def _triangle(x, k, upper):
    rows, columns = arange(x.shape[-2]), arange(x.shape[-1])
    distance = columns - expand_dims(rows, axis=1)
    k = _builtins.max(-x.shape[-2], _builtins.min(k, x.shape[-1]))
    return where(distance >= k if upper else distance <= k, x, zeros((), dtype=x.dtype))


def meshgrid(*arrays, indexing="xy"):
    """Coordinates of a grid, of the coordinates along each axis."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing is 'xy' or 'ij', not {indexing!r}")
    n = len(arrays)
    order = list(range(n))
    if indexing == "xy" and n > 1:
        order[:2] = [1, 0]
    shape = tuple(arrays[i].shape[0] for i in order)
    return tuple(broadcast_to(x.reshape(tuple(-1 if i == order[axis] else 1 for axis in range(n))), shape).copy()
                 for i, x in enumerate(arrays))


# Shapes.


def astype(x, dtype, /, *, copy=True, device=None):
    """A copy with elements of another type."""
    _check_device(device)
    return x.astype(dtype, copy=copy)


def reshape(x, /, shape, *, copy=None):
    """The elements in another shape."""
    result = x.reshape(shape)
    return result.copy() if copy else result


def broadcast_to(x, /, shape):
    """The array repeated along axes of length one: a view."""
    return x.broadcast_to(shape)


def broadcast_shapes(*shapes):
    """The shape that all shapes broadcast to."""
    return _np.broadcast_shapes(*shapes)


def broadcast_arrays(*arrays):
    """Views of one shape."""
    if len({x.shape for x in arrays}) == 1:
        return arrays
    shape = broadcast_shapes(*(x.shape for x in arrays))
    return tuple(x.broadcast_to(shape) for x in arrays)


def expand_dims(x, /, axis):
    """The array with new axes of length one: a view."""
    return x.expand_dims(axis)


def squeeze(x, /, axis):
    """The array without axes of length one: a view."""
    return x.squeeze(axis)


def permute_dims(x, /, axes):
    """The array with its axes in another order: a view."""
    return x.transpose(list(axes))


def matrix_transpose(x, /):
    """The array with its last two axes swapped: a view."""
    return x.mT


def moveaxis(x, source, destination, /):
    """The array with some axes at other places: a view."""
    source, destination = ([axis] if isinstance(axis, int) else list(axis) for axis in (source, destination))
    source, destination = ([_axis(axis, x.ndim) for axis in axes] for axes in (source, destination))
    order = [axis for axis in range(x.ndim) if axis not in source]
    for to, axis in sorted(zip(destination, source)):
        order.insert(to, axis)
    return x.transpose(order)


def _axis(axis, ndim):
    if not -ndim <= axis < ndim:
        raise IndexError(f"axis {axis} is out of range for {ndim} axes")
    return axis % ndim


def flip(x, /, *, axis=None):
    """The array with its elements reversed along axes: a view."""
    return x.flip(axis)


def roll(x, /, shift, *, axis=None):
    """The elements shifted along axes, where the last come round to the front."""
    if axis is None:
        return reshape(roll(reshape(x, -1), shift, axis=0), x.shape)
    shifts, axes = ([each] if isinstance(each, int) else list(each) for each in (shift, axis))
    if len(shifts) == 1:
        shifts *= len(axes)
    for one, along in zip(shifts, axes):
        x = x.roll(one, along)
    return x


def repeat(x, repeats, /, *, axis=None):
    """Each element repeated along an axis."""
    if axis is None:
        x, axis = x.reshape(-1), 0
    if isinstance(repeats, int):
        return x.repeat(repeats, axis)
    counts = _np.broadcast_to(_np.asarray(repeats), (x.shape[axis],))
    return x.take(_core.asarray(_np.repeat(_np.arange(x.shape[axis]), counts), _core.default_types()[2], None), axis)


def tile(x, repetitions, /):
    """The array repeated as a whole along each axis."""
    repetitions = tuple(repetitions)
    ndim = _builtins.max(x.ndim, len(repetitions))
    shape = (1,) * (ndim - x.ndim) + x.shape
    counts = (1,) * (ndim - len(repetitions)) + repetitions
    split = _flat([(1, n) for n in shape])
    wide = _flat(list(zip(counts, shape)))
    whole = tuple(count * n for count, n in zip(counts, shape))
    return x.reshape(split).broadcast_to(wide).reshape(whole).copy() if split else x.copy()


def _flat(pairs):
    return tuple(each for pair in pairs for each in pair)


def _common(arrays):
    dtype = _data_types.result_type(*arrays)
    return [x.astype(dtype, copy=False) for x in arrays]


def concat(arrays, /, *, axis=0):
    """The arrays one behind the other along an axis."""
    arrays = _common(arrays)
    if axis is None:
        arrays, axis = [x.reshape(-1) for x in arrays], 0
    return _core.join(arrays, axis, False)


def stack(arrays, /, *, axis=0):
    """The arrays beside each other along a new axis."""
    return _core.join(_common(arrays), axis, True)


def unstack(x, /, *, axis=0):
    """Views of the parts of an array along an axis."""
    return tuple(moveaxis(x, axis, 0))


# Reductions.


def _total(name, x, axis, dtype, keepdims):
    if dtype is not None:
        return x.astype(dtype, copy=False).reduce(name, axis, keepdims).astype(dtype, copy=False)
    return x.reduce(name, axis, keepdims)


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    """The sum over axes. Integers are added in 64 bits, of which a device without them has the lower 32."""
    return _total("sum", x, axis, dtype, keepdims)


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """The product over axes, of integers as in the sum."""
    return _total("prod", x, axis, dtype, keepdims)


def min(x, /, *, axis=None, keepdims=False):
    """The least element over axes."""
    return x.reduce("min", axis, keepdims)


def max(x, /, *, axis=None, keepdims=False):
    """The largest element over axes."""
    return x.reduce("max", axis, keepdims)


def any(x, /, *, axis=None, keepdims=False):
    """Whether an element over axes is true."""
    return x.reduce("any", axis, keepdims)


def all(x, /, *, axis=None, keepdims=False):
    """Whether all elements over axes are true."""
    return x.reduce("all", axis, keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    """The position of the least element."""
    return x.reduce("argmin", axis, keepdims)


def argmax(x, /, *, axis=None, keepdims=False):
    """The position of the largest element."""
    return x.reduce("argmax", axis, keepdims)


def count_nonzero(x, /, *, axis=None, keepdims=False):
    """The number of elements that are not zero."""
    return x.reduce("count_nonzero", axis, keepdims)


def mean(x, /, *, axis=None, keepdims=False):
    """The mean over axes."""
    return x.reduce("mean", axis, keepdims)


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The variance over axes."""
    return x.reduce("var", axis, keepdims, correction)


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The square root of the variance over axes."""
    return x.reduce("std", axis, keepdims, correction)


def _cumulative(x, axis, dtype, include_initial, product):
    if axis is None:
        if x.ndim != 1:
            raise ValueError("an axis is needed where there is not exactly one")
        axis = 0
    x = x if dtype is None else x.astype(dtype, copy=False)
    if x.dtype.kind == "c":
        result = _running_product(x, axis) if product else _core.complex(
            *(_core.compute(part, x).cumulate(axis, False) for part in ("real", "imag"))
        )
    else:
        result = x.cumulate(axis, product)
    result = result if dtype is None else result.astype(dtype, copy=False)
    if not include_initial:
        return result
    shape = list(x.shape)
    shape[axis] = 1
    return concat([full(shape, int(product), dtype=result.dtype), result], axis=axis)


def _running_product(x, axis):
    """Running products of complex numbers: each pass multiplies by products that end twice as far before."""
    x = moveaxis(x, axis, 0).copy()
    reach = 1
    while reach < x.shape[0]:
        x[reach:] = x[reach:] * x[:-reach]
        reach *= 2
    return moveaxis(x, 0, axis)


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """Running sums along an axis."""
    return _cumulative(x, axis, dtype, include_initial, False)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """Running products along an axis."""
    return _cumulative(x, axis, dtype, include_initial, True)


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    """Differences of neighbours along an axis."""
    parts = [part for part in (prepend, x, append) if part is not None]
    x = concat(parts, axis=axis) if len(parts) > 1 else x
    along = _axis(axis, x.ndim)
    before = (slice(None),) * along
    for _ in range(n):
        later, earlier = x[before + (slice(1, None),)], x[before + (slice(None, -1),)]
        x = later != earlier if x.dtype == _data_types.bool else later - earlier
    return x


# Sorting, searching, sets.


def _ordered(x):
    """The elements with an order on the device, which truths do not have."""
    return x.astype(_data_types.uint8) if x.dtype == _data_types.bool else x


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """The elements along an axis in order."""
    return _ordered(x).sort(axis, descending).astype(x.dtype, copy=False)


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """The places of the elements along an axis in order."""
    return _ordered(x).argsort(axis, descending)


def nonzero(x, /):
    """The places of the elements that are not zero, one array for each axis."""
    if x.ndim == 0:
        raise ValueError("an array without axes has no places")
    return tuple(x.nonzero())


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """Where values are to be put into a sorted array."""
    if side not in ("left", "right"):
        raise ValueError(f"side is 'left' or 'right', not {side!r}")
    x1 = x1 if sorter is None else take(x1, sorter)
    x1, x2 = _common([x1, x2 if isinstance(x2, Array) else asarray(x2, dtype=x1.dtype)])
    return _ordered(x1).searchsorted(_ordered(x2), side == "right")


def take(x, indices, /, *, axis=None):
    """The elements at places along an axis."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError("an axis is needed where there is not exactly one")
        axis = 0
    return x.take(indices, axis)


def take_along_axis(x, indices, /, *, axis=-1):
    """The elements at places along an axis, with a list of places for each row."""
    return x.take(indices, axis, True)


def _unique_complex(x):
    """The same for complex numbers, which are ordered by their real parts and then by their imaginary parts."""
    flat = x.reshape(-1)
    re, im = (where(part == 0, 0, part) for part in (real(flat), imag(flat)))
    order = argsort(im)
    order = order[argsort(re[order])]
    ordered = flat[order]
    is_new = ones(flat.shape, dtype=_data_types.bool)
    is_new[1:] = ordered[1:] != ordered[:-1]
    inverse = zeros(flat.shape, dtype=order.dtype)
    inverse[order] = cumulative_sum(is_new, dtype=order.dtype) - 1
    [starts] = nonzero(is_new)
    counts = diff(starts, append=asarray([flat.size]))
    return ordered[starts], order[starts], inverse.reshape(x.shape), counts


def _unique(x):
    if x.dtype.kind == "c":
        return _unique_complex(x)
    values, first, inverse, counts = _ordered(x).unique_all()
    return values.astype(x.dtype, copy=False), first, inverse.reshape(x.shape), counts


def unique_values(x, /):
    """The different values, ascending."""
    return _unique(x)[0]


def unique_counts(x, /):
    """The different values, and how many elements have each."""
    values, _, _, counts = _unique(x)
    return _UniqueCounts(values, counts)


def unique_inverse(x, /):
    """The different values, and for each element the place of its value."""
    values, _, inverse, _ = _unique(x)
    return _UniqueInverse(values, inverse)


def unique_all(x, /):
    """The different values, first places, places of the elements' values, and counts."""
    return _UniqueAll(*_unique(x))


def isin(x1, x2, /, *, invert=False):
    """Whether each element of the first array is one of the second's."""
    common = _data_types.result_type(x1, x2)
    x1, x2 = (x.astype(common, copy=False) if isinstance(x, Array) else asarray(x, dtype=common) for x in (x1, x2))
    values = x2.reshape(-1)
    found = any(expand_dims(x1, axis=-1) == values, axis=-1) if x2.size else zeros(x1.shape, dtype=_data_types.bool)
    return _core.compute("logical_not", found) if invert else found


_UniqueAll = _namedtuple("UniqueAll", ["values", "indices", "inverse_indices", "counts"])
_UniqueCounts = _namedtuple("UniqueCounts", ["values", "counts"])
_UniqueInverse = _namedtuple("UniqueInverse", ["values", "inverse_indices"])


# Products.


def matmul(x1, x2, /):
    """The product of matrices, or of stacks of them."""
    x1, x2 = _common([x1, x2])
    if x1.dtype.kind == "c":
        return _complex.product(lambda a, b: a._matmul(b), *((real(x), imag(x)) for x in (x1, x2)))
    return x1._matmul(x2)


def tensordot(x1, x2, /, *, axes=2):
    """The sum of products along pairs of axes."""
    x1, x2 = _common([x1, x2])
    if isinstance(axes, int):
        axes = (list(range(x1.ndim - axes, x1.ndim)), list(range(axes)))
    own, others = (list(each) for each in axes)
    if x1.dtype.kind == "c":
        parts = ((real(x), imag(x)) for x in (x1, x2))
        return _complex.product(lambda a, b: a.tensordot(b, own, others), *parts)
    return x1.tensordot(x2, own, others)


def vecdot(x1, x2, /, *, axis=-1):
    """The sum of products along an axis, with the conjugate of the first."""
    if not -_builtins.min(x1.ndim, x2.ndim) <= axis < 0:
        raise ValueError(f"axis {axis} is not among the last axes of both")
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"axis {axis} has lengths {x1.shape[axis]} and {x2.shape[axis]}")
    x1, x2 = _common([x1, x2])
    dtype, x1 = x1.dtype, conj(x1)
    x1, x2 = broadcast_arrays(moveaxis(x1, axis, -1), moveaxis(x2, axis, -1))
    return sum(x1 * x2, axis=-1, dtype=dtype)


__all__ = sorted(
    name for name, value in globals().items()
    if name[0] != "_" and callable(value) and value.__module__ == __name__
)
