"""Memory of host and device: views, copies, streams, events, devices and memory objects. NumPy is the judge."""

import asyncio
import gc
import pickle
import sys
import threading
import zlib

import numpy as np
import pytest

import vkarray as vk

MAKERS = [vk.pinned_array, vk.mapped_array]
TYPES = ["bool", "int8", "uint16", "int32", "int64", "uint64", "float16", "float32", "float64", "complex64"]


def counted(shape, dtype="float32"):
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


def filled(make, host):
    x = make(host.shape, host.dtype)
    np.asarray(x)[...] = host
    return x


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (3, 5), (2, 0, 3), (4, 1, 3)])
def test_a_view_by_numpy_is_the_memory(shape, dtype):
    host = counted(shape, dtype)
    x = vk.mapped_array(shape, dtype)
    view = np.asarray(x)
    assert (view.shape, view.dtype, view.flags.writeable, view.flags.owndata) == (shape, host.dtype, True, False)
    view[...] = host
    del view
    np.testing.assert_array_equal(x.copy_to_host(), host)
    np.testing.assert_array_equal(vk.to_device(x).copy_to_host(), host)


@pytest.mark.parametrize("key", [np.s_[1:, ::2], np.s_[::-1, ::-2], np.s_[:, 3], np.s_[2], np.s_[..., None, 0]], ids=repr)
def test_views_of_views_have_numpys_strides(key):
    host = counted((5, 7))
    view = np.asarray(filled(vk.pinned_array, host)[key])
    np.testing.assert_array_equal(view, host[key])
    assert view.strides == host[key].strides
    transposed = np.asarray(filled(vk.pinned_array, host).T)
    np.testing.assert_array_equal(transposed, host.T)


@pytest.mark.parametrize("make", MAKERS)
def test_reading_waits_for_the_device(make):
    x = make(1 << 20, np.float32)
    x[...] = 1
    for _ in range(30):
        x += 1
    assert (np.asarray(x) == 31).all()


def test_the_device_is_refused_while_a_view_exists():
    x = vk.mapped_array(100, np.float32)
    view = np.asarray(x)
    view[:] = 2
    for call in (lambda: x + 1, lambda: x.__iadd__(1), lambda: vk.to_device(x), lambda: x[:10].copy(), lambda: x.sum()):
        with pytest.raises(BufferError, match="NumPy array or a memoryview"):
            call()
    other = memoryview(x[3:])  # A second view of the memory shares it with the first.
    view[3] = 5
    assert (other[0], x.copy_to_host()[3]) == (5, 5)
    del view
    with pytest.raises(BufferError):
        x += 1
    other.release()
    x += 1
    assert x.copy_to_host()[:5].tolist() == [3, 3, 3, 6, 3]


def test_a_view_keeps_the_memory():
    view = np.asarray(filled(vk.pinned_array, counted(100_000)))
    gc.collect()
    others = [vk.pinned_array(100_000, np.float32) for _ in range(5)]
    for other in others:
        np.asarray(other)[:] = -1
    np.testing.assert_array_equal(view, counted(100_000))


def test_buffers_are_checked():
    x = vk.pinned_array((3, 4), np.float32)
    info = memoryview(x)
    assert (info.format, info.shape, info.strides, info.readonly, info.nbytes) == ("f", (3, 4), (16, 4), False, 48)
    assert memoryview(x.broadcast_to((2, 3, 4))).readonly
    del info
    assert len(bytes(x)) == 48
    with pytest.raises(BufferError, match="device memory"):
        memoryview(vk.zeros(3))
    with pytest.raises(BufferError, match="strides"):
        zlib.crc32(x[:, ::2])  # Asks for memory without gaps.
    assert np.frombuffer(x, np.float32).size == 12


