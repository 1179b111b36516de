//! When dropped memory is due, and how frees are held back: numba's rules, one by one, on the plain manager.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use vkarray::{Allocator, Block, MemoryKind, PassthroughManager, Pending, PendingLimits, Stream};

use crate::fixture::Fixture;
use crate::raised::RaisedByHand;
use crate::watchdog::watched;

const NONE: Pending = Pending { n_blocks: 0, bytes: 0 };

/// An allocator with those limits.
fn allocator(fixture: &Fixture, max_count: usize, max_ratio: f64) -> Arc<Allocator> {
    let manager = PassthroughManager::new().with_limits(PendingLimits::new(max_count, max_ratio));
    Allocator::with_manager(fixture.device(), Box::new(manager)).unwrap()
}

fn block(allocator: &Arc<Allocator>, bytes: u64) -> Arc<Block> {
    allocator.allocate(bytes, MemoryKind::Device).unwrap()
}

fn drop_some(allocator: &Arc<Allocator>, n: usize) {
    let blocks: Vec<_> = (0..n).map(|_| block(allocator, 100)).collect();
    drop(blocks);
}

/// A block whose last use is done when the semaphore reaches 1.
fn busy(allocator: &Arc<Allocator>, stream: &Stream, semaphore: &RaisedByHand) -> Arc<Block> {
    let block = block(allocator, 1000);
    stream.wait_for(&semaphore.point(1)).unwrap();
    block.fill(stream, 1).unwrap();
    block
}

#[test]
fn ten_wait_and_the_eleventh_frees_all_eleven() {
    let fixture = Fixture::open();
    let allocator = allocator(&fixture, 10, 0.2);
    for n in 1..=10 {
        drop(block(&allocator, 100));
        assert_eq!(allocator.pending().n_blocks, n);
    }
    drop(block(&allocator, 100));
    assert_eq!((allocator.pending(), allocator.usage().in_use), (NONE, 0));
}

#[test]
fn a_count_of_zero_frees_at_once() {
    let fixture = Fixture::open();
    let allocator = allocator(&fixture, 0, 1.0);
    for _ in 0..3 {
        drop(block(&allocator, 100));
        assert_eq!(allocator.pending(), NONE);
    }
}

#[test]
fn bytes_over_the_ratio_are_freed_at_once_of_every_kind() {
    let fixture = Fixture::open();
    let allocator = allocator(&fixture, 1000, 1e-4); // 200 KB of lavapipe's heap, 8 MB of an H100's.
    let heap = fixture.info().memory_heaps.iter().map(|heap| heap.size).max().unwrap();
    for kind in [MemoryKind::Device, MemoryKind::Pinned, MemoryKind::WriteCombined] {
        drop(allocator.allocate(100, kind).unwrap());
        assert_eq!(allocator.pending().n_blocks, 1, "{kind}");
        drop(allocator.allocate(heap / 1000, kind).unwrap());
        assert_eq!(allocator.pending().n_blocks, 0, "{kind}: one allocation over the limit takes all with it");
    }
}

#[test]
fn what_is_due_and_in_use_waits_for_its_work_and_holds_back_nothing() {
    let fixture = Fixture::open();
    let (allocator, stream) = (allocator(&fixture, 0, 1.0), fixture.stream().unwrap());
    let semaphore = RaisedByHand::new(fixture.device());
    drop(busy(&allocator, &stream, &semaphore));
    assert_eq!(allocator.pending().n_blocks, 1);
    drop(block(&allocator, 100));
    assert_eq!(allocator.pending().n_blocks, 1, "the other one is freed");
    semaphore.raise(1);
    stream.synchronize().unwrap();
    assert_eq!(allocator.pending().n_blocks, 1, "waiting for a stream frees nothing");
    drop(block(&allocator, 100)); // This finds that too much waits.
    assert_eq!(allocator.pending(), NONE);
}

#[test]
fn what_is_due_is_freed_by_the_next_allocation() {
    let fixture = Fixture::open();
    let (allocator, stream) = (allocator(&fixture, 0, 1.0), fixture.stream().unwrap());
    let semaphore = RaisedByHand::new(fixture.device());
    drop(busy(&allocator, &stream, &semaphore));
    semaphore.raise(1);
    stream.synchronize().unwrap();
    let _next = block(&allocator, 100);
    assert_eq!(allocator.pending(), NONE);
}

#[test]
fn only_the_outermost_guard_ends_the_deferral_and_frees_nothing_itself() {
    let fixture = Fixture::open();
    let allocator = allocator(&fixture, 10, 0.2);
    let last = block(&allocator, 100);
    let outer = allocator.defer_cleanup();
    let inner = allocator.defer_cleanup();
    drop_some(&allocator, 20);
    drop(inner);
    drop_some(&allocator, 5);
    assert_eq!(allocator.pending().n_blocks, 25, "frees are still held back");
    drop(outer);
    assert_eq!(allocator.pending().n_blocks, 25, "the end of a guard frees nothing");
    drop(last);
    assert_eq!(allocator.pending(), NONE);
}

