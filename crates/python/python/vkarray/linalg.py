"""Products and norms of matrices: the functions of the standard's extension `linalg` that the library has."""

import math as _math

from . import _functions
from ._functions import matmul, matrix_transpose, tensordot, vecdot

__all__ = [
    "cross", "diagonal", "matmul", "matrix_norm", "matrix_power", "matrix_transpose", "outer", "tensordot", "trace",
    "vecdot", "vector_norm",
]


def outer(x1, x2, /):
    """The products of each element of one vector with each of another."""
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"outer takes vectors, not arrays of {x1.ndim} and {x2.ndim} axes")
    return _functions.multiply(x1[:, None], x2[None, :])


def cross(x1, x2, /, *, axis=-1):
    """The cross products of the vectors of three elements along an axis."""
    if not x1.shape[axis] == x2.shape[axis] == 3:
        raise ValueError(f"axis {axis} has lengths {x1.shape[axis]} and {x2.shape[axis]}, not 3")
    x1, x2 = _functions.broadcast_arrays(x1, x2)
    a, b = (_functions.unstack(x, axis=axis) for x in (x1, x2))
    parts = [_functions.multiply(a[i - 2], b[i - 1]) - _functions.multiply(a[i - 1], b[i - 2]) for i in range(3)]
    return _functions.stack(parts, axis=axis)


def diagonal(x, /, *, offset=0):
    """The diagonals of matrices, in a copy."""
    rows, columns = x.shape[-2:]
    first = (max(-offset, 0), max(offset, 0))
    n = max(min(rows - first[0], columns - first[1]), 0)
    places = _functions.arange(n) * (columns + 1) + (first[0] * columns + first[1] if n else 0)
    return _functions.reshape(x, (*x.shape[:-2], rows * columns)).take(places, x.ndim - 2)


def trace(x, /, *, offset=0, dtype=None):
    """The sums of diagonals."""
    return _functions.sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def matrix_power(x, n, /):
    """The product of `n` equal matrices. Powers below 0 would need inverses, which the library does not have."""
    if n < 0:
        raise ValueError(f"the power {n} needs an inverse, which this package does not have")
    result = _functions.eye(x.shape[-1], dtype=x.dtype).broadcast_to(x.shape) if n == 0 else None
    while n:
        if n & 1:
            result = x if result is None else result @ x
        n >>= 1
        x = x @ x if n else x
    return result.copy()


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """The norm of vectors along axes: the root `ord` of the sum of powers `ord`, or an extreme for infinity."""
    size = abs(x)
    if ord in (_math.inf, -_math.inf):
        return (_functions.max if ord > 0 else _functions.min)(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return _functions.count_nonzero(x, axis=axis, keepdims=keepdims).astype(size.dtype)
    total = _functions.sum(size if ord == 1 else size**float(ord), axis=axis, keepdims=keepdims)
    return total if ord == 1 else total ** (1 / ord)


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """The norm of matrices: Frobenius' (`"fro"`), or the extreme of sums of columns (1, -1) or rows (infinity)."""
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord not in (1, -1, _math.inf, -_math.inf):
        raise ValueError(f"the norm {ord!r} needs singular values, which this package does not have")
    sums = _functions.sum(abs(x), axis=-2 if abs(ord) == 1 else -1, keepdims=True)
    extreme = _functions.max if ord > 0 else _functions.min
    return extreme(sums, axis=(-2, -1), keepdims=keepdims)
