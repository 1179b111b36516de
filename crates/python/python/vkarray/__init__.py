"""Device arrays and compute kernels on any Vulkan driver.

    >>> import vkarray as vk
    >>> x = vk.arange(6, dtype=vk.float32).reshape(2, 3)
    >>> (x * 2 + 1).sum(axis=1).copy_to_host().tolist()
    [9.0, 27.0]

The functions of this module are those of the Python array API standard, edition 2025.12. Kernels of shaders are made by
`vk.kernel`, kernels of Python functions by `vk.jit`. The first call that needs a device opens one; `VKARRAY_DEVICE` or
`vk.select_device` chooses it.
"""

import atexit as _atexit

from . import _core, _cuda, _data_types, _devices, _functions, _jit, _memory, _operators, fft, linalg
from ._core import (
    Array,
    DeviceLost,
    Error,
    Kernel,
    Stream,
    device_name,
    elementwise,
    kernel,
    memory_info,
    reduction,
    scan,
    synchronize,
)
from ._cuda import *
from ._data_types import *
from ._devices import *
from ._functions import *
from ._jit import *
from ._memory import *

_operators.install(Array)
_memory.install(Array)
_atexit.register(_core.shutdown)

ndarray = Array
e = 2.718281828459045
inf = float("inf")
nan = float("nan")
newaxis = None
pi = 3.141592653589793
__array_api_version__ = "2025.12"

__all__ = [
    "Array", "DeviceLost", "Error", "Kernel", "Stream", "device_name", "e", "elementwise", "fft", "inf", "kernel",
    "linalg", "memory_info", "nan", "ndarray", "newaxis", "pi", "reduction", "scan", "synchronize",
    *_cuda.__all__, *_data_types.__all__, *_devices.__all__, *_functions.__all__, *_jit.__all__, *_memory.__all__,
]
