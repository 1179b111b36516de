"""Products, norms and decompositions of matrices: the functions of the standard's extension `linalg`.

Products and norms are computed on the device, what is in the table `_BY_LAPACK` on the host.
"""

import inspect as _inspect
import math as _math

import numpy as _np

from . import _functions
from ._core import Array as _Array
from ._functions import matmul, matrix_transpose, tensordot, vecdot


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
    """The product of `n` equal matrices, or of their inverses for a negative `n`."""
    if n < 0:
        x, n = inv(x), -n
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
    """The norm of matrices.

    Frobenius' (`"fro"`), the extreme of the sums of columns (1, -1) or of rows (infinity), or of singular values the
    largest (2), the least (-2) or the sum (`"nuc"`), which `svdvals` computes.
    """
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord not in (1, -1, 2, -2, _math.inf, -_math.inf, "nuc"):
        raise ValueError(f"there is no norm {ord!r} of matrices")
    if ord in (2, -2, "nuc"):
        terms = _functions.expand_dims(svdvals(x), axis=-1)
    else:
        terms = _functions.sum(abs(x), axis=-2 if abs(ord) == 1 else -1, keepdims=True)
    combine = _functions.sum if ord == "nuc" else _functions.max if ord > 0 else _functions.min
    return combine(terms, axis=(-2, -1), keepdims=keepdims)


# What NumPy computes on the host, by LAPACK, under the same names: what the function returns, whether the matrices have to
# be square, and its keywords with their defaults.
_BY_LAPACK = {
    "cholesky": (
        "Triangles `L`, or with `upper` `U`, of which the matrices are `L @ L.mT` or `U.mT @ U`, conjugate where they are "
        "complex. The matrices are Hermitian, of which one half is read, and positive definite.",
        True, {"upper": False}),
    "det": ("The determinants.", True, {}),
    "eig": ("The eigenvalues, and the eigenvectors as columns. All are complex.", True, {}),
    "eigh": (
        "The eigenvalues of Hermitian matrices, of which the lower half is read, ascending, and the eigenvectors as "
        "columns.", True, {}),
    "eigvals": ("The eigenvalues, which are complex.", True, {}),
    "eigvalsh": ("The eigenvalues of Hermitian matrices, of which the lower half is read, ascending.", True, {}),
    "inv": ("The inverses.", True, {}),
    "matrix_rank": (
        "How many singular values are above `rtol` times the largest. Without `rtol`, it is the larger side times the "
        "`eps` of the type.", False, {"rtol": None}),
    "pinv": (
        "The pseudo-inverses, for which singular values count as in `matrix_rank`.", False, {"rtol": None}),
    "qr": (
        "Factors `Q`, with orthonormal columns, and `R`, upper triangles. In the mode \"reduced\" `Q` has no more columns "
        "than the matrices, in the mode \"complete\" it is square.", False, {"mode": "reduced"}),
    "slogdet": ("The signs of the determinants, and the logarithms of their sizes.", True, {}),
    "solve": (
        "What `x1` is to be multiplied by for `x2`: a vector for a vector, otherwise matrices.", True, {}),
    "svd": (
        "Factors `U`, `S` and `Vh`, where `S` has the singular values, descending. `U` and `Vh` are square, unless "
        "`full_matrices` is false.", False, {"full_matrices": True}),
    "svdvals": ("The singular values, descending.", False, {}),
}
_TYPES = ("float32", "float64", "complex64", "complex128")


def _by_lapack(name, what, is_square, options):
    compute = getattr(_np.linalg, name)
    names = ["x1", "x2"] if name == "solve" else ["x"]
    parameters = [_inspect.Parameter(each, _inspect.Parameter.POSITIONAL_ONLY) for each in names]
    parameters += [
        _inspect.Parameter(each, _inspect.Parameter.KEYWORD_ONLY, default=default) for each, default in options.items()
    ]
    signature = _inspect.Signature(parameters)

    def function(*args, **kwargs):
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        arrays, x = given.args, given.args[0]
        for each in arrays:
            if not isinstance(each, _Array) or each.dtype.name not in _TYPES:
                kind = f"arrays of {each.dtype}" if isinstance(each, _Array) else type(each).__name__
                raise TypeError(f"{name} takes arrays of {', '.join(_TYPES)}, not {kind}")
        if given.kwargs.get("mode", "reduced") not in ("reduced", "complete"):
            raise ValueError(f"the mode of {name} is 'reduced' or 'complete', not {given.kwargs['mode']!r}")
        if x.ndim < 2 or is_square and x.shape[-1] != x.shape[-2]:
            raise ValueError(f"{name} takes {'square ' * is_square}matrices, not an array of shape {x.shape}")
        try:
            result = compute(*map(_on_host, arrays), **{key: _on_host(each) for key, each in given.kwargs.items()})
        except ValueError as error:  # NumPy's `LinAlgError` is one.
            shapes = " and ".join(str(each.shape) for each in arrays)
            raise type(error)(f"{name} of shape {shapes}: {error}") from None
        # NumPy gives real eigenvalues where all are real.
        dtype = _np.result_type(x.dtype, _np.complex64) if name in ("eig", "eigvals") else None
        if isinstance(result, tuple):
            return type(result)(*(x._beside(each, dtype) for each in result))
        return x._beside(result, dtype)

    function.__signature__ = signature
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{what} Waits: the host computes it."
    return function


def _on_host(value):
    return value.copy_to_host() if isinstance(value, _Array) else value


globals().update({name: _by_lapack(name, *entry) for name, entry in _BY_LAPACK.items()})

__all__ = [
    "cross", "diagonal", "matmul", "matrix_norm", "matrix_power", "matrix_transpose", "outer", "tensordot", "trace",
    "vecdot", "vector_norm", *_BY_LAPACK,
]
