"""Fourier transforms: the functions of the standard's extension `fft`.

A transform of 32-bit numbers whose length is a power of two is one of the library's; other lengths are convolutions
by such. The library has none of 64-bit numbers: they are multiplied by the matrix of the transform, which has at most
4,096 rows.
"""

import math as _math

import numpy as _np

from . import _core, _data_types, _functions

__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft",
    "rfftfreq", "rfftn",
]
_MOST_ROWS = 4096
_OTHER = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def _along(x, axis, part):
    """A part of an axis."""
    return x[(slice(None),) * (axis % x.ndim) + (part,)]


def _of_length(x, n, axis):
    """The array with so many elements on an axis: cut, or with zeros behind."""
    if n < 1:
        raise ValueError(f"a transform has one element or more, not {n}")
    length = x.shape[axis]
    if n <= length:
        return _along(x, axis, slice(n))
    shape = list(x.shape)
    shape[axis] = n - length
    return _functions.concat([x, _functions.zeros(shape, dtype=x.dtype)], axis=axis)


def _scale(norm, inverse, n):
    if norm not in _OTHER:
        raise ValueError(f"norm is 'backward', 'ortho' or 'forward', not {norm!r}")
    return 1 / _math.sqrt(n) if norm == "ortho" else 1 / n if (norm == "backward") == inverse else 1.0


def _transform(x, inverse, n, axis, norm):
    n = x.shape[axis] if n is None else n
    is_wide = x.dtype in (_data_types.float64, _data_types.complex128)
    if x.dtype.kind not in "fc":
        raise TypeError(f"transforms are of floats and complex numbers, not of {x.dtype}")
    x = _of_length(x, n, axis).astype(_data_types.complex128 if is_wide else _data_types.complex64)
    if not is_wide and n & (n - 1) == 0:
        return _core.fft(x, inverse, axis, norm)
    scale, sign = _scale(norm, inverse, n), 1j if inverse else -1j
    rows = _functions.moveaxis(x, axis, -1)
    if is_wide:
        if n > _MOST_ROWS:
            raise ValueError(f"64-bit numbers have transforms of at most {_MOST_ROWS} elements, not {n}")
        turns = _np.outer(_np.arange(n), _np.arange(n)) % n
        result = rows @ _functions.asarray(_np.exp(sign * 2 * _np.pi / n * turns) * scale)
    else:
        result = _chirp(rows, n, sign) * scale
    return _functions.moveaxis(result, -1, axis)


def _chirp(rows, n, sign):
    """Bluestein's transform: a convolution with a chirp, by transforms of a power of two that is long enough."""
    squares = _np.arange(n, dtype=object) ** 2 % (2 * n)
    chirp = _np.exp(sign * _np.pi / n * squares.astype(float)).astype("complex64")
    long = 1 << (2 * n - 2).bit_length()
    filter = _np.zeros(long, "complex64")
    filter[:n] = chirp.conj()
    filter[long - n + 1 :] = chirp[:0:-1].conj()
    chirp, filter = map(_functions.asarray, (chirp, _np.fft.fft(filter).astype("complex64")))
    spectrum = _core.fft(_of_length(rows * chirp, long, -1), False, -1, "backward")
    return _core.fft(spectrum * filter, True, -1, "backward")[..., :n] * chirp


def fft(x, /, *, n=None, axis=-1, norm="backward"):
    """The discrete Fourier transform along an axis."""
    return _transform(x, False, n, axis, norm)


def ifft(x, /, *, n=None, axis=-1, norm="backward"):
    """The inverse of `fft`."""
    return _transform(x, True, n, axis, norm)


def _axes(x, s, axes):
    """Axes and their lengths."""
    if axes is None:
        axes = range(x.ndim) if s is None else range(-len(s), 0)
    axes = [axis % x.ndim for axis in axes]
    return list(zip([None] * len(axes) if s is None else s, axes, strict=True))


def _transform_all(x, inverse, pairs, norm):
    for n, axis in pairs:
        x = _transform(x, inverse, n, axis, norm)
    return x


def fftn(x, /, *, s=None, axes=None, norm="backward"):
    """The transform along several axes, or along all."""
    return _transform_all(x, False, _axes(x, s, axes), norm)


def ifftn(x, /, *, s=None, axes=None, norm="backward"):
    """The inverse of `fftn`."""
    return _transform_all(x, True, _axes(x, s, axes), norm)


def rfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The transform of real numbers: the half that is not the conjugate of the other."""
    n = x.shape[axis] if n is None else n
    return _along(fft(x, n=n, axis=axis, norm=norm), axis, slice(n // 2 + 1))


def irfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The inverse of `rfft`, of `n` real numbers: of an even number unless `n` is given."""
    n = 2 * (x.shape[axis] - 1) if n is None else n
    half = _of_length(x, n // 2 + 1, axis)
    rest = _functions.flip(_along(half, axis, slice(1, (n + 1) // 2)), axis=axis)
    whole = _functions.concat([half, _functions.conj(rest)], axis=axis)
    # What has no counterpart is real in the transform of real numbers.
    return _functions.real(ifft(whole, n=n, axis=axis, norm=norm))


def rfftn(x, /, *, s=None, axes=None, norm="backward"):
    """The transform of real numbers along several axes, the last of which is halved."""
    *others, (n, last) = _axes(x, s, axes)
    return _transform_all(rfft(x, n=n, axis=last, norm=norm), False, others, norm)


def irfftn(x, /, *, s=None, axes=None, norm="backward"):
    """The inverse of `rfftn`."""
    *others, (n, last) = _axes(x, s, axes)
    return irfft(_transform_all(x, True, others, norm), n=n, axis=last, norm=norm)


def hfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The transform of numbers of which half is given, since the others are their conjugates: real numbers."""
    return irfft(_functions.conj(x), n=n, axis=axis, norm=_OTHER[norm])


def ihfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The inverse of `hfft`."""
    return _functions.conj(rfft(x, n=n, axis=axis, norm=_OTHER[norm]))


def fftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """The frequencies of the elements of a transform of `n` numbers at distances `d`."""
    return _functions.asarray(_np.fft.fftfreq(n, d), dtype=dtype or _data_types.float32, device=device)


def rfftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """The frequencies of the elements of a transform of `n` real numbers at distances `d`."""
    return _functions.asarray(_np.fft.rfftfreq(n, d), dtype=dtype or _data_types.float32, device=device)


def fftshift(x, /, *, axes=None):
    """The elements with frequency zero moved to the middle."""
    axes = [axis for _, axis in _axes(x, None, [axes] if isinstance(axes, int) else axes)]
    return _functions.roll(x, [x.shape[axis] // 2 for axis in axes], axis=axes)


def ifftshift(x, /, *, axes=None):
    """The inverse of `fftshift`."""
    axes = [axis for _, axis in _axes(x, None, [axes] if isinstance(axes, int) else axes)]
    return _functions.roll(x, [-(x.shape[axis] // 2) for axis in axes], axis=axes)
