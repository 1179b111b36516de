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


def cupy_side():
    import cupy

    return cupy.asarray, cupy.asnumpy, lambda: cupy.cuda.Device().mem_info[0]


def torch_side():
    import torch

    return (
        lambda view: torch.as_tensor(view, device="cuda"), lambda tensor: tensor.cpu().numpy(),
        lambda: torch.cuda.mem_get_info()[0],
    )


@pytest.fixture(params=["cupy", "torch"])
def side(request):
    """What makes an array of the library in CUDA, what copies one to the host, and what counts free memory."""
    if not has_driver() or "NVIDIA" not in vk.device_name()[0]:
        pytest.skip("needs the driver of CUDA and an NVIDIA GPU")
    if importlib.util.find_spec(request.param) is None:
        pytest.skip(f"needs {request.param}")
    return {"cupy": cupy_side, "torch": torch_side}[request.param]()


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
    try:
        vk.from_cuda(given)
    except error as raised:
        assert text in str(raised), raised
    else:
        raise AssertionError(text)
""")


@pytest.mark.skipif(not is_double_possible(), reason="needs lavapipe: the double of CUDA's driver maps its memory")
def test_failures_of_the_double_leave_nothing_behind(tmp_path):
    expect = """
import os
vk.ones(5).copy_to_host()
n_open = len(os.listdir("/proc/self/fd"))
for i in range(3):
    try:
        vk.ones(5).to_cuda()
    except {error} as raised:
        assert {text!r} in str(raised), raised
    else:
        raise AssertionError
gc.collect()
assert live() == 0 and len(os.listdir("/proc/self/fd")) == n_open
"""
    for fails, text in [("import", "cuImportExternalMemory: invalid"), ("map", "GetMappedBuffer: invalid argument (1)")]:
        with_double(tmp_path, expect.format(error="vk.Error", text=text), DOUBLE_FAILS=fails)
    with_double(tmp_path, expect.format(error="ValueError", text="CUDA does not have the device"), DOUBLE_UUID="1f" * 16)


@pytest.mark.skipif(has_driver(), reason="needs a machine without CUDA's driver")
def test_a_missing_driver_is_an_error():
    with pytest.raises(vk.Error, match="libcuda"):
        vk.ones(3).to_cuda()
