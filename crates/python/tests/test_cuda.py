"""Exchange with CUDA: with CuPy and PyTorch on a GPU, and on lavapipe with a double of CUDA's driver."""

import ctypes
import importlib.util
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import vkarray as vk

ROUNDS = 10_000
DOUBLE = pathlib.Path(__file__).with_name("cuda_double.c")


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def cupy_side(by_dlpack):
    import cupy

    wrap = cupy.from_dlpack if by_dlpack else cupy.asarray
    return wrap, cupy.asnumpy, lambda: cupy.cuda.Device().mem_info[0]


def torch_side(by_dlpack):
    import torch

    wrap = torch.from_dlpack if by_dlpack else lambda view: torch.as_tensor(view, device="cuda")
    return wrap, lambda tensor: tensor.cpu().numpy(), lambda: torch.cuda.mem_get_info()[0]


@pytest.fixture(params=["cupy", "cupy by DLPack", "torch", "torch by DLPack"])
def side(request):
    """What makes an array of the library in CUDA, what copies one to the host, and what counts free memory."""
    if not has_driver() or "NVIDIA" not in vk.device_name()[0]:
        pytest.skip("needs the driver of CUDA and an NVIDIA GPU")
    name, *by_dlpack = request.param.split(maxsplit=1)
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"needs {name}")
    return {"cupy": cupy_side, "torch": torch_side}[name](by_dlpack)


class OnlyDlpack:
    """An array of another library without `__cuda_array_interface__`."""

    def __init__(self, array):
        self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__


def test_both_work_in_one_memory_in_turn(side):
    wrap, unwrap, free = side
    n, x = 100_003, vk.zeros(100_003)
    for i in range(ROUNDS):
        x += 1
        other = wrap(x.to_cuda())
        other += 2
        x = vk.from_cuda(other)
        if i == 100:
            vk.synchronize()
            before = free()
        if i % 1000 == 999:
            np.testing.assert_array_equal(x.copy_to_host(), np.full(n, 3.0 * (i + 1), "float32"))
            np.testing.assert_array_equal(unwrap(other), np.full(n, 3.0 * (i + 1), "float32"))
    assert before - free() < 16 << 20


def test_copies_both_ways_give_their_memory_back(side):
    wrap, unwrap, free = side
    source = np.arange(30_011, dtype="float32")
    for i in range(ROUNDS):
        # Ordinary memory of either side, so each direction copies.
        theirs = wrap(vk.asarray(source).to_cuda()) + i
        found = vk.from_cuda(theirs)
        if i == 100:
            vk.synchronize()
            before = free()
        if i % 1000 == 0:
            np.testing.assert_array_equal(found.copy_to_host(), source + i)
    del theirs, found
    vk.synchronize()
    assert before - free() < 64 << 20


def test_types_shapes_and_views(side):
    wrap, unwrap, _ = side
    for dtype in ["uint8", "int32", "int64", "float16", "float32", "float64", "complex64"]:
        host = np.arange(35).reshape(5, 7).astype(dtype)
        shared = vk.asarray(host).to_cuda().array
        np.testing.assert_array_equal(unwrap(wrap(shared.to_cuda())), host)
        np.testing.assert_array_equal(unwrap(wrap(shared[1::2, 3:].to_cuda())), host[1::2, 3:])
        theirs = wrap(shared.to_cuda())
        np.testing.assert_array_equal(vk.from_cuda(theirs[2:]).copy_to_host(), host[2:])
        np.testing.assert_array_equal(vk.from_cuda(OnlyDlpack(theirs[1:] * 2)).copy_to_host(), host[1:] * 2)
        found = vk.from_cuda(OnlyDlpack(theirs))
        found[0] = 1
        found.to_cuda()  # From here on the memory is CUDA's again.
        np.testing.assert_array_equal(unwrap(theirs)[0], np.ones(7))  # The same memory.
        vk.from_cuda(theirs)[0] = host[0]
        found.to_cuda()
        np.testing.assert_array_equal(vk.from_cuda(theirs + 1).copy_to_host(), host + np.dtype(dtype).type(1))
        with pytest.raises(ValueError, match="gaps"):
            vk.from_cuda(theirs[:, ::2])


def is_double_possible():
    return "llvmpipe" in vk.device_name()[0] and sys.platform == "linux"