#[test]
fn while_frees_are_held_back_a_flush_frees_nothing() {
    let fixture = Fixture::open();
    let allocator = allocator(&fixture, 10, 0.2);
    let guard = allocator.defer_cleanup();
    drop_some(&allocator, 11);
    allocator.try_flush().unwrap();
    allocator.flush().unwrap();
    allocator.reset().unwrap();
    assert_eq!(allocator.pending().n_blocks, 11);
    drop(guard);
    allocator.try_flush().unwrap();
    assert_eq!(allocator.pending(), NONE);
}

#[test]
fn a_panic_under_a_guard_ends_the_deferral() {
    let fixture = Fixture::open();
    let allocator = allocator(&fixture, 0, 1.0);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let _guard = allocator.defer_cleanup();
        drop(block(&allocator, 100));
        assert_eq!(allocator.pending().n_blocks, 1);
        panic!("in the middle");
    }));
    assert!(outcome.is_err());
    drop(block(&allocator, 100));
    assert_eq!(allocator.pending(), NONE);
}

#[test]
fn a_leaked_guard_loses_no_memory() {
    let fixture = Fixture::open();
    let allocator = allocator(&fixture, 0, 1.0);
    std::mem::forget(allocator.defer_cleanup());
    drop_some(&allocator, 30);
    assert_eq!(allocator.pending().n_blocks, 30);
    drop(allocator); // All of it goes with the allocator: the fixture looks for what is left.
}

#[test]
fn a_guard_holds_back_the_frees_of_all_threads() {
    let fixture = Fixture::open();
    let (one, other) = (allocator(&fixture, 0, 1.0), allocator(&fixture, 0, 1.0));
    let guard = one.defer_cleanup();
    thread::scope(|scope| {
        scope.spawn(|| drop_some(&one, 3));
        scope.spawn(|| drop_some(&other, 3));
    });
    assert_eq!((one.pending().n_blocks, other.pending().n_blocks), (3, 0), "the other allocator is not held");
    drop(guard);
}

#[test]
fn blocks_are_dropped_from_any_thread_while_others_flush() {
    let fixture = Fixture::open();
    let allocator = allocator(&fixture, 10, 0.2);
    watched("dropping from many threads", || {
        thread::scope(|scope| {
            for i in 0..4_u32 {
                let (allocator, fixture) = (&allocator, &fixture);
                scope.spawn(move || {
                    let stream = fixture.stream().unwrap();
                    for round in 0..100 {
                        let block = block(allocator, 64 + u64::from(i));
                        if round % 3 > 0 {
                            block.fill(&stream, i).unwrap();
                        }
                        match round % 20 {
                            7 => allocator.flush().unwrap(),
                            13 => allocator.try_flush().unwrap(),
                            17 => drop(allocator.defer_cleanup()),
                            _ => {}
                        }
                    }
                });
            }
        });
    });
    allocator.flush().unwrap();
    assert_eq!((allocator.pending(), allocator.usage().in_use), (NONE, 0));
}

#[test]
fn a_flush_frees_what_waits_whether_due_or_not() {
    let fixture = Fixture::open();
    let (allocator, stream) = (allocator(&fixture, 10, 0.2), fixture.stream().unwrap());
    let semaphore = RaisedByHand::new(fixture.device());
    drop(busy(&allocator, &stream, &semaphore));
    drop_some(&allocator, 2);
    allocator.try_flush().unwrap();
    assert_eq!(allocator.pending().n_blocks, 1, "what is in use stays");
    semaphore.raise(1);
    allocator.flush().unwrap();
    assert_eq!(allocator.pending(), NONE);
}

#[test]
fn an_allocator_does_not_wait_for_ever_for_work_that_does_not_end() {
    let mut fixture = Fixture::open();
    let stream = fixture.stream().unwrap();
    let allocator = allocator(&fixture, 10, 0.2);
    let semaphore = RaisedByHand::new(fixture.device());
    drop(busy(&allocator, &stream, &semaphore));
    watched("ending an allocator whose memory is in use", || drop(allocator)); // Ten seconds.
    semaphore.raise(1);
    stream.synchronize().unwrap();
    drop((semaphore, stream));
    // The memory is leaked, and with it what it needs. Freed under the device's feet, it would be a silent error.
    let complaints = fixture.close();
    assert!(complaints.len() == 1 && complaints[0].starts_with("leak: "), "{complaints:?}");
}
