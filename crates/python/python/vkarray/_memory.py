"""Arrays in memory of host and device, copies between both, memory objects and memory managers."""

from contextlib import ExitStack as _ExitStack, contextmanager as _contextmanager

import numpy as _np

from . import _core, _cuda
from ._core import Array, MemoryInfo, check_memory_manager, set_memory_manager
from ._functions import asarray as _asarray

__all__ = [
    "BaseMemoryManager", "MemoryInfo", "MemoryUSMDevice", "MemoryUSMHost", "MemoryUSMShared",
    "check_memory_manager", "device_array", "device_array_like", "mapped_array", "mapped_array_like", "pinned",
    "pinned_array", "pinned_array_like", "set_memory_manager", "to_device",
]


def _laid_out(make, shape, dtype, strides, order, stream=None, is_like=False):
    """A new array with its axes in the order of strides, or in C or F order."""
    shape = (int(shape),) if isinstance(shape, (int, _np.integer)) else tuple(shape)
    if order not in ("C", "F"):
        raise ValueError(f"the order {order!r} is neither 'C' nor 'F'")
    if strides is not None and len(strides) != len(shape):
        raise ValueError(f"{len(shape)} axes have {len(shape)} strides, not {len(strides)}")
    falling = range(len(shape), 0, -1) if order == "C" else range(len(shape))
    sizes = falling if strides is None else [abs(stride) for stride in strides]
    axes = sorted(range(len(shape)), key=lambda axis: -sizes[axis])
    array = make([shape[axis] for axis in axes], dtype).transpose(_np.argsort(axes).tolist())
    if strides is not None and not is_like and array.size:
        found = [(own, given) for own, given, len_ in zip(array.strides, strides, shape) if len_ > 1]
        if any(own != given for own, given in found):
            raise ValueError(f"arrays have no gaps here: {shape} with strides {array.strides}, not {tuple(strides)}")
    return array.on(stream) if stream else array


def _host_memory(portable=False, wc=False):
    return lambda shape, dtype: _core.host_array(shape, dtype, portable, wc)


def device_array(shape, dtype=_np.float64, strides=None, order="C", stream=None):
    """An array in device memory whose elements are not set. Its work is on `stream`, if one is given."""
    return _laid_out(_core.empty, shape, dtype, strides, order, stream)


def pinned_array(shape, dtype=_np.float64, strides=None, order="C"):
    """An array in host memory whose elements are not set, for copies from and to the device without staging.

        >>> import numpy as np, vkarray as vk
        >>> x = vk.pinned_array(3, np.float32)
        >>> np.asarray(x)[:] = [1, 2, 3]  # in place, without a copy
        >>> (vk.to_device(x) * 2).copy_to_host().tolist()
        [2.0, 4.0, 6.0]

    While a NumPy array or a memoryview of its memory exists, work of the device on it raises `BufferError`.
    """
    return _laid_out(_host_memory(), shape, dtype, strides, order)


def mapped_array(shape, dtype=_np.float64, strides=None, order="C", stream=None, portable=False, wc=False):
    """An array in host memory that kernels read and write in place, whose elements are not set; as `vk.pinned_array`.

    With `wc` the memory is write-combined: the host writes it in order, and reads it slowly.
    """
    return _laid_out(_host_memory(portable, wc), shape, dtype, strides, order, stream)


def device_array_like(ary, stream=None):
    """An array in device memory of the shape and type of another, with its axes in the same order."""
    return _laid_out(_core.empty, ary.shape, ary.dtype, ary.strides, "C", stream, is_like=True)


def pinned_array_like(ary):
    """As `vk.pinned_array`, of the shape and type of another array, with its axes in the same order."""
    return _laid_out(_host_memory(), ary.shape, ary.dtype, ary.strides, "C", is_like=True)


def mapped_array_like(ary, stream=None, portable=False, wc=False):
    """As `vk.mapped_array`, of the shape and type of another array, with its axes in the same order."""
    make = _host_memory(portable, wc)
    return _laid_out(make, ary.shape, ary.dtype, ary.strides, "C", stream, is_like=True)


# The memory that is registered by `pinned`, by address and length.
_PINNED = {}


def _place(host):
    """Where a NumPy array without gaps has its elements."""
    return host.ctypes.data, host.nbytes


def _registered(host):
    """The registered memory of a NumPy array, if it is `pinned`."""
    is_candidate = _PINNED and isinstance(host, _np.ndarray) and host.flags.c_contiguous
    return _PINNED.get(_place(host)) if is_candidate else None


@_contextmanager
def pinned(*arrays):
    """Registers the memory of NumPy arrays without gaps, while a `with` statement runs.

    Copies of the whole array, by `to_device`, `copy_to_device` and `copy_to_host`, then reach it without staging where the
    device imports it. They wait for the device; copies of `vk.pinned_array` do not.

        >>> import numpy as np, vkarray as vk
        >>> host = np.arange(4, dtype=np.float32)
        >>> with vk.pinned(host):
        ...     x = vk.to_device(host)
        ...     x += 1
        ...     x.copy_to_host(host)
        array([1., 2., 3., 4.], dtype=float32)
    """
    with _ExitStack() as ends:
        for array in arrays:
            if not isinstance(array, _np.ndarray) or not array.flags.c_contiguous or not array.flags.writeable:
                raise ValueError("NumPy arrays in C order that may be written are pinned")
            place = _place(array)
            if place in _PINNED:
                raise ValueError(f"the array of shape {array.shape} is pinned already")
            if array.nbytes:
                memory = _PINNED[place] = _core.PinnedMemory(array.reshape(-1).view(_np.uint8))
                ends.callback(memory.end)
                ends.callback(_PINNED.pop, place)
        yield


