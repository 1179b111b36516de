"""Stands in the place of `numba.cuda.simulator`, so that numba-cuda's own tests run on vkarray.

The tests choose the simulator by `NUMBA_ENABLE_CUDASIM=1`, and skip what no simulator has. What holds data or computes
is replaced here: arrays, streams, kernels and what kernels call. Contexts, devices, events and the compiler's names
stay the simulator's, which do nothing. `used` counts what reached vkarray, since a test that never does shows nothing.
"""

import builtins
import contextlib
import functools
import itertools
import linecache
import sys

import numpy as np
from numba.cuda import types
from numba.cuda.core.sigutils import is_signature
from numba.cuda.errors import normalize_kernel_dimensions
from numba.cuda.simulator import (
    _internal, api, args, bf16, compiler, cudadrv, dispatcher, memory_management, vector_types,
)
from numba.cuda.simulator.cudadrv import devicearray, driver, linkable_code, runtime as runtime_module
from numba.cuda.simulator.api import *
from numba.cuda.simulator.cudadrv.devices import get_context as current_context, gpus, require_context
from numba.cuda.simulator.cudadrv.linkable_code import LinkableCode
from numba.cuda.simulator.cudadrv.runtime import runtime

import vkarray as vk

used, _texts = itertools.count(), itertools.count()
# numba's types name the elements of NumPy's types of the same name.
types.Number.dtype = property(lambda self: np.dtype(self.name))
types.Boolean.dtype = np.dtype("bool")


def _exec(text, *names, _exec=builtins.exec):
    """Keeps a text that is executed, since kernels are translated from their text and not from bytecode."""
    if isinstance(text, str):
        path = f"<text {next(_texts)}>"
        linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
        text = compile(text, path, "exec")
    caller = sys._getframe(1)
    _exec(text, *(names or (caller.f_globals, caller.f_locals)))


builtins.exec = _exec


class Stream:
    """A stream with the methods of numba's."""

    def __init__(self):
        next(used)
        self.own = vk.Stream()
        self.synchronize = self.own.synchronize

    @contextlib.contextmanager
    def auto_synchronize(self):
        yield self
        self.synchronize()


def _on(array, stream):
    return array.on(stream.own) if isinstance(stream, Stream) else array


class DeviceArray:
    """numba's array of the device, on an array of vkarray."""

    __cuda_ndarray__ = True
    __array_priority__ = 100

    def __init__(self, array, stream=0):
        next(used)
        self.array, self.stream = array, stream

    shape, dtype, ndim, size, nbytes, alloc_size, itemsize = (
        property(lambda self, name=name: getattr(self.array, name))
        for name in ("shape", "dtype", "ndim", "size", "nbytes", "nbytes", "itemsize")
    )

    @property
    def _like(self):
        """An array of NumPy of this shape, type and strides, whose elements are not these; it words NumPy's errors."""
        return np.lib.stride_tricks.as_strided(np.zeros(1, self.dtype), self.shape, self.array.strides)

    strides = property(lambda self: self._like.strides)
    flags = property(lambda self: self._like.flags)
    T = property(lambda self: self.transpose())

    def is_c_contiguous(self):
        return self.flags.c_contiguous

    def is_f_contiguous(self):
        return self.flags.f_contiguous

    def bind(self, stream=0):
        return DeviceArray(self.array, stream)

    def __len__(self):
        return len(self.array)

    def __repr__(self):
        return repr(self.copy_to_host())

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array.copy_to_host(), dtype)

    def _view(self, method, *args, **named):
        """A view by a method of NumPy's name."""
        getattr(self._like, method)(*args, **named)
        return DeviceArray(getattr(self.array, method)(*args, **named), self.stream)

    def transpose(self, axes=None):
        return self._view("transpose", axes)

    def view(self, dtype):
        return self._view("view", dtype)

    def squeeze(self, axis=None):
        return self.reshape(np.squeeze(self._like, axis).shape)

    def reshape(self, *shape, order="C"):
        shape = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        shape = np.empty(self.shape).reshape(shape).shape
        order = "F" if order == "A" and self.is_f_contiguous() and not self.is_c_contiguous() else order
        array = self.array.reshape(shape) if order in ("C", "A") else self.array.T.reshape(shape[::-1]).T
        return DeviceArray(array, self.stream)

    def ravel(self, order="C"):
        return self.reshape(-1, order=order)

    def split(self, section, stream=0):
        return [DeviceArray(self.array[at : at + section]) for at in range(0, len(self), section)]

    def __getitem__(self, key):
        like = self._like[key]
        array = self.array[key]
        return DeviceArray(array, self.stream) if isinstance(like, np.ndarray) else array.copy_to_host()[()]

    def __setitem__(self, key, value):
        next(used)
        value = np.asarray(value, self.dtype)
        # NumPy's assignment words the errors of shapes.
        np.empty(self.shape, self.dtype)[key] = value
        self.array[key] = value

    def setitem(self, key, value, stream=0):
        self[key] = value

    def fill(self, value):
        self.array[...] = value

    def copy_to_host(self, ary=None, stream=0):
        if ary is None:
            ary = np.empty_like(self._like)
        else:
            devicearray.check_array_compatibility(self._like, ary)
        np.copyto(ary, self.array.copy_to_host())
        return ary

    def copy_to_device(self, ary, stream=0):
        next(used)
        devicearray.sentry_contiguous(self._like)
        own = devicearray.array_core(self._like)
        other = devicearray.array_core(ary._like if isinstance(ary, DeviceArray) else np.asarray(ary))
        if isinstance(ary, DeviceArray):
            devicearray.sentry_contiguous(other)
        else:
            other = np.array(other, order="C" if own.flags.c_contiguous else "F", copy=None)
        devicearray.check_array_compatibility(own, other)
        core = self.array[tuple(0 if step == 0 else slice(None) for step in self.strides)] if self.size else self.array
        core[...] = ary.array if isinstance(ary, DeviceArray) else devicearray.array_core(np.asarray(ary))


