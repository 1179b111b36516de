//! Arrays for other processes, over a Unix socket: numba's `get_ipc_handle` and `open_ipc_array`.
//!
//! The allocator crate sends memory and checks it. This file sends the element type and the layout with the memory, as
//! a line of text, and compares them with the memory when the array is opened.

use std::os::unix::net::UnixStream;
use std::str::FromStr;

use vkarray_allocator::{IpcError, IpcHandle};
use vkarray_driver::ExternalSemaphore;
use vkarray_kernel::{DType, Element};

use super::interface::{AsDeviceArray, DeviceArrayInterface, MemoryHandle, VERSION};
use crate::array::DeviceNDArray;
use crate::context::Context;
use crate::error::{Error, Result};

/// What the receiver of an array gets.
///
/// ```
/// use vkarray::interop::IpcOptions;
///
/// let options = IpcOptions::default().read_only(true);
/// assert!(options.read_only && !options.whole_block);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
#[must_use]
pub struct IpcOptions {
    /// The receiver's array is read-only. Only this library observes the flag; other code of the receiver can write.
    pub read_only: bool,
    /// The memory may have more bytes than the array, such as the whole block of a view or a manager's chunk, and the
    /// receiver gets all of them.
    pub whole_block: bool,
    /// The handle is made while work on the array is under way, and the host does not wait for it: the receiver's streams wait
    /// for a [timeline](IpcArrayHandle::with_timeline).
    pub unfinished: bool,
}

impl IpcOptions {
    /// Sets whether the receiver's array is read-only.
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Sets whether the handle is made without waiting for the work on the array.
    pub fn unfinished(mut self, unfinished: bool) -> Self {
        self.unfinished = unfinished;
        self
    }

    /// Sets whether a view may share the whole block that it is a part of.
    pub fn whole_block(mut self, whole_block: bool) -> Self {
        self.whole_block = whole_block;
        self
    }
}

/// An array for another process. The memory lives as long as a handle, or an array that was opened from a handle.
///
/// ```
/// use std::os::unix::net::UnixStream;
///
/// use vkarray::interop::IpcArrayHandle;
/// use vkarray::prelude::*;
///
/// let ctx = Context::open_default()?;
/// if ctx.device().external().memory_fd.exportable {
///     let x = ctx.exportable_array::<f32>([2, 3])?;
///     let (socket, other) = UnixStream::pair()?;
///     x.get_ipc_handle()?.send(&socket)?;
///     let handle = IpcArrayHandle::receive(&other)?; // In the other process, `ctx.open_ipc_array::<f32>(&handle)`.
///     assert_eq!((handle.shape(), handle.typestr()), (&[2, 3][..], "<f4"));
/// }
/// # anyhow::Ok(())
/// ```
#[derive(Debug)]
pub struct IpcArrayHandle {
    handle: IpcHandle,
    described: DeviceArrayInterface,
}

impl<T: Element> DeviceNDArray<T> {
    /// A handle of this array for another process. Blocks until the work on the array so far is complete.
    ///
    /// The array has all bytes of an [exportable](Context::exportable_array) block, or of memory that its manager
    /// [names](vkarray_allocator::MemoryManager::get_ipc_handle). [`DeviceNDArray::to_exportable`] makes such an array
    /// of any other array. Messages between the processes order later work: a process waits for its work
    /// ([`Context::synchronize`]) before it sends a message.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`] if the memory is not exportable; [`Error::SharesMore`] for a view, and for a part of a
    /// manager's larger memory; [`Error::Driver`] if waiting fails.
    pub fn get_ipc_handle(&self) -> Result<IpcArrayHandle> {
        self.get_ipc_handle_with(IpcOptions::default())
    }