def to_device(obj, stream=None, copy=True, to=None):
    """An array in device memory with the elements of `obj`: itself, if it is there already.

    With `to`, the elements are copied to that array, which is returned. With `copy=False` they are not copied. The copy
    of an array in host memory (`vk.pinned_array`) runs on `stream`, without a wait.
    """
    if to is None and isinstance(obj, Array) and obj.usm_type != "host":
        return obj
    if to is None and copy and not isinstance(obj, Array) and not _registered(obj):
        array = _asarray(obj)
        return array.on(stream) if stream else array
    target = device_array_like(obj if isinstance(obj, Array) else _np.asarray(obj), stream) if to is None else to
    if copy:
        target.copy_to_device(obj, stream)
    return target


def _check_alike(target, source):
    if target.dtype != source.dtype:
        raise TypeError(f"elements of {source.dtype} are not copied to an array of {target.dtype}; convert them")
    if target.shape != source.shape:
        raise ValueError(f"an array of shape {source.shape} is not copied to one of shape {target.shape}")


def _copy_to_host(self, ary=None, stream=None):
    """The elements in `ary`, or without it in a new NumPy array.

    Waits for them, unless `ary` is an array in host memory (`vk.pinned_array`): then the copy runs on `stream`, and
    what reads it waits.
    """
    if ary is None:
        return self._to_numpy(stream or None)
    _check_alike(ary, self)
    if isinstance(ary, Array):
        if ary.usm_type == "device":
            raise TypeError("the target is in device memory; `copy_to_device` copies there")
        ary.copy_to_device(self, stream)
        return ary
    memory = _registered(ary)
    if memory is None or not memory.copy_from(self, stream or None):
        _np.copyto(ary, self._to_numpy(stream or None))
    return ary


def _copy_to_device(self, ary, stream=None):
    """Copies elements of a NumPy array or of another array of the device to this one. The copy runs on `stream`."""
    source = ary if isinstance(ary, Array) else _np.asarray(ary)
    _check_alike(self, source)
    target = self.on(stream) if stream else self
    if isinstance(source, Array):
        target[...] = source
        return
    memory = _registered(source)
    if memory is None or not memory.copy_to(self, stream or None):
        target.copy_from_host(source)


def _dlpack(self, /, *, stream=None, max_version=None, dl_device=None, copy=None):
    """A DLPack capsule of host memory: the array's own, if it is in host memory, otherwise a copy.

    A capsule of the array's own memory is a view of it, as a NumPy array is.
    """
    if stream is not None:
        raise BufferError("memory of the host has no stream")
    if dl_device not in (None, (1, 0)):
        raise BufferError(f"elements are exchanged in the memory of the host, (1, 0), and not on device {dl_device}")
    if self.usm_type == "device" and copy is False:
        raise BufferError("the elements are in device memory, and are copied to the host")
    is_view = self.usm_type != "device" and not copy
    host = _np.asarray(memoryview(self)) if is_view else self.copy_to_host()
    return host.__dlpack__(max_version=max_version)


def _array_interface(self):
    """NumPy's description of an array in host memory. Its `data` is a view, which the consumer keeps."""
    if self.usm_type == "device" or not self.is_c_contiguous:
        raise AttributeError("only arrays in host memory without gaps have an `__array_interface__`")
    return {"version": 3, "shape": self.shape, "typestr": self.dtype.str, "data": memoryview(self)}


def _move(self, device, /, *, stream=None):
    """The array itself, or a copy of it on another device: one of `vk.gpus`, or its name."""
    from ._devices import gpus

    if device == self.device:
        return self
    found = [each for each in gpus if device in (each, each.name)]
    if not found:
        names = ", ".join(repr(each.name) for each in gpus)
        raise ValueError(f"the array is on {self.device!r}; there is no device {device!r} among {names}")
    with found[0]:
        return (self.on(stream) if stream else self)._to_context()


def install(array):
    """Adds the methods to the class."""
    array.copy_to_host = _copy_to_host
    array.copy_to_device = _copy_to_device
    array.to_cuda = _cuda.to_cuda
    array.to_device = _move
    array.__dlpack__ = _dlpack
    array.__dlpack_device__ = lambda self: (1, 0)  # `kDLCPU`: what is exchanged is in the memory of the host.
    array.__array_interface__ = property(_array_interface)


