"""Elementwise functions of complex numbers, which the device computes by functions of their parts."""

import math as _math

from . import _core
from ._core import compute as _of


def _parts(z):
    return _of("real", z), _of("imag", z)


def product(multiply, x, y):
    """A product that is linear in both operands, of the parts of complex arrays."""
    (a, b), (c, d) = x, y
    return _core.complex(multiply(a, c) - multiply(b, d), multiply(a, d) + multiply(b, c))


def _divide(x, y):
    """The quotient, with both parts of the divisor scaled by the larger, so that no square overflows."""
    (a, b), (c, d) = _parts(x), _parts(y)
    is_real = _of("abs", c) >= _of("abs", d)
    large, small = _of("where", is_real, c, d), _of("where", is_real, d, c)
    ratio = small / large
    divisor = large + small * ratio
    re = _of("where", is_real, a + b * ratio, a * ratio + b) / divisor
    im = _of("where", is_real, b - a * ratio, b * ratio - a) / divisor
    return _core.complex(re, im)


def _reciprocal(z):
    return _divide(z * 0 + 1, z)


def _sign(z):
    size = _of("abs", z)
    return _core.complex(*(_of("where", size == 0, 0, part / size) for part in _parts(z)))


def _round(z):
    return _core.complex(*(_of("round", part) for part in _parts(z)))


# What the limits of functions are written with: the parts `a` and `b` of the argument, and whether they are finite.
_PARTS = """let a = z.x; let b = z.y; let far = R_isinf(a) || R_isinf(b); let open = R_isinf(b) || R_isnan(b);
let zero = R(0); let inf = R_inf(); let nan = R_nan(); let half_pi = R(1.5707963267948966);"""


def _with_limits(text):
    """Corrects a function at infinities, NaN and zeros, as Annex G of C has it: `w` is its result, `r` the right one."""
    def decorate(function):
        reals = {"complex64": "f32", "complex128": "f64"}
        kernels = {kind: _core.elementwise((_PARTS + text).replace("R", real)) for kind, real in reals.items()}
        return lambda z: kernels[z.dtype.name](z=z, w=function(z))

    return decorate


@_with_limits("""let real = select(w, vec2<R>(w.x, b), b == zero);
r = select(real, vec2<R>(max(a, zero), select(nan, zero, a < zero)), R_isinf(a) && open);""")
def _exp(z):
    re, im = _parts(z)
    size = _of("exp", re)
    return _core.complex(size * _of("cos", im), size * _of("sin", im))


@_with_limits("""let real = select(w, vec2<R>(select(w.x, zero, a == zero), b), b == zero);
r = select(real, vec2<R>(max(a, R(-1)), select(nan, zero, a < zero)), R_isinf(a) && open);""")
def _expm1(z):
    re, im = _parts(z)
    half = _of("sin", im / 2)
    return _core.complex(_of("expm1", re) * _of("cos", im) - 2 * half * half, _of("exp", re) * _of("sin", im))


def _log(z):
    re, im = _parts(z)
    return _core.complex(_of("log", _of("hypot", re, im)), _of("atan2", im, re))


def _log1p(z):
    re, im = _parts(z)
    near = _of("log1p", re * (re + 2) + im * im) / 2
    far = _of("log", _of("hypot", re + 1, im))
    is_near = _of("hypot", re, im) < 0.5
    return _core.complex(_of("where", is_near, near, far), _of("atan2", im, re + 1))


def _pow(x, y):
    """The power, where 0 to the power of anything but 0 is 0."""
    return _of("where", y == 0, 1, _of("where", x == 0, 0, _exp(y * _log(x))))


def _scaled_log(base):
    factor = 1 / _math.log(base)
    return lambda z: _core.complex(*(part * factor for part in _parts(_log(z))))


def _sqrt(z):
    re, im = _parts(z)
    # A quarter of the size under the root, so that it does not overflow.
    root = _of("sqrt", (_of("hypot", re / 4, im / 4) + _of("abs", re) / 4) * 2)
    other = _of("where", root == 0, root, im / (2 * root))
    is_right = re >= 0
    return _core.complex(
        _of("where", is_right, root, _of("abs", other)), _of("where", is_right, other, _of("copysign", root, im))
    )


@_with_limits("""let real = select(w, vec2<R>(w.x, b), b == zero);
r = select(real, vec2<R>(a, nan), (a == zero || R_isinf(a)) && open);""")
def _sinh(z):
    re, im = _parts(z)
    return _core.complex(_of("sinh", re) * _of("cos", im), _of("cosh", re) * _of("sin", im))


@_with_limits("""let real = select(w, vec2<R>(w.x, select(b, -b, a < zero)), b == zero);
let imaginary = select(real, vec2<R>(nan, zero), a == zero && open);
r = select(imaginary, vec2<R>(inf, nan), R_isinf(a) && open);""")
def _cosh(z):
    re, im = _parts(z)
    return _core.complex(_of("cosh", re) * _of("cos", im), _of("sinh", re) * _of("sin", im))


