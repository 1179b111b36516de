"""Decompositions of matrices, judged by what their factors multiply to, in stacks of odd sizes and of all types."""

import numpy as np
import pytest

import vkarray as vk

DOUBLES, _ = vk._core.device_has_doubles_and_longs()
TYPES = ["float32", "complex64"] + ["float64", "complex128"] * DOUBLES
STACKS = [(), (3,), (2, 0), (2, 3)]


def host(shape, dtype, seed=0):
    """Matrices whose parts are between -1 and 1."""
    rng = np.random.default_rng(seed)
    re, im = rng.uniform(-1, 1, (2, *shape))
    return (re + 1j * im if np.dtype(dtype).kind == "c" else re).astype(dtype)


def hermitian(shape, dtype):
    a = host(shape, dtype)
    return a + adjoint(a)


def adjoint(a):
    return a.conj().swapaxes(-1, -2)


def real_of(dtype):
    return np.zeros(0, dtype).real.dtype


def near(found, expected, dtype=None):
    """Compares elements in 64 bits, to the precision of the type."""
    found = np.asarray(found)
    assert dtype is None or found.dtype == dtype
    tolerance = 50 * np.finfo(found.dtype).eps
    np.testing.assert_allclose(found, np.broadcast_to(expected, found.shape), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("stack", STACKS)
def test_factors_of_square_matrices_multiply_to_them(stack, dtype):
    n = 5
    a = host((*stack, n, n), dtype) + 4 * np.eye(n, dtype=dtype)
    b, vector = host((*stack, n, 3), dtype, 1), host((n,), dtype, 2)
    x = vk.asarray(a)
    near(np.asarray(vk.linalg.inv(x)) @ a, np.eye(n), dtype)
    near(np.asarray(vk.linalg.matrix_power(x, -2)) @ a @ a, np.eye(n), dtype)
    near(a @ np.asarray(vk.linalg.solve(x, vk.asarray(b))), b, dtype)
    solution = np.asarray(vk.linalg.solve(x, vk.asarray(vector)))
    near((a @ solution[..., None])[..., 0], vector, dtype)
    sign, logarithm = vk.linalg.slogdet(x)
    det = np.asarray(vk.linalg.det(x))
    assert sign.shape == logarithm.shape == det.shape == stack
    # A determinant is a sum over permutations.
    near(det / 4**n, _leibniz(a.astype("complex128")) / 4**n, dtype)
    assert logarithm.dtype == real_of(dtype)
    near(np.asarray(sign) * np.exp(np.asarray(logarithm)) / det, 1, dtype)
    values, vectors = vk.linalg.eig(x)
    wide = np.result_type(dtype, "complex64")
    near(a @ np.asarray(vectors), np.asarray(vectors) * np.asarray(values)[..., None, :], wide)
    near(np.asarray(vk.linalg.eigvals(x)).sum(axis=-1), np.trace(a, axis1=-2, axis2=-1), wide)


def _leibniz(a):
    n = a.shape[-1]
    if n == 0:
        return np.ones(a.shape[:-2])
    minors = [np.delete(np.delete(a, 0, -2), column, -1) for column in range(n)]
    return sum((-1) ** column * a[..., 0, column] * _leibniz(minor) for column, minor in enumerate(minors))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("stack", STACKS)
def test_factors_of_hermitian_matrices_multiply_to_them(stack, dtype):
    n = 7
    a = hermitian((*stack, n, n), dtype)
    values, vectors = vk.linalg.eigh(vk.asarray(a))
    assert values.dtype == real_of(dtype)
    near(np.asarray(vectors) * np.asarray(values)[..., None, :] @ adjoint(np.asarray(vectors)), a, dtype)
    near(vk.linalg.eigvalsh(vk.asarray(a)), values, real_of(dtype))
    positive = a @ adjoint(a) + np.eye(n, dtype=dtype)
    lower, upper = (np.asarray(vk.linalg.cholesky(vk.asarray(positive), upper=upper)) for upper in (False, True))
    np.testing.assert_array_equal(np.triu(lower, 1), 0)
    np.testing.assert_array_equal(np.tril(upper, -1), 0)
    near(lower @ adjoint(lower), positive, dtype)
    near(adjoint(upper) @ upper, positive, dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (2, 7, 1), (3, 0, 4, 4)])