def _operator(name):
    def method(self, other):
        other = other.array if isinstance(other, DeviceArray) else other
        return DeviceArray(getattr(self.array, name)(other), self.stream)

    return method


for _name in "add sub mul truediv floordiv mod pow eq ne lt le gt ge".split():
    setattr(DeviceArray, f"__{_name}__", _operator(f"__{_name}__"))


def _uploaded(host):
    """The array on the device, with the order of the axes that it has in memory."""
    core = devicearray.array_core(host)
    is_fortran = core.flags.f_contiguous and not core.flags.c_contiguous
    array = vk.asarray(core.T).T if is_fortran else vk.asarray(core)
    if core.shape == host.shape:
        return array
    kept = tuple(None if step == 0 else slice(None) for step in host.strides)
    return array[kept].broadcast_to(host.shape)


def to_device(obj, stream=0, copy=True, to=None):
    if to is not None:
        return to.copy_to_device(obj, stream=stream)
    if isinstance(obj, DeviceArray):
        return DeviceArray(obj.array.copy(), stream)
    host = np.asarray(obj)
    devicearray.sentry_contiguous(host)
    return DeviceArray(_on(_uploaded(host), stream), stream)


def device_array(shape, dtype=np.float64, strides=None, order="C", stream=0):
    like = np.ndarray(shape, dtype, strides=strides, order=order)
    axes = sorted(range(like.ndim), key=lambda axis: -like.strides[axis])
    array = vk.empty([like.shape[axis] for axis in axes], dtype=like.dtype)
    return DeviceArray(_on(array.transpose([axes.index(axis) for axis in range(like.ndim)]), stream), stream)


def device_array_like(ary, stream=0):
    like = ary._like if isinstance(ary, DeviceArray) else ary
    like = np.empty_like(like)
    return device_array(like.shape, like.dtype, like.strides, stream=stream)


def mapped_array(shape, dtype=np.float64, strides=None, order="C", stream=0, portable=False, wc=False):
    return device_array(shape, dtype, strides, order, stream)


def auto_device(obj, stream=0, copy=True):
    return (obj, False) if isinstance(obj, DeviceArray) else (to_device(obj, stream, copy), True)


