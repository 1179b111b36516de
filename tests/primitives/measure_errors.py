"""Measures the errors of elementary functions in units in the last place, on 10^6 arguments of each.

The figures of docs/conformance/array-api.md are the largest of five seeds:

    cargo build -p vkarray-checks --example apply
    python3 tests/primitives/measure_errors.py f32 1

The arguments lie over all exponents and in the ranges where the functions change their form. Results are compared with
those of NumPy's longdouble, which needs at least 64 binary digits here, as on x86. Arguments below the normal numbers are
left out, and a result there may be zero.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np

COUNT = 1_000_000
PROGRAM = os.environ.get("VKARRAY_APPLY", "target/debug/examples/apply")
WIDE = np.longdouble
assert np.finfo(WIDE).nmant >= 63, "longdouble is not longer than a double here"

real = {"f32": np.float32, "f64": np.float64}[sys.argv[1]]
random = np.random.default_rng(int(sys.argv[2]))
is_single = real is np.float32
EXP = (-87, 88) if is_single else (-708, 709)


def uniform(low, high):
    return lambda n: random.uniform(low, high, n)


def powers(low, high):
    return lambda n: np.exp(random.uniform(low, high, n))


def near_quarters(count):
    """Numbers next to multiples of pi / 4."""

    def draw(n):
        nearest = (random.integers(1, count, n) * (np.pi / 4)).astype(real)
        return nearest * (1 + random.integers(-8, 9, n) * np.finfo(real).eps)

    return draw


def all_exponents(n):
    bits = random.integers(0, 2**32, n, dtype="u4") if is_single else random.integers(0, 2**64, n, dtype="u8")
    return bits.view(real)


def mixed(*draws):
    """As many numbers of each range, and over all exponents."""
    n = COUNT // (len(draws) + 1)
    x = np.concatenate([draw(n) for draw in draws] + [all_exponents(COUNT - n * len(draws))]).astype(real)
    return np.where(np.isfinite(x) & ((np.abs(x) >= np.finfo(real).tiny) | (x == 0)), x, real(1))


def logs():
    return np.abs(mixed(uniform(0.4, 2.5), uniform(0.9, 1.1), powers(-80, 80)))


def angles():
    return mixed(uniform(-4, 4), uniform(-300, 300), near_quarters(400), near_quarters(100_000))


def hyperbolic():
    return mixed(uniform(-2, 2), uniform(-20, 20), uniform(*EXP), uniform(-0.5, 0.5))


def fractions():
    return mixed(uniform(-1, 1), uniform(-0.55, 0.55), uniform(0.45, 0.55), uniform(0.9, 1), uniform(-0.2, 0.2))


def pairs():
    return mixed(uniform(-3, 3), uniform(-1, 1)), mixed(uniform(-3, 3), uniform(-3, 3))


def sizes():
    return mixed(uniform(0, 1), uniform(0, 5), uniform(0, 100))


def logaddexp(x, y):
    x, y = np.abs(x), np.abs(y)
    return np.maximum(x, y) + np.log1p(np.exp(-np.abs(x - y)))


ONE = {
    "sqrt": (np.sqrt, lambda: mixed(uniform(0, 4))),
    "reciprocal": (lambda x: 1 / x, lambda: mixed(uniform(-4, 4))),
    "exp": (np.exp, lambda: mixed(uniform(-2, 2), uniform(*EXP))),
    "expm1": (np.expm1, lambda: mixed(uniform(-1, 1), uniform(-5, 5), uniform(-40, 88))),
    "log": (np.log, logs),
    "log1p": (np.log1p, lambda: mixed(uniform(-1, 1), uniform(-0.4, 0.6), uniform(-0.05, 0.05), powers(-10, 40))),
    "log2": (np.log2, logs),
    "log10": (np.log10, logs),
    "sin": (np.sin, angles),
    "cos": (np.cos, angles),
    "tan": (np.tan, angles),
    "arcsin": (np.arcsin, fractions),
    "arccos": (np.arccos, fractions),
    "arctan": (np.arctan, lambda: mixed(uniform(-3, 3), uniform(-0.5, 0.5), uniform(0.3, 0.5), uniform(2.3, 2.6))),
    "sinh": (np.sinh, hyperbolic),
    "cosh": (np.cosh, hyperbolic),
    "tanh": (np.tanh, hyperbolic),
    "arcsinh": (np.arcsinh, lambda: mixed(uniform(-2, 2), uniform(-1, 1), uniform(-100, 100), uniform(-1e4, 1e4))),
    "arccosh": (np.arccosh, lambda: np.abs(mixed(uniform(1, 2), uniform(1, 1.1), uniform(1, 100), uniform(1, 1e4)))),
    "arctanh": (np.arctanh, fractions),
}
TWO = {
    "divide": (np.divide, pairs),
    "pow": (np.power, lambda: (logs(), mixed(uniform(-30, 30), uniform(-120, 120), uniform(-1, 1)))),
    "arctan2": (np.arctan2, pairs),
    "hypot": (np.hypot, pairs),
    "logaddexp of sizes": (logaddexp, lambda: (sizes(), sizes())),
}


def errors(found, exact):
    """In units in the last place of the nearest number; those of special values are 0 or infinite."""
    limits = np.finfo(real)
    nearest = exact.astype(real)
    _, exponent = np.frexp(np.maximum(np.abs(nearest).astype(WIDE), limits.tiny))
    error = np.abs(found.astype(WIDE) - exact) / np.ldexp(WIDE(1), exponent - 1 - limits.nmant)
    is_flushed = (found == 0) & (np.abs(exact) < limits.tiny)
    is_same = (found == nearest) | (np.isnan(found) & np.isnan(nearest))
    is_special = ~(np.isfinite(nearest) & np.isfinite(found))
    is_beyond = np.isinf(nearest) != np.isinf(found)  # One of them is the largest number.
    error = np.where(is_special, np.where(is_same | is_beyond, 0, np.inf), error)
    return np.where(is_flushed, 0, error)


np.seterr(all="ignore")
with tempfile.TemporaryDirectory() as folder:
    for name, (function, draw) in (ONE | TWO).items():
        operands = draw() if name in TWO else (draw(),)
        path = f"{folder}/numbers"
        operands[0].tofile(f"{path}.x")
        operands[-1].tofile(f"{path}.y")
        subprocess.run([PROGRAM, f"{name},{sys.argv[1]},{path}"], check=True)
        found = np.fromfile(f"{path}.z", dtype=real)
        error = errors(found, function(*(operand.astype(WIDE) for operand in operands)))
        worst = int(np.argmax(error))
        print(f"{name}: {float(error[worst]):.2f} of {[float(operand[worst]) for operand in operands]}")
