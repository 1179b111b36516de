//! Memory for another process: [`IpcHandle`]s over a Unix socket.
//!
//! A handle is one message: a fixed head with its file descriptors beside it (one of the memory, and one of a timeline
//! semaphore if it is sent), then the note of the crate above (for arrays: element type and layout). Both sides
//! check that the other process is of the same user (`SO_PEERCRED`), and the receiver checks the values of the head; the
//! import then checks UUIDs, sizes and the memory type. What the descriptors refer to is trusted: a process of the same
//! user could write to this process's memory in any case.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::iter;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process;
use std::sync::Arc;

use rustix::io::retry_on_intr;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};
use smallvec::SmallVec;
use vkarray_driver::{ExternalSemaphore, SemaphoreKind};

use crate::allocator::{Allocator, Block};
use crate::error::{Error, IpcError, Result};
use crate::memory::{ExportedMemory, IpcHandle, MemoryDescription};

/// The first bytes of a handle; the last byte of these is the version.
const MAGIC: [u8; 8] = *b"vkarray\x01";

/// Bytes of the head: magic, exporter, flags, two UUIDs as text, five numbers, the length of the note.
const HEAD: usize = 8 + 4 + 4 + 32 + 32 + 8 + 8 + 4 + 8 + 8 + 4;

/// The longest note that is accepted.
const MAX_NOTE: u32 = 1 << 16;

/// The flag of memory that the receiver may not write.
const READ_ONLY: u32 = 1;

/// The flag of a handle with a second descriptor, of a timeline semaphore.
const TIMELINE: u32 = 2;

impl IpcHandle {
    /// Sends the handle, with a note of at most 64 KiB for the receiver. Blocks while the socket is full. The handle
    /// can be sent again, to other processes.
    ///
    /// # Errors
    ///
    /// [`IpcError::OtherUser`], [`IpcError::Socket`], [`IpcError::Malformed`] for a longer note.
    pub fn send(&self, socket: &UnixStream, note: &[u8]) -> Result<(), IpcError> {
        let (own, peer) = users(socket)?;
        check_same_user(own, peer)?;
        let head = self.head(note)?;
        let fds: SmallVec<[_; 2]> =
            iter::once(self.memory().as_fd()).chain(self.timeline.as_ref().map(AsFd::as_fd)).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(&fds));
        let send = || rustix::net::sendmsg(socket, &[IoSlice::new(&head)], &mut control, SendFlags::NOSIGNAL);
        let sent = retry_on_intr(send).map_err(io::Error::from)?;
        let mut socket = socket;
        socket.write_all(&head[sent..])?;
        Ok(socket.write_all(note)?)
    }

    /// Receives a handle and its note. Blocks until both have arrived. Descriptors of this process are not passed on to
    /// programs that it starts.
    ///
    /// # Errors
    ///
    /// Every variant of [`IpcError`] except [`IpcError::SameProcess`]. Close the socket after an error: the position in
    /// its stream of messages is lost.
    pub fn receive(socket: &UnixStream) -> Result<(Self, Vec<u8>), IpcError> {
        let (own, peer) = users(socket)?;
        check_same_user(peer, own)?;
        let mut head = [0; HEAD];
        let (received, mut fds) = receive_first(socket, &mut head)?;
        let mut socket = socket;
        read_exact(&mut socket, &mut head[received..])?;
        let (description, range, exporter, flags, n_note) = parse(&head)?;
        let mut note = vec![0; n_note];
        read_exact(&mut socket, &mut note)?;
        let (received, expected) = (fds.len(), if flags & TIMELINE == 0 { 1 } else { 2 });
        if received != expected {
            return Err(IpcError::Descriptors { received, expected });
        }
        let (fd, timeline) = (fds.swap_remove(0), fds.pop());
        // SAFETY: the sender, a process of the same user, promises that the descriptor is of memory with this
        // description.
        let memory = unsafe { ExportedMemory::new(fd, description) };
        Ok((Self { memory, range, exporter, is_read_only: flags & READ_ONLY != 0, timeline }, note))
    }

    fn head(&self, note: &[u8]) -> Result<[u8; HEAD], IpcError> {
        let too_long = IpcError::Malformed { what: "the note is longer than 64 KiB" };
        let n_note = u32::try_from(note.len()).ok().filter(|&len| len <= MAX_NOTE).ok_or(too_long)?;
        let described = self.memory().description();
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        let flags = flag(self.is_read_only(), READ_ONLY) | flag(self.timeline.is_some(), TIMELINE);
        let mut head = Vec::with_capacity(HEAD);
        head.extend(MAGIC);
        head.extend(self.exporter().to_le_bytes());
        head.extend(flags.to_le_bytes());
        head.extend(described.device_uuid.bytes());
        head.extend(described.driver_uuid.bytes());
        head.extend(described.size.to_le_bytes());
        head.extend(described.allocation_size.to_le_bytes());
        head.extend(described.memory_type.to_le_bytes());
        head.extend(self.offset().to_le_bytes());
        head.extend(self.size().to_le_bytes());
        head.extend(n_note.to_le_bytes());
        head.try_into().map_err(|_| IpcError::Malformed { what: "a UUID is not 32 digits" })
    }
}

/// The parts of a head: description, range, exporter, flags, length of the note.
type Head = (MemoryDescription, Range<u64>, u32, u32, usize);