class Kernel:
    """A function under `cuda.jit`. A launch without a size is refused, as numba refuses it."""

    def __init__(self, function, device):
        functools.update_wrapper(self, function)
        self.py_func, self._device = function, device
        self._jit = vk.jit(function, device=device)
        self._source = self._jit._source
        self._config, self.extensions, self.overloads = (None, None), [], {}

    def __getitem__(self, config):
        other = object.__new__(Kernel)
        other.__dict__.update(self.__dict__)
        other._config = config
        normalize_kernel_dimensions(*config[:2])
        return other

    def forall(self, ntasks, tpb=0, stream=0, sharedmem=0):
        if ntasks < 0:
            raise ValueError(f"Can't create ForAll with negative task count: {ntasks}")
        tpb = tpb or 128
        return self[max(-(-ntasks // tpb), 1), tpb, stream, sharedmem] if ntasks else lambda *args: None

    def specialize(self, *_args):
        return self

    def bind(self):
        pass

    def __call__(self, *given):
        groups, workgroup = normalize_kernel_dimensions(*self._config[:2])
        stream, shared_bytes = (*self._config[2:], 0, 0)[:2]
        next(used)
        after, passed = [], []
        for arg in given:
            for extension in self.extensions:
                _, arg = extension.prepare_args(None, arg, stream=0, retr=after)
            if isinstance(arg, args.ArgHint):
                arg = arg.to_device(after)
            passed.append(arg.array if isinstance(arg, DeviceArray) else arg)
        stream = stream.own if isinstance(stream, Stream) else None
        self._jit[groups, workgroup, stream, shared_bytes](*passed)
        for each in after:
            each()


def jit(func_or_sig=None, device=False, link=None, boundscheck=None, **_options):
    if boundscheck:
        raise NotImplementedError("bounds checking is not supported for CUDA")
    if link is not None:
        raise NotImplementedError("Cannot link PTX in the simulator")
    if func_or_sig is None or is_signature(func_or_sig) or isinstance(func_or_sig, list):
        return lambda function: Kernel(function, device)
    return Kernel(func_or_sig, device)


class Reduce:
    """A reduction by one invocation, in the order of the elements."""

    def __init__(self, functor):
        combine = vk.jit(functor, device=True)

        @vk.jit
        def kernel(x, out):
            for i in range(x.size):
                out[0] = combine(out[0], x[i])

        self._kernel = kernel

    def __call__(self, arr, size=None, res=None, init=0, stream=0):
        next(used)
        x = arr.array if isinstance(arr, DeviceArray) else vk.asarray(np.asarray(arr))
        out = vk.full(1, init, dtype=x.dtype) if res is None else res.array
        out[0] = init
        self._kernel[1, 1](x, out)
        return out.copy_to_host()[0] if res is None else None


stream = default_stream = legacy_default_stream = per_thread_default_stream = Stream
reduce, synchronize = Reduce, vk.synchronize
pinned, pinned_array, pinned_array_like = devicearray.pinned, devicearray.pinned_array, devicearray.pinned_array_like
for _name in vk._jit.names.__all__:
    globals()[_name] = getattr(vk, _name)
for _name, _type in vector_types.vector_types.items():
    globals().update(dict.fromkeys([_name, *_type.aliases], _type))

_OWN = {
    "DeviceNDArray": DeviceArray, "FakeCUDAArray": DeviceArray, "to_device": to_device, "device_array": device_array,
    "device_array_like": device_array_like, "mapped_array": mapped_array, "auto_device": auto_device,
}
for _name, _object in _OWN.items():
    setattr(devicearray, _name, _object)
for _name in ("jit", "stream", "synchronize", "default_stream", "legacy_default_stream", "per_thread_default_stream"):
    setattr(api, _name, globals()[_name])

_MODULES = {
    "api": api, "args": args, "cudadrv": cudadrv, "cudadrv.devicearray": devicearray, "cudadrv.driver": driver,
    "cudadrv.devices": cudadrv.devices, "cudadrv.linkable_code": linkable_code, "cudadrv.runtime": runtime_module,
    "cudadrv.drvapi": cudadrv.drvapi, "cudadrv.error": cudadrv.error, "cudadrv.nvvm": cudadrv.nvvm, "bf16": bf16,
    "dispatcher": dispatcher, "compiler": compiler, "_internal": _internal, "memory_management": memory_management,
    "_internal.cuda_bf16": _internal.cuda_bf16, "memory_management.nrt": memory_management.nrt,
}
sys.modules.update({f"numba.cuda.{name}": module for name, module in _MODULES.items()})