def test_factors_of_all_matrices_multiply_to_them(shape, dtype):
    a = host(shape, dtype)
    x, k = vk.asarray(a), min(shape[-2:])
    for full in (True, False):
        u, s, vh = map(np.asarray, vk.linalg.svd(x, full_matrices=full))
        assert u.shape[-1] == (shape[-2] if full else k) and vh.shape[-2] == (shape[-1] if full else k)
        near(u[..., :k] * s[..., None, :] @ vh[..., :k, :], a, dtype)
        assert s.dtype == real_of(dtype) and (np.diff(s) <= 0).all()
        near(vk.linalg.svdvals(x), s)
        q, r = map(np.asarray, vk.linalg.qr(x, mode="complete" if full else "reduced"))
        assert q.shape[-1] == (shape[-2] if full else k)
        near(q @ r, a, dtype)
        near(adjoint(q) @ q, np.eye(q.shape[-1]), dtype)
    for order, expected in [(2, s[..., :1].sum(-1)), (-2, s[..., -1:].sum(-1)), ("nuc", s.sum(-1))]:
        near(vk.linalg.matrix_norm(x, ord=order), expected, real_of(dtype))
        assert vk.linalg.matrix_norm(x, ord=order, keepdims=True).shape == (*shape[:-2], 1, 1)
    near(a @ np.asarray(vk.linalg.pinv(x)) @ a, a, dtype)


def test_ranks_count_singular_values():
    a = np.diag([4.0, 2.0, 1.0, 0.0, 0.0]).astype("float32")[:, :4]
    x = vk.asarray(np.stack([a, a.T[:, ::-1].T, 0 * a]))
    ranks = vk.linalg.matrix_rank(x)
    assert (ranks.dtype, ranks.copy_to_host().tolist()) == (vk.int64, [3, 3, 0])
    assert vk.linalg.matrix_rank(x, rtol=0.3).copy_to_host().tolist() == [2, 2, 0]
    each = vk.asarray([0.3, 0.6, 0.0])
    assert vk.linalg.matrix_rank(x, rtol=each).copy_to_host().tolist() == [2, 1, 0]
    near(vk.linalg.pinv(x[0], rtol=0.3), np.diag([0.25, 0.5, 0, 0, 0])[:4])


def test_views_and_types_of_results():
    a = host((4, 6, 6), "float32") + 3 * np.eye(6, dtype="float32")
    x = vk.asarray(a)
    near(np.asarray(vk.linalg.inv(x[1::2, ::-1, :].mT)) @ a[1::2, ::-1].swapaxes(1, 2), np.eye(6))
    assert vk.linalg.eig(vk.eye(3))._fields == ("eigenvalues", "eigenvectors")
    assert vk.linalg.eigvals(vk.eye(3)).dtype == vk.complex64
    assert [vk.linalg.qr(x)._fields, vk.linalg.svd(x)._fields] == [("Q", "R"), ("U", "S", "Vh")]


def test_errors_name_function_and_shape():
    x = vk.zeros((3, 4, 5))
    with pytest.raises(ValueError, match=r"inv takes square matrices, not an array of shape \(3, 4, 5\)"):
        vk.linalg.inv(x)
    with pytest.raises(ValueError, match=r"svd takes matrices, not an array of shape \(5,\)"):
        vk.linalg.svd(vk.zeros(5))
    with pytest.raises(np.linalg.LinAlgError, match=r"inv of shape \(2, 2\): Singular"):
        vk.linalg.inv(vk.zeros((2, 2)))
    with pytest.raises(ValueError, match=r"solve of shape \(2, 2\) and \(3, 1\)"):
        vk.linalg.solve(vk.eye(2), vk.ones((3, 1)))
    with pytest.raises(TypeError, match="det takes arrays of float32, .* not arrays of int(32|64)"):
        vk.linalg.det(vk.asarray([[1, 2], [3, 4]]))
    with pytest.raises(TypeError, match="det takes arrays of float32, .* not ndarray"):
        vk.linalg.det(np.eye(2))
    with pytest.raises(ValueError, match="'raw'"):
        vk.linalg.qr(vk.eye(2), mode="raw")
    with pytest.raises(ValueError, match="'inf'"):
        vk.linalg.matrix_norm(vk.eye(2), ord="inf")
    with pytest.raises(TypeError, match="upside"):
        vk.linalg.cholesky(vk.eye(2), upside=True)