def with_double(folder, body, **environment):
    """Runs a program on lavapipe whose `libcuda` is the double, and that says `done` at its end."""
    library = folder / "libcuda.so.1"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, DOUBLE], check=True)
    uuid = vk.current_context().device.uuid.replace("-", "")
    environment = os.environ | {"LD_LIBRARY_PATH": str(folder), "DOUBLE_UUID": uuid} | environment
    run = subprocess.run([sys.executable, "-c", PRELUDE + body + "\nprint('done')"], env=environment, capture_output=True,
                         text=True)
    assert run.stdout.endswith("done\n") and not run.stderr, run.stdout + run.stderr


PRELUDE = """
import ctypes, gc
import numpy as np
import vkarray as vk

live = lambda: ctypes.CDLL("libcuda.so.1").double_live()

def refuses(error, text, function, *args, **asked):
    "Asserts that a call raises this error, whose message has the text."
    try:
        function(*args, **asked)
    except error as raised:
        assert text in str(raised), raised
    else:
        raise AssertionError(text)

def seen(view):
    "The elements at the address, as CUDA has them: an array of NumPy that keeps the view, without a copy."
    given = dict(view.__cuda_array_interface__)
    holder = type("Holder", (), {"__array_interface__": {**given, "version": 3}, "view": view})()
    return np.asarray(holder)

class Theirs:
    "An array of another library, in memory of its own or of a view."
    def __init__(self, host, keeps=None):
        self.host, self.keeps = host, keeps
    @property
    def __cuda_array_interface__(self):
        own = self.host.__array_interface__
        return {key: own[key] for key in ("shape", "typestr", "data", "strides", "version")}
"""


@pytest.mark.skipif(not is_double_possible(), reason="needs lavapipe: the double of CUDA's driver maps its memory")
def test_the_double_of_cuda_has_the_same_bytes(tmp_path):
    with_double(tmp_path, """
x = vk.arange(1009, dtype=vk.float32)
view = x.to_cuda()
theirs = seen(view)
assert (theirs == np.arange(1009)).all()
theirs += 1
ours = vk.from_cuda(Theirs(theirs, view))
assert (ours.copy_to_host() == np.arange(1009) + 1).all()
ours *= 2
assert ours.to_cuda()._mapping is view._mapping and live() == 2
assert (theirs == 2 * (np.arange(1009) + 1)).all()
assert (x.copy_to_host() == np.arange(1009)).all()  # A copy: its memory was the pool's.

part = ours[5:1000:3].to_cuda()
assert (seen(part) == theirs[5:1000:3]).all()
assert (seen(ours[::-1].to_cuda()) == theirs[::-1]).all()
assert (vk.from_cuda(Theirs(theirs[7:], view)).copy_to_host() == theirs[7:]).all()
grid = np.arange(35, dtype="int16").reshape(5, 7)
copied = vk.from_cuda(Theirs(grid))
grid += 1
assert (copied.copy_to_host() == grid - 1).all() and copied.dtype == vk.int16
assert (seen(copied.T.to_cuda()) == (grid - 1).T).all()

del view, theirs, part
gc.collect()
assert live() == 0, live()
assert (ours.copy_to_host() == 2 * (np.arange(1009) + 1)).all()
assert ours._is_exportable and (seen(ours.to_cuda()) == ours.copy_to_host()).all()
kept = ours.to_cuda()  # Ends with the interpreter.
""")


@pytest.mark.skipif(not is_double_possible(), reason="needs lavapipe: the double of CUDA's driver maps its memory")
def test_the_double_of_cuda_gets_everything_back(tmp_path):
    with_double(tmp_path, """
import os
x, n_open = vk.zeros(5003), None
for i in range(500):
    x += 1
    view = x.to_cuda()
    theirs = seen(view)
    theirs += 2
    x = vk.from_cuda(Theirs(theirs, view))
    assert live() <= 4
    y = vk.from_cuda(Theirs(np.full(1001, i, "float32")))
    assert y.copy_to_host().tolist() == [i] * 1001
    if i == 20:
        n_open = len(os.listdir("/proc/self/fd"))
assert (x.copy_to_host() == 1500).all()
assert len(os.listdir("/proc/self/fd")) <= n_open
del view, theirs, y
gc.collect()
assert live() == 0

empty = vk.zeros((3, 0)).to_cuda()
assert empty.__cuda_array_interface__["data"] == (0, False) and vk.from_cuda(empty).shape == (3, 0)
for error, text, given in [
    (ValueError, "gaps", Theirs(np.zeros((4, 4), "float32")[:, ::2])), (ValueError, "gaps", Theirs(np.zeros((4, 4)).T)),
    (TypeError, "datetime64", Theirs(np.zeros(3, "datetime64[s]"))), (AttributeError, "interface", np.zeros(3)),
]:
    refuses(error, text, vk.from_cuda, given)
""")


