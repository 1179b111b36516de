//! Arenas: frames whose memory is reused in order on the device, frames that cannot be reused yet, and memory of other
//! kinds.

use std::sync::Arc;

use vkarray::memory::managers::{ArenaManager, PassthroughManager};
use vkarray::memory::{Allocator, Block, Error as MemoryError, MemoryKind};

use super::{pattern, read};
use crate::fixture::Fixture;
use crate::fixture::host_semaphore::HostSemaphore;

const FRAME: u64 = 64 << 10;

fn arena(fixture: &Fixture, n_frames: usize) -> (ArenaManager, Arc<Allocator>) {
    let arena = ArenaManager::new(Box::new(PassthroughManager::new()), n_frames, FRAME).unwrap();
    let allocator = Allocator::with_manager(fixture.device(), Box::new(arena.clone())).unwrap();
    (arena, allocator)
}

fn block(allocator: &Arc<Allocator>, bytes: u64) -> Arc<Block> {
    allocator.allocate(bytes, MemoryKind::Device).unwrap()
}

#[test]
fn a_frame_is_reused_without_a_host_wait_and_in_order_on_the_device() {
    let fixture = Fixture::open();
    let (arena, allocator) = arena(&fixture, 2);
    let (slow, quick) = (fixture.stream().unwrap(), fixture.stream().unwrap());
    let semaphore = HostSemaphore::new(fixture.device());
    let first = block(&allocator, 4096);
    let place = (first.buffer(), first.buffer_offset());
    slow.wait_for(&semaphore.point(1)).unwrap();
    first.fill(&slow, 1).unwrap();
    drop(first);
    let waits = fixture.device().host_waits();
    assert_eq!((arena.next_frame().unwrap(), arena.next_frame().unwrap()), (1, 2));
    let second = block(&allocator, 4096);
    assert_eq!((second.buffer(), second.buffer_offset()), place, "the frame's memory was not reused");
    second.fill(&quick, 2).unwrap();
    assert_eq!(fixture.device().host_waits(), waits, "the host waited");
    semaphore.signal(1);
    assert_eq!(read(&second, &quick), [2, 0, 0, 0].repeat(1024), "the work of the dropped block came later");
    drop((second, slow, quick));
}

#[test]
fn a_live_block_keeps_its_memory_and_its_frame_from_being_reused() {
    let fixture = Fixture::open();
    let (arena, allocator) = arena(&fixture, 2);
    let held = block(&allocator, 300);
    held.copy_from_host(fixture.default_stream(), 0, &pattern(3, 300)).unwrap();
    assert_eq!(arena.next_frame().unwrap(), 1);
    let error = arena.next_frame().unwrap_err();
    assert_eq!(error.to_string(), "frame 0 of the arena cannot be used again: 1 of its blocks are still alive");
    assert!(matches!(error, MemoryError::FrameInUse { frame: 0, n_blocks: 1 }));
    assert_eq!(arena.frame().unwrap(), 1, "the current frame has changed");
    let other = block(&allocator, 300);
    other.fill(fixture.default_stream(), 0).unwrap();
    assert_eq!(read(&held, fixture.default_stream()), pattern(3, 300));
    drop(held);
    assert_eq!(arena.next_frame().unwrap(), 2);
    drop(other);
}

#[test]
fn a_full_frame_is_out_of_memory_until_the_next_frame() {
    let fixture = Fixture::open();
    let (arena, allocator) = arena(&fixture, 2);
    let most = block(&allocator, FRAME - 1000);
    let MemoryError::OutOfMemory(report) = allocator.allocate(2000, MemoryKind::Device).unwrap_err() else {
        panic!("the frame is full")
    };
    assert_eq!((report.bytes, report.largest_free), (2000, Some(768)), "{report}");
    assert!(report.to_string().contains(&format!("limited to {FRAME} bytes")), "{report}");
    arena.next_frame().unwrap();
    drop(block(&allocator, FRAME));
    drop(most);
}

#[test]
fn other_kinds_of_memory_come_from_the_upstream_manager() {
    let fixture = Fixture::open();
    let (arena, allocator) = arena(&fixture, 1);
    let stream = fixture.default_stream();
    let pinned = allocator.allocate(2 * FRAME, MemoryKind::Pinned).unwrap();
    let bytes = pattern(9, usize::try_from(2 * FRAME).unwrap());
    pinned.copy_from_host(stream, 0, &bytes).unwrap();
    for _ in 0..3 {
        let scratch = block(&allocator, FRAME);
        scratch.copy_from_block(stream, 0, &pinned, FRAME..2 * FRAME).unwrap();
        assert_eq!(read(&scratch, stream), bytes[bytes.len() / 2..]);
        drop(scratch);
        arena.next_frame().unwrap();
    }
    drop(pinned);
    for (n_frames, bytes) in [(0, FRAME), (3, 0), (1, u64::MAX)] {
        let error = ArenaManager::new(Box::new(PassthroughManager::new()), n_frames, bytes).unwrap_err();
        assert!(matches!(error, MemoryError::BadArena { .. }), "{error}");
    }
    let early = ArenaManager::new(Box::new(PassthroughManager::new()), 1, FRAME).unwrap();
    assert!(matches!(early.next_frame().unwrap_err(), MemoryError::NotInitialized));
}
