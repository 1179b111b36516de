"""Devices, contexts, streams and events, with numba's names."""

import asyncio as _asyncio
from collections.abc import Sequence as _Sequence

from . import _core
from ._core import (
    Event as event,
    Stream as stream,
    current_context,
    default_stream,
    legacy_default_stream,
    per_thread_default_stream,
)

__all__ = [
    "close", "current_context", "default_stream", "defer_cleanup", "event", "event_elapsed_time", "get_current_device",
    "gpus", "legacy_default_stream", "list_devices", "per_thread_default_stream", "select_device", "stream",
]


class _Gpus(_Sequence):
    """The devices of the machine, whose drivers are asked at the first use."""

    def __init__(self):
        self._devices = None

    @property
    def lst(self):
        """The devices in a list."""
        if self._devices is None:
            self._devices = _core.devices()
        return self._devices

    @property
    def current(self):
        """The device of the calls of this thread."""
        return get_current_device()

    def __getitem__(self, place):
        return self.lst[place]

    def __len__(self):
        return len(self.lst)

    def __repr__(self):
        return f"<vkarray devices: {', '.join(device.name for device in self)}>"


gpus = _Gpus()


def list_devices():
    """The devices of the machine, as `vk.gpus`."""
    return gpus


def get_current_device():
    """The device of the calls of this thread."""
    return current_context().device


def select_device(selector):
    """Makes a device that of the process: one of `vk.gpus`, its place there, or a text as in `VKARRAY_DEVICE`.

    Arrays and kernels that exist keep theirs. Returns the device.
    """
    _core.select_device(str(getattr(selector, "id", selector)))
    return get_current_device()


def close():
    """Lets the contexts of all devices go. Arrays that exist keep theirs, and cannot be used with later ones.

    The next call that needs a device opens it, with the memory manager that is set by then.
    """
    _core.close()


def defer_cleanup():
    """Holds back the freeing of memory, in all threads, while a `with` statement runs.

        >>> import vkarray as vk
        >>> with vk.defer_cleanup():
        ...     x = vk.zeros(1000)
        ...     del x  # Its memory is freed after the statement.
    """
    return current_context().defer_cleanup()


def event_elapsed_time(start, end):
    """Milliseconds on the device from one event to another. Both are complete."""
    return start.elapsed_time(end)


def _async_done(self):
    """A future of the running event loop, whose result is the stream when what was recorded so far is complete."""
    loop = _asyncio.get_running_loop()
    future = loop.create_future()

    def settle(status):
        if not future.done():  # It may be cancelled.
            future.set_exception(status) if status else future.set_result(self)

    self.add_callback(lambda _stream, status, _arg: loop.call_soon_threadsafe(settle, status))
    return future


stream.async_done = _async_done
