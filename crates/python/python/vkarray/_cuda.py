"""Exchange of arrays with CUDA on one GPU: memory of the library that CUDA imports.

`libcuda` is loaded by the first call. Its functions and structures are those of CUDA 10.2 and newer.
"""

import contextlib as _contextlib
import ctypes as _ctypes
import functools as _functools
import math as _math
import os as _os
import threading as _threading
import uuid as _uuid
import weakref as _weakref

import numpy as _np

from . import _core
from ._core import Array

__all__ = ["CudaArray", "from_cuda"]
_OPAQUE_FD, _DEVICE_ORDINAL = 1, 9
# The memory that CUDA has, by the numbers of its blocks.
_MAPPINGS, _LOCK = _weakref.WeakValueDictionary(), _threading.RLock()


class _Handle(_ctypes.Structure):
    """A descriptor where other systems have two pointers."""

    _fields_ = [("fd", _ctypes.c_int), ("unused", _ctypes.c_uint64)]


class _MemoryHandle(_ctypes.Structure):
    """`CUDA_EXTERNAL_MEMORY_HANDLE_DESC`."""

    _fields_ = [
        ("type", _ctypes.c_int), ("handle", _Handle), ("size", _ctypes.c_uint64), ("rest", _ctypes.c_uint32 * 17),
    ]


class _Range(_ctypes.Structure):
    """`CUDA_EXTERNAL_MEMORY_BUFFER_DESC`."""

    _fields_ = [("offset", _ctypes.c_uint64), ("size", _ctypes.c_uint64), ("rest", _ctypes.c_uint32 * 17)]


class _Driver:
    """CUDA's driver, and the primary contexts of its devices, which other libraries use too."""

    def __init__(self):
        try:
            self._library = _ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise _core.Error(f"CUDA's driver is not there: {error}") from None
        self._contexts = {}
        self.call("cuInit", 0)

    def call(self, name, *args):
        """Calls a function, and raises what it reports."""
        code = getattr(self._library, name)(*args)
        if code:
            text = _ctypes.c_char_p()
            self._library.cuGetErrorString(code, _ctypes.byref(text))
            raise _core.Error(f"{name}: {(text.value or b'unknown').decode()} ({code})")

    def ask(self, kind, name, *args):
        """The number that a function writes to its first argument."""
        value = kind()
        self.call(name, _ctypes.byref(value), *args)
        return value.value

    @_functools.cached_property
    def devices(self):
        """The devices by their UUIDs."""
        found = {}
        for ordinal in range(self.ask(_ctypes.c_int, "cuDeviceGetCount")):
            device, own = self.ask(_ctypes.c_int, "cuDeviceGet", ordinal), (_ctypes.c_ubyte * 16)()
            self.call("cuDeviceGetUuid", own, device)
            found[_uuid.UUID(bytes=bytes(own))] = device
        return found

    @_contextlib.contextmanager
    def context(self, device):
        """Has the calls of a `with` statement use the primary context of a device."""
        with _LOCK:
            if device not in self._contexts:
                self._contexts[device] = self.ask(_ctypes.c_void_p, "cuDevicePrimaryCtxRetain", device)
        self.call("cuCtxPushCurrent_v2", _ctypes.c_void_p(self._contexts[device]))
        try:
            yield
        finally:
            self.ask(_ctypes.c_void_p, "cuCtxPopCurrent_v2")


@_functools.cache
def _driver():
    return _Driver()


class _Mapping:
    """Memory of the library at an address of CUDA's. When it is dropped, it waits for CUDA and ends."""

    def __init__(self, memory):
        driver = _driver()
        self.memory, self.device = memory, driver.devices.get(_uuid.UUID(memory._device_uuid))
        if self.device is None:
            raise ValueError(f"CUDA does not have the device {memory.device!r} with the UUID {memory._device_uuid}")
        with driver.context(self.device):
            fd, size = memory._export()
            handle = _MemoryHandle(type=_OPAQUE_FD, handle=_Handle(fd=fd), size=size)
            try:
                external = driver.ask(_ctypes.c_void_p, "cuImportExternalMemory", _ctypes.byref(handle))
            except BaseException:
                _os.close(fd)  # Otherwise it is CUDA's.
                raise
            addresses = []
            _weakref.finalize(self, _end, driver, self.device, external, addresses)
            self.address = driver.ask(
                _ctypes.c_uint64, "cuExternalMemoryGetMappedBuffer", _ctypes.c_void_p(external),
                _ctypes.byref(_Range(size=size)),
            )
            addresses.append(self.address)