    /// Makes a handle with options; see [`DeviceNDArray::get_ipc_handle`].
    ///
    /// # Errors
    ///
    /// The errors of [`DeviceNDArray::get_ipc_handle`], without [`Error::SharesMore`] if the options share the whole
    /// block.
    pub fn get_ipc_handle_with(&self, options: IpcOptions) -> Result<IpcArrayHandle> {
        let (block, bytes) = (self.block(), self.layout().byte_extent(size_of::<T>()));
        let handle = block.get_ipc_handle(bytes.clone(), options.read_only || !self.is_writable())?;
        let (first, shared) = (handle.offset(), handle.memory().description().size);
        if !options.whole_block && handle.size() != shared {
            return Err(Error::SharesMore { bytes: first..first + handle.size(), block: shared });
        }
        if !options.unfinished
            && let Some(point) = block.ready_point(self.context().default_stream())?
        {
            point.wait(None)?;
        }
        let mut described = DeviceArrayInterface { ready: None, ..self.device_array_interface()? };
        described.offset = described.offset + first - bytes.start; // Relative to the memory that is shared.
        Ok(IpcArrayHandle { handle, described })
    }
}

impl IpcArrayHandle {
    /// Sends a timeline semaphore with the array, so that neither process's host waits for the other's device.
    ///
    /// [`Context::open_ipc_timeline`] opens the semaphore. Messages between the processes say which value was signalled
    /// ([`Stream::signal_external`](vkarray_driver::Stream::signal_external)) and is to be waited for
    /// ([`Stream::wait_external`](vkarray_driver::Stream::wait_external)), and that a device was lost.
    ///
    /// # Errors
    ///
    /// The errors of [`IpcHandle::with_timeline`], as [`Error::Memory`].
    pub fn with_timeline(self, timeline: &ExternalSemaphore) -> Result<Self> {
        Ok(Self { handle: self.handle.with_timeline(timeline)?, ..self })
    }

    /// Sends the handle to the process at the other end. Blocks while the socket is full. A handle can be sent again,
    /// to other processes.
    ///
    /// # Errors
    ///
    /// [`IpcError::Socket`] if the socket refuses the message.
    pub fn send(&self, socket: &UnixStream) -> Result<()> {
        Ok(self.handle.send(socket, self.note().as_bytes())?)
    }

    /// Receives a handle. Blocks until a handle arrives.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`] with an [`IpcError`] if the sender is of another user, or if the message is not a handle.
    /// Close the socket after an error: the position in its stream of messages is lost.
    pub fn receive(socket: &UnixStream) -> Result<Self> {
        let (handle, note) = IpcHandle::receive(socket)?;
        let memory = MemoryHandle {
            device: handle.memory().description().device_uuid.clone(),
            buffer: 0,
            nbytes: handle.memory().description().size,
        };
        let described = parse(&note, memory, handle.is_read_only());
        let described = described.ok_or(IpcError::Malformed { what: "it describes no array" })?;
        Ok(Self { handle, described })
    }

    /// The length of each axis.
    pub fn shape(&self) -> &[usize] {
        &self.described.shape
    }

    /// The element type as a NumPy type string, such as `<f4`.
    pub fn typestr(&self) -> &str {
        &self.described.typestr
    }

    /// Whether the array that is opened from the handle is read-only.
    pub fn is_read_only(&self) -> bool {
        self.handle.is_read_only()
    }

    /// The memory, and the range of the array's bytes in it.
    pub fn memory(&self) -> &IpcHandle {
        &self.handle
    }

    /// Element type, offset, shape and strides in bytes: `<f4;0;2,3;12,4`. Strides are left out where the elements are
    /// dense.
    fn note(&self) -> String {
        let DeviceArrayInterface { typestr, offset, shape, strides, .. } = &self.described;
        let strides = strides.as_ref().map_or_else(|| "C".to_owned(), |strides| joined(strides));
        format!("{typestr};{offset};{};{strides}", joined(shape))
    }
}

fn joined<T: ToString>(numbers: &[T]) -> String {
    numbers.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}