@pytest.mark.skipif(not is_double_possible(), reason="needs lavapipe: the double of CUDA's driver maps its memory")
def test_failures_of_the_double_leave_nothing_behind(tmp_path):
    expect = """
import os
vk.ones(5).copy_to_host()
n_open = len(os.listdir("/proc/self/fd"))
for i in range(3):
    refuses({error}, {text!r}, lambda: vk.ones(5).to_cuda())
gc.collect()
assert live() == 0 and len(os.listdir("/proc/self/fd")) == n_open
"""
    for fails, text in [("import", "cuImportExternalMemory: invalid"), ("map", "GetMappedBuffer: invalid argument (1)")]:
        with_double(tmp_path, expect.format(error="vk.Error", text=text), DOUBLE_FAILS=fails)
    with_double(tmp_path, expect.format(error="ValueError", text="CUDA does not have the device"), DOUBLE_UUID="1f" * 16)


CONSUMER = """
import threading

class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]

class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p))]

class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)), ("flags", ctypes.c_uint64), ("tensor", Tensor)]

api = ctypes.pythonapi
api.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_GetPointer.argtypes, api.PyCapsule_GetPointer.restype = api.PyCapsule_IsValid.argtypes, ctypes.c_void_p
api.PyCapsule_SetName.argtypes = api.PyCapsule_IsValid.argtypes
NAMES = {False: b"dltensor", True: b"dltensor_versioned"}
USED = {False: b"used_dltensor", True: b"used_dltensor_versioned"}

def managed(capsule, versioned):
    assert api.PyCapsule_IsValid(capsule, NAMES[versioned])
    address = api.PyCapsule_GetPointer(capsule, NAMES[versioned])
    return (Versioned if versioned else Managed).from_address(address), address

def elements(found):
    "The elements of a tensor as an array of NumPy, without a copy."
    t = found.tensor
    shape, strides = t.shape[:t.ndim], t.strides[:t.ndim] if t.strides else None
    kind = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}[t.code]
    dtype = np.dtype(bool) if kind == "b" else np.dtype(f"{kind}{t.bits // 8}")
    assert (t.lanes, t.byte_offset, dtype.itemsize * 8) == (1, 0, t.bits)
    if 0 in shape:
        return np.empty(shape, dtype)  # Without an address.
    given = {"shape": tuple(shape), "typestr": dtype.str, "strides": strides and tuple(s * dtype.itemsize for s in strides),
             "data": (t.data or 0, False), "version": 3}
    return np.asarray(type("Holder", (), {"__array_interface__": given})())
"""


@pytest.mark.skipif(not is_double_possible(), reason="needs lavapipe: the double of CUDA's driver maps its memory")
def test_capsules_of_the_double_have_the_memory_and_keep_it(tmp_path):
    with_double(tmp_path, CONSUMER + """
for dtype in ["bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex64", "complex128"]:
    host = np.arange(35).reshape(5, 7).astype(dtype)
    shared = vk.asarray(host).to_cuda().array
    for key in [np.s_[...], np.s_[1::2, 3:], np.s_[::-1, ::-2], np.s_[3, 4], np.s_[2:2]]:
        for versioned in (False, True):
            view = shared[key].to_cuda()
            capsule = view.__dlpack__(max_version=(1, 0) if versioned else None)
            found, address = managed(capsule, versioned)
            assert view.__dlpack_device__() == (2, 1) == (found.tensor.device_type, found.tensor.device_id)
            assert found.tensor.data == (view.__cuda_array_interface__["data"][0] or None)
            assert not versioned or (found.major, found.flags) == (1, 0)
            own = elements(found)
            assert own.dtype == host.dtype and own.shape == host[key].shape and (own == host[key]).all()
            if own.size:
                own[...] = 1  # Not a copy.
                assert (view.array.copy_to_host() == np.ones_like(own)).all()
                own[...] = host[key]
            del view, own
            if dtype == "float32":
                del shared
                gc.collect()
                assert live() == 2 * (host[key].size > 0)  # The capsule keeps the memory in CUDA.
                api.PyCapsule_SetName(capsule, USED[versioned])
                del capsule
                gc.collect()
                assert live() == 2 * (host[key].size > 0)  # A consumer has it now, who gives it back on any thread.
                thread = threading.Thread(target=found.deleter, args=[address])
                thread.start()
                thread.join()
                shared = vk.asarray(host).to_cuda().array
            else:
                del capsule  # Not consumed.
            gc.collect()
            assert live() == 0, live()

def asked(view, **asked):
    "The tensor of a capsule, which it keeps."
    capsule = view.__dlpack__(**asked)
    found, _ = managed(capsule, "max_version" in asked)
    found.capsule = capsule
    return found

view = vk.arange(12, dtype=vk.float32).to_cuda()
for stream in (None, 1, 2, 2**40, -1):
    assert elements(asked(view, stream=stream)).tolist() == [*range(12)]
view.array[3] = -1  # Recorded work, for which the capsule waits.
assert elements(asked(view, max_version=(2, 1), dl_device=(2, 1), copy=False))[3] == -1
found = asked(view, max_version=(1, 1), copy=True)
assert found.flags == 2 and found.tensor.data != view.__cuda_array_interface__["data"][0]
view.array[3] = 5
assert elements(asked(view))[3] == 5 and elements(found)[3] == -1
found = asked(view, dl_device=(1, 0))
assert found.tensor.device_type == 1 and elements(found)[3] == 5
still = vk.broadcast_to(view.array[:1], (3, 1)).to_cuda()
assert asked(still, max_version=(1, 0)).flags == 1
empty = vk.zeros((0, 2)).to_cuda()
assert empty.__dlpack_device__() == (2, 1) and asked(empty, max_version=(1, 0), copy=True).tensor.data is None
for source, text, wrong in [
    (view, "stream 0", {"stream": 0}), (view, "(2, 0)", {"dl_device": (2, 0)}), (still, "readonly", {}),
    (view, "device memory", {"dl_device": (1, 0), "copy": False}),
]:
    refuses(BufferError, text, source.__dlpack__, **wrong)
""")


