"""`@vk.jit`: kernels of Python functions, kept by the types of their arguments, and their launches."""

from dataclasses import replace
from functools import update_wrapper

import numpy as np

from .. import _core
from .._functions import asarray, zeros
from . import types
from .program import Argument, Launched, translate
from .source import Source
from .types import F64, FLOAT, I32, INT, Tuple


class Jit:
    """A Python function that is translated for the device when it is called. `vk.jit` makes it.

    `kernel[groups, workgroup](x, y, 2.0)` runs it with these numbers of workgroups, each of these numbers of
    invocations; both are an integer or a tuple of up to three. A stream and the bytes of the shared array of shape 0
    may follow. `kernel.forall(n)(…)` runs at least n invocations. `kernel.py_func` is the Python function.
    """

    def __init__(self, function, device, sanitize):
        self._source, self._is_device, self._sanitize = Source(function), device, sanitize
        self._built, self.py_func = {}, function
        update_wrapper(self, function)

    def __getitem__(self, key):
        if self._is_device:
            raise TypeError(f"{self.__name__!r} is a device function: kernels call it")
        key = key if isinstance(key, tuple) else (key,)
        if not 2 <= len(key) <= 4:
            raise ValueError("a launch is kernel[groups, workgroup]; a stream and bytes of shared memory may follow")
        return Launch(self, *key)

    def forall(self, n, workgroup=64, stream=None):
        """A launch of at least n invocations along x."""
        return self[-(-n // workgroup), workgroup, stream]

    def __call__(self, *_args):
        name = self.__name__
        raise TypeError(f"a launch needs its size: {name}[groups, workgroup](…), or {name}.forall(n)(…)")

    def __repr__(self):
        return f"<vkarray jit {self.__name__}>"

    def inspect_wgsl(self):
        """The WGSL of each translation, by the types of its arguments."""
        return {tuple(map(str, key.arguments)): built.wgsl for (_, key), built in self._built.items()}


class Built:
    """A translation that is ready to run."""

    def __init__(self, jit, launched):
        program = translate(jit._source, launched)
        self.wgsl = program.wgsl()
        # For each array: whether it is used, whether it is written, the type that its elements are converted to, and
        # the type that they have in memory.
        self.arrays = [
            (name in program.used, program.is_written(name), _dtype(kind), _dtype(program.in_memory(name, kind)))
            for name, kind in program.bindings
        ]
        self.uses_numbers = [name in program.used for name, _ in program.fields]
        captures = [captured for name, captured in program.captures.items() if name in program.used]
        self.captures = [_packed(asarray(array).copy(), _dtype(kind)) for array, kind in captures]
        try:
            self.kernel = _core.kernel(self.wgsl, program.entry, sanitize=jit._sanitize)
        except Exception as error:
            error.add_note(f"in the translation of {jit.__name__!r}:\n{self.wgsl}")
            raise


class Launch:
    """A kernel with the size of its launch."""

    def __init__(self, jit, groups, workgroup, stream=None, shared_bytes=0):
        self._jit, self._workgroup, self._shared_bytes = jit, _three(workgroup), shared_bytes
        self._key = (groups, stream) if stream else groups

    def __call__(self, *args):
        """Runs the kernel. Arrays of NumPy are copied to the device, and those that it writes are copied back.

        A view with gaps is copied to memory without gaps, and back if the kernel writes it.
        """
        names = self._jit._source.parameters
        if len(args) != len(names):
            raise TypeError(f"{self._jit.__name__!r} takes {len(names)} arguments, not {len(args)}")
        kinds = tuple(_argument(arg, name, args) for arg, name in zip(args, names))
        if any(F64 in types.parts(kind.element) for kind in kinds):
            kinds = tuple(replace(kind, element=_as_double(kind.element)) for kind in kinds)
        key = _core.context_number(), Launched(kinds, self._workgroup, self._shared_bytes)
        if (built := self._jit._built.get(key)) is None:
            built = self._jit._built[key] = Built(self._jit, key[1])
        arrays, numbers, copies, bindings = [], [], [], iter(built.arrays)
        for arg, kind in zip(args, kinds):
            if kind.ndim is None:
                for number, each in zip(arg if isinstance(arg, tuple) else [arg], types.parts(kind.element)):
                    numbers.append(number if each.kind == "f" else int(number))
                continue
            numbers += arg.shape
            is_used, is_written, dtype, stored = next(bindings)
            if not is_used:
                continue
            array = _packed(arg, dtype, kind.has_gaps, is_written)
            arrays.append(array if stored == dtype else array.view(stored))
            if is_written and array is not arg and 0 not in arg.shape:
                copies.append((arg, array))
        numbers = [number for number, is_used in zip(numbers, built.uses_numbers) if is_used]
        built.kernel[self._key](*arrays, *built.captures, *numbers)
        for arg, array in copies:
            arg[...] = array


def _packed(array, dtype, has_gaps=False, is_written=False):
    """What the kernel is given for an array: itself, or a copy without gaps or with wider elements. An empty array is
    given as one element."""
    if 0 in array.shape:
        return zeros(1, dtype=dtype)
    if array.dtype != dtype:
        return asarray(array).astype(dtype)
    if isinstance(array, _core.Array):
        return array if has_gaps or array.is_c_contiguous else array.copy()
    return array if is_written else asarray(array)


def _has_gaps(array, element, args):
    """Whether the kernel gets the strides of an array, rather than a copy of it without gaps.

    It gets a copy of a view that shares memory with another argument, since a kernel does not take both if it writes
    one; of a view of more axes than a vector of WGSL has; and of elements that are copied for their type.
    """
    if not isinstance(array, _core.Array) or array.is_c_contiguous or array.ndim > 4 or 0 in array.shape:
        return False
    reach = sum(abs(step) * (length - 1) for step, length in zip(array.strides, array.shape)) // array.itemsize
    if array.dtype != _dtype(element) or reach >= _MOST_ELEMENTS:
        return False
    return sum(isinstance(each, _core.Array) and array._overlaps(each) for each in args) == 1


def _dtype(element):
    """NumPy's type of elements as they lie in memory."""
    return np.dtype(types.in_memory(element).name)


def _argument(arg, name, args):
    """The type of an argument. A Python number takes the type of what stands beside it, unless it may not have it."""
    is_array = isinstance(arg, (_core.Array, np.ndarray))
    numbers = arg if isinstance(arg, tuple) else (arg,)
    try:
        elements = [types.of_elements(arg.dtype)] if is_array else list(map(types.of_number, numbers))
    except TypeError as error:
        raise TypeError(f"`{name}`: {error}; convert it with astype") from None
    if is_array:
        [element] = elements
        if arg.size >= _MOST_ELEMENTS:
            raise ValueError(f"`{name}` has {arg.size} elements; kernels index fewer than {_MOST_ELEMENTS}")
        return Argument(element, arg.ndim, _has_gaps(arg, element, args))
    if elements and None not in elements:
        elements = [I32 if kind == INT and each < 0 else kind for each, kind in zip(numbers, elements)]
        return Argument(Tuple(tuple(elements)) if isinstance(arg, tuple) else elements[0])
    raise TypeError(
        f"`{name}` is a {type(arg).__name__}; kernels take arrays, integers, floats, bools, and tuples of numbers"
    )


def _as_double(kind):
    """The type of a number or of a tuple beside doubles: Python's floats are doubles too."""
    if isinstance(kind, Tuple):
        return Tuple(tuple(map(_as_double, kind.items)))
    return F64 if kind == FLOAT else kind


_MOST_ELEMENTS = 2**31


def _three(counts):
    """One to three counts as three."""
    counts = tuple(counts) if isinstance(counts, (tuple, list)) else (counts,)
    if not 1 <= len(counts) <= 3 or not all(isinstance(each, (int, np.integer)) and each > 0 for each in counts):
        raise ValueError("a workgroup has one to three counts of invocations, each at least 1")
    return (*map(int, counts), 1, 1)[:3]


def jit(function=None, *, device=False, sanitize=None):
    """Makes a kernel of a Python function, or with `device=True` a function that kernels call.

        >>> import vkarray as vk
        >>> @vk.jit
        ... def double(x):
        ...     i = vk.grid(1)
        ...     if i < x.size:
        ...         x[i] *= 2
        >>> x = vk.arange(4, dtype=vk.float32)
        >>> double.forall(4)(x)
        >>> x.copy_to_host().tolist()
        [0.0, 2.0, 4.0, 6.0]

    With `sanitize=True` a mistake, such as an index out of range, raises an error with the line of the WGSL text.
    """
    if function is None:
        return lambda function: Jit(function, device, sanitize)
    if not callable(function):
        raise TypeError("vk.jit takes a function; types are those of the arguments, and no signature is given")
    return Jit(function, device, sanitize)
