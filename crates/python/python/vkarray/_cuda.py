"""Exchange of arrays with CUDA on one GPU: memory of the library that CUDA imports, and its description for other libraries.

`libcuda` is loaded by the first call. Its functions and structures are those of CUDA 10.2 and newer.
"""

import contextlib as _contextlib
import ctypes as _ctypes
import functools as _functools
import math as _math
import os as _os
import threading as _threading
import types as _types
import uuid as _uuid
import weakref as _weakref

import numpy as _np

from . import _core
from ._core import Array

__all__ = ["CudaArray", "from_cuda"]
_OPAQUE_FD, _DEVICE_ORDINAL = 1, 9
_ON_HOST, _ON_CUDA, _IS_COPIED = 1, 2, 2  # DLPack's types of devices, and its flag of a copy.
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
        driver, self.memory, self.device = _driver(), memory, _device(memory)
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


def _device(array):
    """CUDA's number of the device of an array."""
    device = _driver().devices.get(_uuid.UUID(array._device_uuid))
    if device is None:
        raise ValueError(f"CUDA does not have the device {array.device!r} with the UUID {array._device_uuid}")
    return device


def _mapped(array):
    """The memory of an array in CUDA, and the address of the first element there."""
    memory, number, offset = array._memory
    with _LOCK:
        mapping = _MAPPINGS.get(number)
        if mapping is None:
            mapping = _MAPPINGS[number] = _Mapping(memory)
    return mapping, mapping.address + offset


class _Tensor(_ctypes.Structure):
    """The first fields of DLPack's `DLTensor`: the address, and the device's type and number."""

    _fields_ = [("data", _ctypes.c_void_p), ("device", _ctypes.c_int * 2)]


class _Versioned(_ctypes.Structure):
    """The first fields of `DLManagedTensorVersioned`."""

    _fields_ = [
        ("version", _ctypes.c_uint32 * 2), ("context", _ctypes.c_void_p), ("deleter", _ctypes.c_void_p),
        ("flags", _ctypes.c_uint64), ("tensor", _Tensor),
    ]


_NAME = _ctypes.PYFUNCTYPE(_ctypes.c_char_p, _ctypes.py_object)(("PyCapsule_GetName", _ctypes.pythonapi))
_POINTER = _ctypes.PYFUNCTYPE(_ctypes.c_void_p, _ctypes.py_object, _ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _ctypes.pythonapi)
)


def _tensor(capsule, flags=0):
    """The tensor of a DLPack capsule. Adds flags to one with a version."""
    name = _NAME(capsule)
    address = _POINTER(capsule, name)
    if name != b"dltensor_versioned":
        return _Tensor.from_address(address)
    managed = _Versioned.from_address(address)
    managed.flags |= flags
    return managed.tensor


class _Imported:
    """A tensor of another library in CUDA as one of the host, for NumPy, which describes it and does not read it."""

    def __init__(self, source):
        self._source, self._tensor = source, None
        try:
            self.array = _np.from_dlpack(self)
        finally:
            if self._tensor is not None:
                self._tensor.device = self._device

    def __dlpack_device__(self):
        return _ON_HOST, 0

    def __dlpack__(self, **asked):
        # Ready for the legacy default stream, 1: `from_cuda` waits for all streams.
        capsule = self._source.__dlpack__(stream=1, **asked)
        self._tensor = _tensor(capsule)
        self._device, self._tensor.device = tuple(self._tensor.device), self.__dlpack_device__()
        return capsule


class CudaArray:
    """An array whose memory CUDA has too. `cupy.from_dlpack(view)` and `torch.from_dlpack(view)` make theirs of it without a
    copy, and so do `cupy.asarray(view)`, `torch.as_tensor(view, device="cuda")` and numba.

    `x.to_cuda()` makes one. What is made of it keeps it, and it keeps the memory. `array` is the array of this library.
    """

    def __init__(self, array):
        self.array = array
        self._mapping, address = _mapped(array) if array.size else (None, 0)
        self.__cuda_array_interface__ = {
            "version": 3, "shape": array.shape, "typestr": array.dtype.str, "stream": None,
            "data": (address, array._is_readonly),
            "strides": None if array.is_c_contiguous else array.strides,
        }

    def __dlpack_device__(self):
        """`kDLCUDA`, which is 2, and CUDA's number of the device."""
        return _ON_CUDA, _device(self.array)

    def __dlpack__(self, /, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A DLPack capsule of the memory, with a version if `max_version` is one. The tensor keeps this object.

        The memory is ready for each `stream` of CUDA: waits for the work of the library on the array, unless `stream` is -1.
        With `copy=True` it is a copy, made on the device. With `dl_device=(1, 0)` the capsule is that of `array`, in the memory
        of the host. Raises `BufferError` for other devices, for stream 0, which has no meaning in CUDA, and without a version
        for an array that is only read.
        """
        device = self.__dlpack_device__()
        if dl_device not in (None, device):
            return self.array.__dlpack__(max_version=max_version, dl_device=dl_device, copy=copy)
        if stream == 0:
            raise BufferError("stream 0 has no meaning: the default streams of CUDA are 1 and 2")
        view = to_cuda(_exportable(self.array)) if copy and self.array.size else self
        if stream != -1:
            view.array._wait()
        # NumPy describes the elements as if they were the host's, and does not read them. The capsule keeps the namespace. An
        # empty array has no address, which not every version of NumPy takes.
        address, is_readonly = view.__cuda_array_interface__["data"]
        interface = view.__cuda_array_interface__ | {"data": (address or 1, is_readonly)}
        described = _np.asarray(_types.SimpleNamespace(__array_interface__=interface, view=view))
        capsule = described.__dlpack__(max_version=max_version)
        tensor = _tensor(capsule, _IS_COPIED if copy else 0)
        tensor.data, tensor.device = address, device
        return capsule

    def __repr__(self):
        return f"<vkarray array of shape {self.array.shape} and {self.array.dtype} in CUDA>"


def _exportable(array):
    """A copy in memory that CUDA can import."""
    copy = _core.exportable_bytes(array.nbytes, array).view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def to_cuda(self):
    """The array for CUDA, as a `vk.CudaArray`: its own memory if CUDA can import it, otherwise a copy on the device.

    CUDA can import memory that `vk.from_cuda` and this method have made. Waits for the work of the library on the array.
    """
    array = _exportable(self) if self.size and not self._is_exportable else self
    array._wait()
    return CudaArray(array)


def from_cuda(obj, /):
    """An array of what has `__cuda_array_interface__`, or else `__dlpack__` with CUDA's device: arrays of CuPy and numba,
    tensors of PyTorch, a `vk.CudaArray`.

    What is in memory of `x.to_cuda()` is not copied. Other elements are copied on the device, to memory that `to_cuda` does not
    copy. They lie in C order without gaps. Waits for all work of CUDA on the device.
    """
    if not hasattr(obj, "__cuda_array_interface__") and _ON_CUDA in getattr(obj, "__dlpack_device__", tuple)()[:1]:
        obj = _Imported(obj).array  # Keeps the tensor.
        given = obj.__array_interface__
    else:
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
