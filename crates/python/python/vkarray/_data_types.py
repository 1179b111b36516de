"""Element types, which are NumPy's, and the functions of the standard about them."""

from collections import namedtuple as _namedtuple
from functools import reduce as _reduce

import numpy as _np

from . import _core

_KINDS = {
    "bool": ["bool"],
    "signed integer": ["int8", "int16", "int32", "int64"],
    "unsigned integer": ["uint8", "uint16", "uint32", "uint64"],
    "real floating": ["float16", "float32", "float64"],
    "complex floating": ["complex64", "complex128"],
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]

bool = _np.dtype("bool")
int8, int16, int32, int64 = map(_np.dtype, _KINDS["signed integer"])
uint8, uint16, uint32, uint64 = map(_np.dtype, _KINDS["unsigned integer"])
float16, float32, float64 = map(_np.dtype, _KINDS["real floating"])
complex64, complex128 = map(_np.dtype, _KINDS["complex floating"])

_ALL = {bool, *map(_np.dtype, _KINDS["numeric"])}

__all__ = [
    "__array_namespace_info__", "bool", "can_cast", "complex64", "complex128", "finfo", "float16", "float32", "float64",
    "iinfo", "int8", "int16", "int32", "int64", "isdtype", "result_type", "uint8", "uint16", "uint32", "uint64",
]


def _dtype_of(value):
    return value.dtype if hasattr(value, "dtype") else _np.dtype(value)


def isdtype(dtype, kind):
    """Whether a type is of a kind (`"integral"`, `"real floating"`, …), is a type, or is one of several."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(f"{kind!r} is no kind of types; kinds are {', '.join(_KINDS)}")
        return dtype.name in _KINDS[kind]
    return dtype == kind


def result_type(*arrays_and_dtypes):
    """The common type of arrays, types and Python numbers."""
    numbers = [each for each in arrays_and_dtypes if type(each) in (type(True), int, float, complex)]
    types = [_dtype_of(each) for each in arrays_and_dtypes if type(each) not in (type(True), int, float, complex)]
    if not types:
        raise ValueError("result_type needs an array or a type")
    common = _reduce(_promote, types)
    for number in numbers:
        kinds = {type(True): 0, int: 1, float: 2, complex: 3}
        own = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}[common.kind]
        if kinds[type(number)] > own:
            wide = common == float64
            common = [bool, _core.default_types()[2], float32, complex128 if wide else complex64][kinds[type(number)]]
    return common


def _promote(a, b):
    if a == b and a in _ALL:
        return a
    common = _core.promote(a, b)
    if common is None:
        raise TypeError(f"{a} and {b} have no common type; convert one of them")
    return common


def can_cast(from_, to, /):
    """Whether operands of both types have a result of the second type."""
    own, to = _dtype_of(from_), _dtype_of(to)
    common = _core.promote(own, to)
    return common is not None and common == to  # NumPy's `float64` is equal to `None`.


_FloatLimits = _namedtuple("finfo", ["bits", "eps", "max", "min", "smallest_normal", "dtype"])


def finfo(type, /):
    """The limits of a type of floats, or of the parts of a type of complex numbers, as Python numbers."""
    info = _np.finfo(_dtype_of(type))
    limits = (float(limit) for limit in (info.eps, info.max, info.min, info.smallest_normal))
    return _FloatLimits(info.bits, *limits, info.dtype)


def iinfo(type, /):
    """The limits of a type of integers."""
    return _np.iinfo(_dtype_of(type))


class __array_namespace_info__:
    """What this implementation of the standard has."""

    def capabilities(self):
        """The optional parts that exist."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 32}

    def default_device(self):
        """The device of new arrays."""
        return _core.device_name()[0]

    def devices(self):
        """The devices that arrays can be created on now."""
        return (_core.device_name()[0],)

    def default_dtypes(self, *, device=None):
        """The types of arrays that are created without one."""
        kinds = ["real floating", "complex floating", "integral", "indexing"]
        own = _core.default_types()
        return dict(zip(kinds, [*own, own[-1]]))

    def dtypes(self, *, device=None, kind=None):
        """The types that the device computes, by their names."""
        doubles, longs = _core.device_has_doubles_and_longs()
        missing = (["float64", "complex128"] if not doubles else []) + (["int64", "uint64"] if not longs else [])
        names = [name for name in [*_KINDS["bool"], *_KINDS["numeric"]] if name not in [*missing, "float16"]]
        return {name: _np.dtype(name) for name in names if kind is None or isdtype(_np.dtype(name), kind)}