class _MemoryUSM:
    """Bytes of one kind of memory, as dpctl's memory objects. Made with a number of bytes, or with `copy=True` of others."""

    _usm_type, _make = "device", staticmethod(_core.empty)

    def __init__(self, other, *, alignment=0, copy=False):
        if alignment < 0 or alignment & (alignment - 1) or alignment > 256:
            raise ValueError(f"memory is aligned to powers of two up to 256, not to {alignment}")
        if isinstance(other, _MemoryUSM) and not copy:
            if other._usm_type != self._usm_type:
                raise TypeError(f"{other._usm_type} memory is not {self._usm_type} memory; `copy=True` copies it")
            self._bytes, self.reference_obj = other._bytes, other
            return
        nbytes = other.nbytes if isinstance(other, _MemoryUSM) else other
        if nbytes <= 0:
            raise ValueError(f"a memory object has at least one byte, not {nbytes}")
        self._bytes, self.reference_obj = self._make((nbytes,), _np.uint8), None
        if isinstance(other, _MemoryUSM):
            self.copy_from_device(other)

    @property
    def nbytes(self):
        """The number of bytes."""
        return self._bytes.size

    size = nbytes

    def __len__(self):
        return self.nbytes

    def __repr__(self):
        return f"<vkarray {self._usm_type} memory of {self.nbytes} bytes>"

    def get_usm_type(self):
        """`device`, `host` or `shared`."""
        return self._usm_type

    @property
    def array(self):
        """The bytes as an array of `uint8` that shares the memory."""
        return self._bytes

    def copy_to_host(self, obj=None):
        """The bytes in `obj`, which is at least as long, or in a new NumPy array. Waits for them."""
        if obj is None:
            return self._bytes.copy_to_host()
        target = _np.frombuffer(obj, _np.uint8)
        if target.size < self.nbytes:
            raise ValueError(f"{self.nbytes} bytes do not fit into {target.size}")
        target[:self.nbytes] = self._bytes.copy_to_host()
        return obj

    def copy_from_host(self, obj):
        """Copies bytes of the host to the beginning."""
        source = _np.frombuffer(obj, _np.uint8)
        self._part(source.size).copy_to_device(source)

    def copy_from_device(self, memory):
        """Copies all bytes of another memory object to the beginning."""
        self._part(memory.nbytes).copy_to_device(memory._bytes)

    def _part(self, nbytes):
        if nbytes > self.nbytes:
            raise ValueError(f"{nbytes} bytes do not fit into {self.nbytes}")
        return self._bytes[:nbytes]

    def memset(self, val=0):
        """Writes a value to every byte."""
        self._bytes[...] = val

    def tobytes(self):
        """The bytes. Waits for them."""
        return self._bytes.copy_to_host().tobytes()

    __bytes__ = tobytes

    def __reduce__(self):
        return _restored, (type(self), self.tobytes())


def _restored(kind, content):
    memory = kind(len(content))
    memory.copy_from_host(content)
    return memory


class MemoryUSMDevice(_MemoryUSM):
    """Bytes of device memory."""


class _HostVisible(_MemoryUSM):
    """Memory that the host reads and writes in place, through views."""

    def __buffer__(self, flags):
        return memoryview(self._bytes)

    @property
    def __array_interface__(self):
        return self._bytes.__array_interface__


class MemoryUSMHost(_HostVisible):
    """Bytes of host memory that the device addresses. `np.asarray(memory)` is a view of them."""

    _usm_type, _make = "host", staticmethod(_host_memory())


class MemoryUSMShared(_HostVisible):
    """Bytes of device memory that the host addresses. `np.asarray(memory)` is a view of them. Not every device has any."""

    _usm_type, _make = "shared", staticmethod(_core.shared_array)


class BaseMemoryManager:
    """What decides about allocations, as numba's external memory managers. A subclass overrides what it changes.

        >>> import vkarray as vk
        >>> class Counting(vk.BaseMemoryManager):
        ...     n_live = 0
        ...     def memalloc(self, size):
        ...         memory = self.context.memalloc(size, finalizer=self.freed)
        ...         Counting.n_live += 1
        ...         return memory
        ...     def freed(self):
        ...         Counting.n_live -= 1

    `vk.set_memory_manager(Counting)` has contexts that are opened later use it; each makes an object of its own.
    `vk.check_memory_manager(Counting)` runs the checks that the library's own managers pass.
    Methods are called on any thread. What a method raises is raised by the call that needed the memory.
    """

    interface_version = 1

    def __init__(self, *, context):
        self.context = context

    def initialize(self):
        """Called when the context is opened, perhaps more than once, before all other methods."""

    def memalloc(self, size):
        """Device memory of that size, from `self.context.memalloc(size, finalizer=None)`."""
        return self.context.memalloc(size)

    def memhostalloc(self, size, mapped=False, portable=False, wc=False):
        """Host memory of that size, from `self.context.memhostalloc`, for arrays of the program and for copies."""
        return self.context.memhostalloc(size, mapped, portable, wc)

    def get_memory_info(self):
        """The free and all bytes of the device, as a `vk.MemoryInfo`."""
        return self.context.get_memory_info()

    def reset(self):
        """Called when the context is reset: all its arrays have ended."""
        self.context.reset()

    def defer_cleanup(self):
        """A context manager within which no memory is freed."""
        return self.context.defer_cleanup()