fn parse(note: &[u8], memory: MemoryHandle, read_only: bool) -> Option<DeviceArrayInterface> {
    let mut parts = std::str::from_utf8(note).ok()?.split(';');
    let (typestr, offset) = (parts.next()?.to_owned(), parts.next()?.parse().ok()?);
    let shape = numbers(parts.next()?)?;
    let strides = match parts.next()? {
        "C" => None,
        text => Some(numbers(text)?),
    };
    let is_whole = parts.next().is_none();
    is_whole.then_some(DeviceArrayInterface {
        shape,
        typestr,
        strides,
        offset,
        memory,
        read_only,
        version: VERSION,
        ready: None,
    })
}

fn numbers<T: FromStr>(text: &str) -> Option<Vec<T>> {
    if text.is_empty() { Some(Vec::new()) } else { text.split(',').map(|number| number.parse().ok()).collect() }
}

impl Context {
    /// Opens the array that a handle of another process names. The array shares the bytes; nothing is copied.
    ///
    /// The memory lives as long as this array, also when the process that made the handle ends. The library does not
    /// order work between the processes; see [`DeviceNDArray::get_ipc_handle`].
    ///
    /// # Errors
    ///
    /// [`Error::Interface`] if the elements are not of type `T` or lie outside the memory; [`Error::Memory`] with
    /// [`IpcError::SameProcess`] in the process that made the handle, or if this device cannot import the memory, for the
    /// reasons of [`Allocator::import`](vkarray_allocator::Allocator::import).
    pub fn open_ipc_array<T: Element>(&self, handle: &IpcArrayHandle) -> Result<DeviceNDArray<T>> {
        let IpcArrayHandle { handle, described } = handle;
        let layout = described.layout(DType::of::<T>(), handle.memory().description().size)?;
        let bytes = layout.byte_extent(size_of::<T>());
        if bytes.start < handle.offset() || bytes.end > handle.offset() + handle.size() {
            return Err(IpcError::Malformed { what: "its array is outside its bytes" }.into());
        }
        let array = DeviceNDArray::new(self, self.allocator().open_ipc(handle)?, layout)?;
        Ok(if handle.is_read_only() { array.read_only() } else { array })
    }

    /// Opens the timeline semaphore that was sent with an array, if one was.
    ///
    /// # Errors
    ///
    /// The errors of [`Allocator::open_ipc_timeline`](vkarray_allocator::Allocator::open_ipc_timeline), as
    /// [`Error::Memory`].
    pub fn open_ipc_timeline(&self, handle: &IpcArrayHandle) -> Result<Option<ExternalSemaphore>> {
        Ok(self.allocator().open_ipc_timeline(&handle.handle)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shape and strides.
    type Described<'a> = (&'a [usize], Option<&'a [isize]>);

    #[test]
    fn a_note_describes_an_array_and_nothing_else_is_one() {
        let memory = || MemoryHandle { device: String::new(), buffer: 0, nbytes: 100 };
        // The line of text, then shape and strides, or `None` where the line is refused.
        let cases: [(&str, Option<Described<'_>>); 10] = [
            ("<f4;0;2,3;C", Some((&[2, 3], None))),
            ("<f4;8;2,3;-12,4", Some((&[2, 3], Some(&[-12, 4])))),
            ("<f4;0;;C", Some((&[], None))), // No axes.
            ("<f4;0;;", Some((&[], Some(&[])))),
            ("<f4;0;2,3", None),
            ("<f4;0;2,3;C;", None),
            ("<f4;-1;2,3;C", None),
            ("<f4;0;2,,3;C", None),
            ("<f4;0;99999999999999999999;C", None),
            ("", None),
        ];
        for (note, expected) in cases {
            let parsed = parse(note.as_bytes(), memory(), true);
            let found = parsed.as_ref().map(|found| (found.shape.as_slice(), found.strides.as_deref()));
            assert_eq!(found, expected, "{note}");
        }
        assert!(parse(b"\xff;0;;C", memory(), true).is_none());
    }
}
