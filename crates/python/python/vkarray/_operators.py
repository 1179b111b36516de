"""The operators and methods of `Array` that are functions of this package by another name."""

from . import _functions

_OPERATORS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}

_REDUCTIONS = ["sum", "prod", "min", "max", "any", "all", "argmin", "argmax", "mean", "var", "std"]


def _operators(name):
    """The methods of an operator: with the array on the left, on the right, and in place."""
    function = getattr(_functions, name)
    kind, _ = _functions.OF_KIND.get(name, (None, None))
    number = {"c": complex, "f": float}.get(kind)

    def is_computed_here(self, other):
        if not kind or not (hasattr(other, "dtype") or isinstance(other, (int, float, complex))):
            return False
        types = [each.dtype for each in (self, other) if hasattr(each, "dtype")]
        return isinstance(other, number) or any(dtype.kind == kind for dtype in types)

    def forward(self, other):
        return function(self, other) if is_computed_here(self, other) else self._operate(name, other, False)

    def reflected(self, other):
        return function(other, self) if is_computed_here(self, other) else self._operate(name, other, True)

    def in_place(self, other):
        if is_computed_here(self, other):
            self._assign_result(name, function(self, other))
        else:
            self._operate_in_place(name, other)
        return self

    return forward, reflected, in_place


def install(array):
    """Adds the operators and the reductions to the class."""
    for operator, name in _OPERATORS.items():
        for prefix, method in zip(("", "r", "i"), _operators(name)):
            setattr(array, f"__{prefix}{operator}__", method)
    for name in _REDUCTIONS:
        setattr(array, name, getattr(_functions, name))
    array.__matmul__ = _matmul
    array.__imatmul__ = _matmul_in_place
    array.__array_namespace__ = _namespace


def _matmul(self, other):
    return _functions.matmul(self, other) if isinstance(other, type(self)) else NotImplemented


def _matmul_in_place(self, other):
    self[...] = self @ other
    return self


def _namespace(self, /, *, api_version=None):
    import vkarray

    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
        raise ValueError(f"there is no edition {api_version!r} of the array API standard here")
    return vkarray
