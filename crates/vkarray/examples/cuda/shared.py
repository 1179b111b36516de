"""The other side of the example `cuda`, with CuPy and PyTorch: both change an array of another process in place.

Arguments: the descriptor of the memory, its size in bytes, the descriptor of the timeline semaphore, the number of elements
(f32), the number of rounds. `shared_array` is the recipe: descriptors to a CuPy array, and by DLPack (`kDLCUDA`) to a tensor.
"""

import ctypes
import sys

import cupy
import torch

cuda = ctypes.CDLL("libcuda.so.1")
OPAQUE_FD, TIMELINE_SEMAPHORE_FD = 1, 9


class Handle(ctypes.Structure):
    _fields_ = [("fd", ctypes.c_int), ("unused", ctypes.c_uint64)]


class MemoryHandle(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("handle", Handle), ("size", ctypes.c_uint64), ("rest", ctypes.c_uint32 * 17)]


class MappedRange(ctypes.Structure):
    _fields_ = [("offset", ctypes.c_uint64), ("size", ctypes.c_uint64), ("rest", ctypes.c_uint32 * 17)]


class SemaphoreHandle(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("handle", Handle), ("rest", ctypes.c_uint32 * 17)]


class SemaphoreValue(ctypes.Structure):
    """The parameters of a signal, and those of a wait, as far as timelines use them."""

    _fields_ = [("value", ctypes.c_uint64), ("rest", ctypes.c_uint64 * 17)]


def check(code, call):
    if code != 0:
        raise RuntimeError(f"{call} failed with {code}")


def shared_array(fd, size, n):
    """An array over exported memory. CUDA takes the descriptor."""
    handle, memory, address = MemoryHandle(OPAQUE_FD, Handle(fd), size), ctypes.c_void_p(), ctypes.c_uint64()
    check(cuda.cuImportExternalMemory(ctypes.byref(memory), ctypes.byref(handle)), "cuImportExternalMemory")
    mapped = cuda.cuExternalMemoryGetMappedBuffer(ctypes.byref(address), memory, ctypes.byref(MappedRange(0, size)))
    check(mapped, "cuExternalMemoryGetMappedBuffer")
    pointer = cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(address.value, size, owner=memory), 0)
    return cupy.ndarray(n, cupy.float32, pointer)


def shared_timeline(fd):
    handle, semaphore = SemaphoreHandle(TIMELINE_SEMAPHORE_FD, Handle(fd)), ctypes.c_void_p()
    check(cuda.cuImportExternalSemaphore(ctypes.byref(semaphore), ctypes.byref(handle)), "cuImportExternalSemaphore")
    return semaphore


def enqueue(call, semaphore, value, stream):
    """Waits for, or signals, a value of the timeline in the order of a stream."""
    value = SemaphoreValue(value)
    check(getattr(cuda, call)(ctypes.byref(semaphore), ctypes.byref(value), 1, ctypes.c_void_p(stream.ptr)), call)


def main():
    memory_fd, size, semaphore_fd, n, rounds = map(int, sys.argv[1:])
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream, torch.cuda.stream(torch.cuda.ExternalStream(stream.ptr)):
        array, turn = shared_array(memory_fd, size, n), shared_timeline(semaphore_fd)
        tensor = torch.from_dlpack(array)  # The same bytes.
        for round in range(rounds):
            enqueue("cuWaitExternalSemaphoresAsync", turn, 2 * round + 1, stream)
            if round % 2:
                array += 1
            else:
                tensor += 1
            enqueue("cuSignalExternalSemaphoresAsync", turn, 2 * round + 2, stream)
    stream.synchronize()


main()