@_with_limits("""let real = select(w, vec2<R>(w.x, b), b == zero);
let imaginary = select(real, vec2<R>(a, nan), a == zero && open);
let size = select(R_copysign(zero, b), zero, open);
r = select(imaginary, vec2<R>(R_copysign(R(1), a), size), R_isinf(a));""")
def _tanh(z):
    re, im = _parts(z)
    # The largest real part whose hyperbolic functions do not overflow in 32 bits; beyond 20 the result is that of 20.
    re = _of("maximum", _of("minimum", re, 20), -20)
    sinh, cos = _of("sinh", re), _of("cos", im)
    divisor = sinh * sinh + cos * cos
    return _core.complex(sinh * _of("cosh", re) / divisor, _of("sin", im) * cos / divisor)


@_with_limits("""let real = select(w, vec2<R>(w.x, b), b == zero);
r = select(real, vec2<R>(R_copysign(inf, a), R_atan2(b, abs(a))), far);""")
def _asinh(z):
    """By the roots of 1 + iz and 1 - iz, as Kahan's report on branch cuts has it."""
    left, right = _sqrt(_plus(_turned(z, 1), 1)), _sqrt(_plus(_turned(z, -1), 1))
    _, im = _parts(z)
    (a, b), (c, d) = _parts(left), _parts(right)
    return _core.complex(_of("asinh", b * c - a * d), _of("atan2", im, a * c - b * d))


@_with_limits("""let real = select(w, vec2<R>(w.x, -b), b == zero && abs(a) <= R(1));
let imaginary = select(real, vec2<R>(half_pi, nan), a == zero && R_isnan(b));
r = select(imaginary, vec2<R>(R_atan2(abs(b), a), -R_copysign(inf, b)), far);""")
def _acos(z):
    (a, b), (c, d) = _parts(_sqrt(_plus(-z, 1))), _parts(_sqrt(_plus(z, 1)))
    return _core.complex(2 * _of("atan2", a, c), _of("asinh", b * c - a * d))


@_with_limits("""let imaginary = select(w, vec2<R>(nan, half_pi), a == zero && R_isnan(b));
r = select(imaginary, vec2<R>(inf, R_copysign(R_atan2(abs(b), a), b)), far);""")
def _acosh(z):
    (a, b), (c, d) = _parts(_sqrt(_plus(z, -1))), _parts(_sqrt(_plus(z, 1)))
    return _core.complex(_of("asinh", a * c + b * d), 2 * _of("atan2", b, c))


@_with_limits("""let imaginary = select(w, vec2<R>(a, nan), a == zero && R_isnan(b));
let angle = select(R_copysign(half_pi, b), nan, R_isnan(b));
r = select(imaginary, vec2<R>(R_copysign(zero, a), angle), far);""")
def _atanh(z):
    own, im = _parts(z)
    re = _of("abs", own)
    far = _of("log1p", 4 * re / ((1 - re) * (1 - re) + im * im))
    # Near the pole the squares underflow.
    distance = _of("hypot", 1 - re, im)
    size = _of("where", distance < 0.001, _of("log", 4 * re) - 2 * _of("log", distance), far) / 4
    return _core.complex(_of("copysign", size, own), _of("atan2", 2 * im, (1 - re) * (1 + re) - im * im) / 2)


def _plus(z, number):
    """The sum with a real number, which leaves the sign of an imaginary zero."""
    re, im = _parts(z)
    return _core.complex(re + number, im)


def _turned(z, by):
    """`z` times `i` to the power of `by`, which is 1 or -1."""
    re, im = _parts(z)
    return _core.complex(-im, re) if by == 1 else _core.complex(im, -re)


def _of_turned(function):
    """`-i f(iz)`: the function of the circle of a function of the hyperbola."""
    return lambda z: _turned(function(_turned(z, 1)), -1)


FUNCTIONS = {
    "acos": _acos,
    "acosh": _acosh,
    "asin": _of_turned(_asinh),
    "asinh": _asinh,
    "atan": _of_turned(_atanh),
    "atanh": _atanh,
    "cos": lambda z: _cosh(_turned(z, 1)),
    "cosh": _cosh,
    "divide": _divide,
    "exp": _exp,
    "expm1": _expm1,
    "log": _log,
    "log10": _scaled_log(10),
    "log1p": _log1p,
    "log2": _scaled_log(2),
    "pow": _pow,
    "reciprocal": _reciprocal,
    "round": _round,
    "sign": _sign,
    "sin": _of_turned(_sinh),
    "sinh": _sinh,
    "sqrt": _sqrt,
    "tan": _of_turned(_tanh),
    "tanh": _tanh,
}