@pytest.mark.skipif(not is_double_possible(), reason="needs lavapipe: the double of CUDA's driver maps its memory")
def test_the_double_of_cuda_gives_tensors_by_dlpack(tmp_path):
    with_double(tmp_path, CONSUMER + """
class Foreign:
    "An array of another library that has DLPack alone. Older libraries know no version."
    def __init__(self, host, versioned, kind=None):
        self.host, self.versioned, self.kind = host, versioned, kind
        self.streams, self.ended = [], []
    def __dlpack_device__(self):
        return 2, 1
    def __dlpack__(self, *, stream=None, **asked):
        self.streams.append(stream)
        if asked and not self.versioned:
            raise TypeError("unexpected keywords")
        capsule = self.host.__dlpack__(max_version=asked.get("max_version"))
        found, _ = managed(capsule, self.versioned)
        tensor, deleter = found.tensor, ctypes.cast(found.deleter, ctypes.c_void_p).value
        tensor.device_type, tensor.device_id = 2, 1
        if self.kind:
            tensor.code, tensor.bits = self.kind
            self.kept, self.tensor = capsule, tensor
            return capsule
        def end(address):
            self.ended.append((tensor.device_type, tensor.device_id))
            type(found.deleter)(deleter)(address)
        self.end = found.deleter = type(found.deleter)(end)
        return capsule

view = vk.arange(100, dtype=vk.float32).to_cuda()
for versioned in (False, True):
    for dtype in ["bool", "int16", "float64", "complex64"]:
        host = np.arange(35).reshape(5, 7).astype(dtype)
        given = Foreign(host.copy(), versioned)
        found = vk.from_cuda(given)
        given.host[...] = 0  # Copied.
        assert found.dtype == host.dtype and (found.copy_to_host() == host).all()
        assert given.streams == [1] * len(given.streams) and given.ended == [(2, 1)], given.ended
    before, given = seen(view).copy(), Foreign(seen(view)[10:], versioned)
    ours = vk.from_cuda(given)
    ours += 1
    assert (view.array.copy_to_host() == before + (np.arange(100) >= 10)).all()  # The same memory.
    assert vk.from_cuda(Foreign(np.zeros((3, 0)), versioned)).shape == (3, 0)
    host = np.zeros((4, 4), "float16")
    with_gaps, without_type = Foreign(host[:, ::2], versioned), Foreign(host, versioned, kind=(4, 16))  # `bfloat16`
    for given, error, text in [(with_gaps, ValueError, "gaps"), (without_type, (BufferError, RuntimeError), "dtype")]:
        refuses(error, text, vk.from_cuda, given)
    assert with_gaps.ended == [(2, 1)]
    assert (without_type.tensor.device_type, without_type.tensor.device_id) == (2, 1)
""")


@pytest.mark.skipif(has_driver(), reason="needs a machine without CUDA's driver")
def test_a_missing_driver_is_an_error():
    with pytest.raises(vk.Error, match="libcuda"):
        vk.ones(3).to_cuda()
