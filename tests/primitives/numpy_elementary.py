#!/usr/bin/env python3
"""Elementary functions of f64: arguments, and the nearest numbers to the exact results.

    numpy_elementary.py SEED COUNT > numpy_elementary.txt

One value a line, fields separated by spaces: the function, its one or two arguments, the result; numbers as the digits of
their bits. COUNT random arguments of each function follow the special ones. Results are mpmath's, and NumPy's where these
are zero, infinite, NaN or exact. The recorded ones were made by mpmath 1.3.0 and NumPy 2.4.6 with

    numpy_elementary.py 20261122 60 | gzip -9n > numpy_elementary.txt.gz

elementary.rs reads this.
"""

import math
import random
import struct
import sys
import warnings

import mpmath
import numpy as np

warnings.simplefilter("ignore")
mpmath.mp.prec = 300  # Enough for the difference of an argument of any size from a multiple of pi.
ONE = "sqrt exp expm1 log log1p log2 log10 sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh".split()
TWO = "pow arctan2 hypot logaddexp floor_divide remainder copysign nextafter".split()
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -3.0, float("inf"), float("-inf"), float("nan"), 5e-324, -1e-310,
           2.2250738585072014e-308, 1.7976931348623157e308, -1.7976931348623157e308, 709.78, -745.13, 4194304.0, 1e22]
EXACT = {
    "expm1": mpmath.expm1, "log1p": mpmath.log1p, "log2": lambda x: mpmath.log(x, 2), "arcsin": mpmath.asin,
    "arccos": mpmath.acos, "arctan": mpmath.atan, "arcsinh": mpmath.asinh, "arccosh": mpmath.acosh,
    "arctanh": mpmath.atanh, "pow": mpmath.power, "arctan2": mpmath.atan2,
    "logaddexp": lambda x, y: max(x, y) + mpmath.log1p(mpmath.exp(-abs(x - y))),
}


def argument(rng):
    kind = rng.randrange(8)
    if kind == 0:
        return struct.unpack("<d", struct.pack("<Q", rng.getrandbits(64)))[0]
    if kind == 1:
        return float(rng.randint(-400, 400)) * float(mpmath.pi / 4)
    if kind == 2:
        return 1.0 + rng.randint(-1000, 1000) * 2.0**-52
    if kind == 3:
        return rng.choice([-1, 1]) * 2.0 ** rng.uniform(-30, 30)
    return rng.uniform(-1, 1) * [1, 2, 20, 700][kind - 4]


def c_pow(x, y):
    try:
        return math.pow(x, y)
    except (ValueError, OverflowError):  # What Python makes of NaN and infinities.
        return float(np.power(np.float64(x), np.float64(y)))


def result(name, arguments):
    """The nearest number to the exact result."""
    # NumPy's `pow` takes the square root of -inf, where the standard has infinity.
    found = c_pow(*arguments) if name == "pow" else float(getattr(np, name)(*map(np.float64, arguments)))
    is_plain = np.isfinite(arguments).all() and np.isfinite(found) and found != 0 and (name != "arctan2" or arguments[0] != 0)
    if not is_plain or name in ("floor_divide", "remainder", "copysign", "nextafter"):
        return found
    exact = EXACT[name] if name in EXACT else getattr(mpmath, name)
    return float(exact(*map(mpmath.mpf, arguments)))


def main():
    rng, count = random.Random(int(sys.argv[1])), int(sys.argv[2])
    for name in ONE + TWO:
        if name in ONE:
            cases = [(x,) for x in SPECIAL + [argument(rng) for _ in range(count)]]
        else:
            cases = [(x, y) for x in SPECIAL[:13] for y in SPECIAL[:13]]
            # Terms of a sum that cancel lose digits, in NumPy too.
            of_sum = abs if name == "logaddexp" else float
            cases += [(of_sum(argument(rng)), of_sum(argument(rng))) for _ in range(count)]
            cases += [(abs(argument(rng)), float(rng.randint(-40, 40)) / 4) for _ in range(count if name == "pow" else 0)]
        for arguments in cases:
            bits = struct.unpack(f"<{len(arguments) + 1}Q", struct.pack(f"<{len(arguments) + 1}d", *arguments, result(name, arguments)))
            print(name, *(f"{word:x}" for word in bits))


main()
