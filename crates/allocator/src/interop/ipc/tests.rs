//! Handles over a socket, without a device: whole handles arrive as they were sent, and all others are refused by name.

use std::fs::File;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::MetadataExt;

use super::*;

fn handle(range: Range<u64>, read_only: bool) -> IpcHandle {
    IpcHandle::new(memory(), range, read_only).unwrap()
}

fn memory() -> ExportedMemory {
    let description = MemoryDescription {
        device_uuid: "0123456789abcdef".repeat(2),
        driver_uuid: "fedcba9876543210".repeat(2),
        size: 1000,
        allocation_size: 4096,
        memory_type: 5,
    };
    // SAFETY: no device imports the descriptor.
    unsafe { ExportedMemory::new(File::open("/dev/null").unwrap().into(), description) }
}

/// Sends bytes with `n_fds` descriptors, closes the socket, and receives.
fn received(bytes: &[u8], n_fds: usize) -> Result<(IpcHandle, Vec<u8>), IpcError> {
    let (sender, receiver) = UnixStream::pair().unwrap();
    let file = File::open("/dev/null").unwrap();
    let fds: Vec<BorrowedFd<'_>> = (0..n_fds).map(|_| file.as_fd()).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if n_fds > 0 {
        assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
    }
    if !bytes.is_empty() {
        let sent = rustix::net::sendmsg(&sender, &[IoSlice::new(bytes)], &mut control, SendFlags::empty());
        assert_eq!(sent, Ok(bytes.len()));
    }
    drop(sender);
    IpcHandle::receive(&receiver)
}

/// A whole handle as bytes.
fn whole() -> Vec<u8> {
    let head = handle(8..108, false).head(b"note").unwrap();
    [&head[..], b"note"].concat()
}

#[test]
fn a_handle_arrives_as_it_was_sent_and_can_be_sent_again() {
    let (sender, receiver) = UnixStream::pair().unwrap();
    for (range, read_only, note) in [(0..1000, false, &b""[..]), (8..108, true, b"note"), (1000..1000, false, b"\0")] {
        let sent = handle(range, read_only);
        for _ in 0..2 {
            sent.send(&sender, note).unwrap();
            let (arrived, text) = IpcHandle::receive(&receiver).unwrap();
            assert_eq!(text, note);
            assert_eq!((arrived.offset(), arrived.size()), (sent.offset(), sent.size()));
            assert_eq!(arrived.memory().description(), sent.memory().description());
            assert_eq!((arrived.is_read_only(), arrived.exporter()), (read_only, process::id()));
            let file = File::from(arrived.memory().fd().unwrap());
            assert_eq!(file.metadata().unwrap().rdev(), File::open("/dev/null").unwrap().metadata().unwrap().rdev());
        }
    }
    let long = vec![0; MAX_NOTE as usize + 1];
    assert!(matches!(handle(0..1, false).send(&sender, &long), Err(IpcError::Malformed { .. })));
}

#[test]
fn a_timeline_arrives_beside_the_memory() {
    let (sender, receiver) = UnixStream::pair().unwrap();
    let timeline = File::open("/dev/zero").unwrap().into();
    IpcHandle { timeline: Some(timeline), exporter: 77, ..IpcHandle::new(memory(), 0..8, false).unwrap() }
        .send(&sender, b"")
        .unwrap();
    let (arrived, _) = IpcHandle::receive(&receiver).unwrap();
    let device = |fd: &OwnedFd| File::from(fd.try_clone().unwrap()).metadata().unwrap().rdev();
    assert_eq!(device(&arrived.memory().fd().unwrap()), File::open("/dev/null").unwrap().metadata().unwrap().rdev());
    assert_eq!(device(arrived.timeline.as_ref().unwrap()), File::open("/dev/zero").unwrap().metadata().unwrap().rdev());
}

#[test]
fn bytes_outside_the_memory_make_no_handle() {
    for range in [0..1001, 1001..1001, u64::MAX..u64::MAX] {
        assert!(IpcHandle::new(memory(), range, false).is_err());
    }
    #[expect(clippy::reversed_empty_ranges, reason = "it is refused")]
    let reversed = IpcHandle::new(memory(), 9..8, false);
    assert!(matches!(reversed, Err(crate::Error::ReversedRange { start: 9, end: 8 })));
}

#[test]
fn a_truncated_handle_is_refused_at_every_length() {
    let whole = whole();
    for len in 0..whole.len() {
        let refused = received(&whole[..len], 1).map(drop).unwrap_err();
        assert!(matches!(refused, IpcError::Truncated), "{len}: {refused}");
    }
    assert!(received(&whole, 1).is_ok());
}

#[test]
fn a_handle_without_its_descriptor_or_with_others_is_refused() {
    for n_fds in [0, 2, 3] {
        let refused = received(&whole(), n_fds).map(drop).unwrap_err();
        assert!(
            matches!(refused, IpcError::Descriptors { received, expected: 1 } if received == n_fds),
            "{n_fds}: {refused}"
        );
    }
    assert!(received(&whole(), 6).is_err()); // More descriptors than there is room for, which the system drops.
}

#[test]
fn a_forged_head_is_refused() {
    let forged = |at: usize, bytes: &[u8]| {
        let mut whole = whole();
        whole[at..at + bytes.len()].copy_from_slice(bytes);
        received(&whole, 1).map(drop).map_err(|error| error.to_string())
    };
    let impossible = |what| Err(format!("the handle is not possible: {what}"));
    let no_handle = Err("what was received is no handle of this version".to_owned());
    let uuid = || impossible("a UUID is not 32 hexadecimal digits");
    let outside = || impossible("its bytes are outside the block");
    let most = u64::MAX.to_le_bytes();
    // The offset in the head, the bytes there, and the refusal.
    let cases = [
        (0, &b"V"[..], no_handle.clone()),
        (7, b"\x02", no_handle), // Another version.
        (12, b"\x04", impossible("it has unknown flags")),
        (12, b"\x02", Err("the handle has 2 file descriptors, and 1 were received".to_owned())),
        (16, b"G", uuid()),
        (16, b"A", uuid()), // UUIDs are written in lower case.
        (48, b"\xff", uuid()),
        (80, &most, impossible("the block is larger than its allocation")),
        (88, &[0; 8], impossible("the block is larger than its allocation")),
        (100, &most, outside()), // Offset and length overflow.
        (100, &901_u64.to_le_bytes(), outside()),
        (108, &most, outside()),
        (116, &u32::MAX.to_le_bytes(), impossible("the note is longer than 64 KiB")),
        (96, &77_u32.to_le_bytes(), Ok(())), // The import checks the memory type.
    ];
    for (at, bytes, expected) in cases {
        assert_eq!(forged(at, bytes), expected, "{bytes:?} at {at}");
    }
}

#[test]
fn random_heads_are_read_without_a_panic() {
    fastrand::seed(7);
    for _ in 0..2000 {
        let mut whole = whole();
        for _ in 0..fastrand::usize(1..6) {
            let at = fastrand::usize(0..whole.len());
            whole[at] = fastrand::u8(..);
        }
        whole.truncate(fastrand::usize(0..=whole.len()));
        drop(received(&whole, fastrand::usize(0..3)));
    }
}

#[test]
fn a_process_of_another_user_is_refused() {
    assert!(check_same_user(1000, 1000).is_ok());
    let refused = check_same_user(0, 1000).unwrap_err().to_string();
    assert_eq!(refused, "the handle was sent by user 0 to user 1000");
}