def _end(driver, device, external, addresses):
    with driver.context(device):
        driver.call("cuCtxSynchronize")
        for address in addresses:
            driver.call("cuMemFree_v2", _ctypes.c_uint64(address))
        driver.call("cuDestroyExternalMemory", _ctypes.c_void_p(external))


def _mapped(array):
    """The memory of an array in CUDA, and the address of the first element there."""
    memory, number, offset = array._memory
    with _LOCK:
        mapping = _MAPPINGS.get(number)
        if mapping is None:
            mapping = _MAPPINGS[number] = _Mapping(memory)
    return mapping, mapping.address + offset


class CudaArray:
    """An array whose memory CUDA has too. `cupy.asarray(view)` and `torch.as_tensor(view, device="cuda")` make theirs of it
    without a copy.

    `x.to_cuda()` makes one. What is made of it keeps it, and it keeps the memory. `array` is the array of this library.
    """

    def __init__(self, array):
        self.array = array
        self._mapping, address = _mapped(array) if array.size else (None, 0)
        self.__cuda_array_interface__ = {
            "version": 3, "shape": array.shape, "typestr": array.dtype.str, "data": (address, False), "stream": None,
            "strides": None if array.is_c_contiguous else array.strides,
        }

    def __repr__(self):
        return f"<vkarray array of shape {self.array.shape} and {self.array.dtype} in CUDA>"


def to_cuda(self):
    """The array for CUDA, as a `vk.CudaArray`: its own memory if CUDA can import it, otherwise a copy on the device.

    CUDA can import memory that `vk.from_cuda` and this method have made. Waits for the work of the library on the array.
    """
    array = self
    if self.size and not self._is_exportable:
        array = _core.exportable_bytes(self.nbytes, self).view(self.dtype).reshape(self.shape)
        array[...] = self
    array._wait()
    return CudaArray(array)


def from_cuda(obj, /):
    """An array of what has `__cuda_array_interface__`: arrays of CuPy and numba, tensors of PyTorch, a `vk.CudaArray`.

    What is in memory of `x.to_cuda()` is not copied. Other elements are copied on the device, to memory that `to_cuda` does not
    copy. They lie in C order without gaps. Waits for all work of CUDA on the device.
    """
    given = obj.__cuda_array_interface__
    shape, dtype, address = tuple(given["shape"]), _np.dtype(given["typestr"]), given["data"][0]
    nbytes, steps = _math.prod(shape) * dtype.itemsize, dtype.itemsize
    if given.get("mask") is not None:
        raise TypeError("arrays with a mask are not exchanged")
    for length, stride in zip(shape[::-1], (given.get("strides") or ())[::-1]):
        if nbytes and length > 1 and stride != steps:
            raise ValueError(f"the elements have gaps or another order, by strides {given['strides']}; copy them first")
        steps *= length
    if not nbytes:
        return _core.empty(shape, dtype)
    driver = _driver()
    with _LOCK:
        mappings = list(_MAPPINGS.values())
    for mapping in mappings:
        if mapping.address <= address and address + nbytes <= mapping.address + mapping.memory.size:
            with driver.context(mapping.device):
                driver.call("cuCtxSynchronize")
            first = address - mapping.address
            return mapping.memory[first:first + nbytes].view(dtype).reshape(shape)
    array = _core.exportable_bytes(nbytes)
    mapping, own = _mapped(array)
    with driver.context(mapping.device):
        place = _ctypes.c_uint64(address)
        device = driver.ask(_ctypes.c_int, "cuPointerGetAttribute", _DEVICE_ORDINAL, place)
        if device != mapping.device:
            raise ValueError(f"the elements are on CUDA's device {device}, which is not {array.device!r}")
        driver.call("cuCtxSynchronize")
        driver.call("cuMemcpyDtoD_v2", _ctypes.c_uint64(own), place, _ctypes.c_size_t(nbytes))
        driver.call("cuCtxSynchronize")
    return array.view(dtype).reshape(shape)