def test_threads_view_one_array():
    x, failed = filled(vk.pinned_array, counted(1000)), []

    def read():
        for _ in range(200):
            if np.asarray(x)[999] != 999:
                failed.append(1)

    threads = [threading.Thread(target=read) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not failed
    x += 1  # No view is left.


@pytest.mark.parametrize("make", [vk.device_array, *MAKERS])
def test_shapes_orders_and_strides(make):
    assert (make(3).shape, make(3).dtype, make(()).shape) == ((3,), np.float64, ())
    assert make((2, 3), np.int32, order="F").strides == (4, 8)
    assert make((2, 3), np.int32, strides=(4, 8)).strides == (4, 8)
    for wrong in (dict(strides=(64, 4)), dict(strides=(4,)), dict(order="A")):
        with pytest.raises(ValueError):
            make((2, 3), np.int32, **wrong)


@pytest.mark.parametrize("like", [vk.device_array_like, vk.pinned_array_like, vk.mapped_array_like])
def test_likes_have_numpys_order(like):
    host = np.empty((3, 4, 5), "float32")
    for each in (host, host.T, np.asfortranarray(host), host.transpose(1, 0, 2), host[::2], host[:, 0]):
        made = like(each)
        assert (made.shape, made.dtype, made.strides) == (each.shape, each.dtype, np.empty_like(each).strides)
    assert like(vk.zeros((2, 3)).T).strides == (4, 12)


def test_copies_follow_numba():
    host, stream = counted((3, 4)), vk.stream()
    d = vk.to_device(host, stream=stream)
    assert vk.to_device(d) is d
    p = vk.pinned_array_like(host)
    assert d.copy_to_host(p, stream=stream) is p
    np.testing.assert_array_equal(np.asarray(p), host)
    target = np.zeros((3, 4), "float32")
    assert d.copy_to_host(target) is target
    np.testing.assert_array_equal(target, host)
    strided = np.zeros((3, 8), "float32")
    d.copy_to_host(strided[:, ::2])
    assert (strided[:, ::2] == host).all() and not strided[:, 1::2].any()
    d.copy_to_device(host * 2, stream=stream)
    assert vk.to_device(-host, to=d, stream=stream) is d
    np.testing.assert_array_equal(d.copy_to_host(stream=stream), -host)
    assert vk.to_device(host, copy=False).shape == (3, 4)
    with pytest.raises(TypeError):
        d.copy_to_device(host.astype("float64"))
    with pytest.raises(TypeError):
        d.copy_to_host(np.zeros((3, 4)))
    with pytest.raises(ValueError):
        d.copy_to_device(host[1:])
    with pytest.raises(ValueError):
        d.copy_to_host(np.zeros((4, 3), "float32"))
    with pytest.raises(TypeError):
        d.copy_to_host(vk.zeros((3, 4)))


@pytest.mark.parametrize("n", [1, 1009, 1_000_003])
def test_pinned_arrays_of_numpy_are_copied_in_place(n):
    host, other, stream = counted(n), np.zeros(n, "int32"), vk.stream()
    for _ in range(2):  # Pinned again, after an error.
        with pytest.raises(ZeroDivisionError), vk.pinned(host, other):
            x = vk.to_device(host, stream=stream)
            np.testing.assert_array_equal(x.copy_to_host(), host)
            x += 1
            assert x.copy_to_host(host, stream=stream) is host
            np.testing.assert_array_equal(host, x.copy_to_host())
            x[...] = 0
            x.copy_to_device(host)
            x.astype("int32").copy_to_host(other)
            np.testing.assert_array_equal(other, host)
            with pytest.raises((ValueError, vk.Error)), vk.pinned(host):
                pass
            1 / 0
    np.testing.assert_array_equal(host, counted(n) + 2)
    np.testing.assert_array_equal(vk.to_device(host).copy_to_host(), host)


def test_what_cannot_be_pinned_is_refused():
    fixed = counted(10)
    fixed.flags.writeable = False
    for wrong in (fixed, counted(10)[::2], [1.0], vk.zeros(3)):
        with pytest.raises(ValueError), vk.pinned(wrong):
            pass
    with vk.pinned(np.zeros((0, 3))):
        pass


def test_kernels_write_mapped_memory():
    @vk.jit
    def double(x):
        i = vk.grid(1)
        if i < x.size:
            x[i] *= 2

    x = filled(vk.mapped_array, counted(1009))
    double.forall(1009)(x)
    np.testing.assert_array_equal(np.asarray(x), counted(1009) * 2)


def test_dlpack_of_host_memory_is_a_view():
    x = filled(vk.mapped_array, counted((3, 5)))
    assert (x.__dlpack_device__(), vk.zeros(3).__dlpack_device__()) == ((1, 0), (1, 0))
    view = np.from_dlpack(x)
    view_is_memory = np.shares_memory(view, np.asarray(x))
    np.testing.assert_array_equal(view, counted((3, 5)))
    with pytest.raises(BufferError):
        x += 1
    del view
    x += 1
    assert view_is_memory
    capsule = x[:, ::2].__dlpack__(max_version=(1, 0))
    assert "dltensor_versioned" in repr(capsule)
    del capsule
    copied = np.from_dlpack(x, copy=True)
    x += 1
    np.testing.assert_array_equal(copied, counted((3, 5)) + 1)
    np.testing.assert_array_equal(np.from_dlpack(vk.ones(3)), np.ones(3))
    for wrong in (dict(stream=1), dict(dl_device=(2, 0))):
        with pytest.raises(BufferError):
            x.__dlpack__(**wrong)
    with pytest.raises(BufferError):
        vk.zeros(3).__dlpack__(copy=False)


def test_the_array_interface_is_a_view():
    x = filled(vk.pinned_array, counted((3, 5)))

    class Wrapped:
        __array_interface__ = x.__array_interface__

    view = np.asarray(Wrapped)
    np.testing.assert_array_equal(view, counted((3, 5)))
    assert not hasattr(vk.zeros(3), "__array_interface__") and not hasattr(x[:, ::2], "__array_interface__")


def test_streams_and_events():
    stream, start, end = vk.stream(), vk.event(), vk.event()
    x = vk.zeros(1 << 18)
    start.record(stream)
    y = x.on(stream)
    for _ in range(20):
        y += 1
    end.record(stream)
    end.wait(vk.default_stream())
    end.synchronize()
    assert start.query() and end.query() and vk.event().query()
    assert 0 <= vk.event_elapsed_time(start, end) == start.elapsed_time(end) < 60_000
    with pytest.raises(vk.Error):
        start.elapsed_time(vk.event())
    with pytest.raises(vk.Error):
        start.elapsed_time(vk.event(timing=False))
    with stream.auto_synchronize() as same:
        y += 1
    assert same is stream and stream.query()
    with pytest.raises(ZeroDivisionError), stream.auto_synchronize():
        y += 1
        1 / 0
    assert stream.query()
    vk.default_stream().synchronize()
    for other in (vk.legacy_default_stream(), vk.per_thread_default_stream()):
        x.on(other).copy_to_device(vk.ones(1 << 18))
    vk.synchronize()
    assert other.query() and x.copy_to_host()[-1] == 1


def test_streams_are_awaited():
    async def work(n):
        stream = vk.stream()
        x = vk.pinned_array(1009, np.float32)
        y = vk.to_device(counted(1009)).on(stream)
        y *= n
        y.copy_to_host(x, stream=stream)
        assert await stream.async_done() is stream and stream.query()
        return np.asarray(x).sum()

    async def all_work():
        return await asyncio.gather(*map(work, range(4)))

    assert asyncio.run(all_work()) == [counted(1009).sum() * n for n in range(4)]


def test_callbacks_run_when_the_work_is_done(monkeypatch):
    stream, called, unraisable = vk.stream(), threading.Event(), []
    monkeypatch.setattr(sys, "unraisablehook", lambda error: (unraisable.append(error.exc_type), called.set()))
    given = []
    stream.add_callback(lambda *args: (given.append(args), called.set()), "arg")
    assert called.wait(30) and given == [(stream, None, "arg")]
    called.clear()
    stream.add_callback(lambda *_: 1 / 0)
    assert called.wait(30) and unraisable == [ZeroDivisionError]


def test_contexts_tell_their_memory():
    context = vk.current_context()
    free, total = context.get_memory_info()
    assert 0 < free <= total == context.get_memory_info().total
    assert context == vk.current_context() and context.device in list(vk.gpus)
    with vk.defer_cleanup():
        vk.zeros(1000)
        with vk.defer_cleanup():
            vk.zeros(1000)
    context.synchronize()


def test_devices_are_listed_and_entered():
    assert len(vk.gpus) == len(vk.list_devices()) >= 1 and vk.gpus.current in vk.gpus.lst
    first = vk.gpus[0]
    assert (first.id, first.name in repr(first), first.kind in repr(first)) == (0, True, False)
    before = vk.get_current_device()
    with first as entered:
        assert entered == first == vk.get_current_device() and vk.zeros(3).device == first.name
        with first.get_primary_context() as context:
            assert context == vk.current_context()
    assert vk.get_current_device() == before
    assert vk.select_device(0) == vk.select_device(first) == first
    with pytest.raises(IndexError):
        vk.gpus[99]
    with pytest.raises(vk.Error):
        vk.select_device(99)
    assert vk.zeros(3, device=first).to_device(first).device == first.name
    with pytest.raises(ValueError):
        vk.zeros(3).to_device("no such device")


@pytest.mark.skipif(len(vk.gpus) < 2, reason="there is one device")
def test_arrays_move_between_devices():
    here = vk.arange(1009, dtype=vk.float32)
    with vk.gpus[1]:
        there = here.to_device(vk.gpus[1])
        assert there.device == vk.gpus[1].name
        np.testing.assert_array_equal((there + 1).copy_to_host(), np.arange(1, 1010))
    with pytest.raises(ValueError) as refused:
        here + there
    assert here.device in str(refused.value) and there.device in str(refused.value)


@pytest.mark.parametrize("kind", [vk.MemoryUSMDevice, vk.MemoryUSMHost, vk.MemoryUSMShared])
def test_memory_objects(kind):
    memory = kind(64)
    memory.memset(7)
    assert (memory.nbytes, memory.size, len(memory), bytes(memory)) == (64, 64, 64, b"\7" * 64)
    assert memory.get_usm_type() == memory.array.usm_type
    memory.copy_from_host(b"somewhat")
    target = bytearray(80)
    assert memory.copy_to_host(target) is target
    assert target == b"somewhat" + b"\7" * 56 + bytes(16)
    copy = vk.MemoryUSMDevice(memory, copy=True)
    memory.memset()
    assert copy.tobytes()[:8] == b"somewhat" and not any(memory.copy_to_host())
    memory.copy_from_device(copy)
    assert pickle.loads(pickle.dumps(memory)).tobytes() == copy.tobytes()
    shared = kind(memory)
    shared.memset(1)
    assert shared.reference_obj is memory and memory.tobytes() == b"\1" * 64
    if kind is not vk.MemoryUSMDevice:
        np.asarray(memory)[:3] = 9
        assert memory.tobytes()[:4] == b"\t\t\t\1"
        with pytest.raises(TypeError):
            vk.MemoryUSMDevice(memory)
    for wrong in (lambda: kind(0), lambda: kind(8, alignment=3), lambda: memory.copy_from_host(bytes(65)),
                  lambda: memory.copy_to_host(bytearray(63))):
        with pytest.raises(ValueError):
            wrong()