fn parse(head: &[u8; HEAD]) -> Result<Head, IpcError> {
    let mut rest = &head[..];
    if take::<8>(&mut rest) != MAGIC {
        return Err(IpcError::NotAHandle);
    }
    let exporter = u32::from_le_bytes(take(&mut rest));
    let flags = u32::from_le_bytes(take(&mut rest));
    let (device_uuid, driver_uuid) = (uuid(take(&mut rest))?, uuid(take(&mut rest))?);
    let size = u64::from_le_bytes(take(&mut rest));
    let allocation_size = u64::from_le_bytes(take(&mut rest));
    let memory_type = u32::from_le_bytes(take(&mut rest));
    let (offset, len) = (u64::from_le_bytes(take(&mut rest)), u64::from_le_bytes(take(&mut rest)));
    let n_note = u32::from_le_bytes(take(&mut rest));
    let malformed = |what| IpcError::Malformed { what };
    if flags & !(READ_ONLY | TIMELINE) != 0 {
        return Err(malformed("it has unknown flags"));
    }
    if size > allocation_size {
        return Err(malformed("the block is larger than its allocation"));
    }
    let end = offset.checked_add(len).filter(|&end| end <= size);
    let end = end.ok_or(malformed("its bytes are outside the block"))?;
    if n_note > MAX_NOTE {
        return Err(malformed("the note is longer than 64 KiB"));
    }
    let description = MemoryDescription { device_uuid, driver_uuid, size, allocation_size, memory_type };
    Ok((description, offset..end, exporter, flags, n_note as usize))
}

/// The next `N` bytes of a head, which has at least `N` more.
fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    let (taken, behind) = rest.split_first_chunk().expect("a head is as long as its parts");
    *rest = behind;
    *taken
}

fn uuid(digits: [u8; 32]) -> Result<String, IpcError> {
    let is_hex = digits.iter().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte));
    let text = if is_hex { String::from_utf8(digits.to_vec()).ok() } else { None };
    text.ok_or(IpcError::Malformed { what: "a UUID is not 32 hexadecimal digits" })
}

/// The users of this process and of the one at the other side of a socket.
fn users(socket: &UnixStream) -> Result<(u32, u32), IpcError> {
    let peer = rustix::net::sockopt::socket_peercred(socket).map_err(io::Error::from)?;
    Ok((rustix::process::geteuid().as_raw(), peer.uid.as_raw()))
}

fn check_same_user(sender: u32, receiver: u32) -> Result<(), IpcError> {
    if sender == receiver { Ok(()) } else { Err(IpcError::OtherUser { sender, receiver }) }
}

/// Receives the first bytes of a handle and all descriptors that come with them.
fn receive_first(socket: &UnixStream, head: &mut [u8]) -> Result<(usize, Vec<OwnedFd>), IpcError> {
    // There is room for more than one descriptor, so that surplus descriptors are noticed, and closed.
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let receive = || rustix::net::recvmsg(socket, &mut [IoSliceMut::new(head)], &mut control, RecvFlags::CMSG_CLOEXEC);
    let received = retry_on_intr(receive).map_err(io::Error::from)?;
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    if received.bytes == 0 { Err(IpcError::Truncated) } else { Ok((received.bytes, fds)) }
}

fn read_exact(socket: &mut impl Read, bytes: &mut [u8]) -> Result<(), IpcError> {
    socket.read_exact(bytes).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => IpcError::Truncated,
        _ => error.into(),
    })
}

impl Allocator {
    /// Opens memory of another process: a block of all of it, in which the handle names `size` bytes at `offset`.
    ///
    /// The library does not order work between the processes: messages say when one process is done with the memory and
    /// the other may continue.
    ///
    /// # Errors
    ///
    /// [`IpcError::SameProcess`]; and the errors of [`Allocator::import`].
    pub fn open_ipc(self: &Arc<Self>, handle: &IpcHandle) -> Result<Arc<Block>> {
        check_other_process(handle)?;
        self.import(handle.memory())
    }

    /// Opens the timeline semaphore that was sent with a handle, if one was sent.
    ///
    /// A stream waits for the other process's signals by
    /// [`Stream::wait_external`](vkarray_driver::Stream::wait_external). A process that ends leaves its values
    /// unsignalled, and work that waits for such a value would block its queue on this device. Therefore let a stream
    /// wait only for values whose signal the other process reports as submitted.
    ///
    /// # Errors
    ///
    /// [`IpcError::SameProcess`]; [`Error::ForeignMemory`] if the handle is of another device or driver;
    /// [`Error::Descriptor`] if the descriptor is of no semaphore, or the process has too many; [`Error::Driver`] if this
    /// device does not import timelines.
    pub fn open_ipc_timeline(&self, handle: &IpcHandle) -> Result<Option<ExternalSemaphore>> {
        check_other_process(handle)?;
        let Some(fd) = &handle.timeline else { return Ok(None) };
        let fd = fd.try_clone().map_err(Error::Descriptor)?;
        let file = self.external().device_file(handle.memory().description(), fd)?;
        // SAFETY: the sender, a process of the same user, promises that the descriptor is of a timeline semaphore of
        // the device and driver with these UUIDs, which are this device's.
        let timeline =
            unsafe { ExternalSemaphore::import_fd(self.device().logical(), SemaphoreKind::Timeline, file.into()) };
        Ok(Some(timeline?))
    }
}

fn check_other_process(handle: &IpcHandle) -> Result<()> {
    let process = process::id();
    if handle.exporter() == process { Err(IpcError::SameProcess { process }.into()) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
