//! The pool: reuse of memory while work is in flight, by several streams and threads, and memory that it returns to the
//! driver.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread;

use vkarray::Groups;
use vkarray::memory::managers::PoolManager;
use vkarray::memory::{Allocator, Error as MemoryError, MemoryKind};

use super::pattern;
use crate::fixture::kernels::{mix, mixed};
use crate::fixture::{Fixture, contents};

const MIB: u64 = 1 << 20;

#[test]
fn reuse_of_memory_in_flight_keeps_results_correct() {
    let fixture = Fixture::open();
    let (mix, streams) = (mix(&fixture), [fixture.stream().unwrap(), fixture.stream().unwrap()]);
    for seed in 0..6 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut expected = [0_u32; 4];
        let sums = expected.map(|zero| fixture.slice_to_device(&[zero; 64]).unwrap());
        let mut held = VecDeque::new();
        for round in 0..150 {
            // A temporary array is written on one stream, read on one of the two, and dropped now or a few rounds
            // later.
            let (writer, reader) = (&streams[random.usize(0..2)], &streams[random.usize(0..2)]);
            let (value, sum) = (random.u32(1..1000), random.usize(0..4));
            let temporary = fixture.device_array::<u32>([64]).unwrap();
            temporary.block().fill(writer, value).unwrap();
            mix.dispatch(reader, Groups::covering([64]), (&temporary, &sums[sum], round)).unwrap();
            expected[sum] = mixed(value, expected[sum], round);
            held.push_back(temporary);
            while held.len() > random.usize(0..4) {
                held.pop_front();
            }
            if random.u8(0..20) == 0 {
                writer.flush().unwrap();
            }
        }
        for (sum, expected) in sums.iter().zip(expected) {
            assert_eq!(contents(sum), [expected; 64], "seed {seed}");
        }
    }
    let counters = fixture.allocator().counters();
    assert!(counters.allocations > 900 && counters.growths < 5, "{counters:?}");
}

#[test]
fn a_million_blocks_are_allocated_without_growth() {
    let fixture = Fixture::open();
    let allocator = fixture.allocator();
    let sizes = [1, 300, 70_000, MIB, 3 * MIB];
    sizes.iter().for_each(|size| drop(allocator.allocate(*size, MemoryKind::Device).unwrap()));
    let growths = allocator.counters().growths;
    for size in sizes.into_iter().cycle().take(1_000_000) {
        drop(allocator.allocate(size, MemoryKind::Device).unwrap());
    }
    let counters = allocator.counters();
    assert_eq!((counters.growths, counters.waits, counters.n_in_use), (growths, 0, 0), "{counters:?}");
}

#[test]
fn threads_never_have_the_same_memory_at_once() {
    let fixture = Fixture::open();
    thread::scope(|scope| {
        for first in 0..6_u8 {
            let fixture = &fixture;
            scope.spawn(move || {
                let stream = fixture.stream().unwrap();
                let mut random = fastrand::Rng::with_seed(u64::from(first));
                let mut held = Vec::new();
                for n in 0..150_u8 {
                    let len = random.usize(1..5000);
                    let block = fixture.allocator().allocate(len as u64, MemoryKind::Device).unwrap();
                    let bytes = pattern(first.wrapping_mul(41).wrapping_add(n), len);
                    block.copy_from_host(&stream, 0, &bytes).unwrap();
                    held.push((block, bytes));
                    if held.len() > 8 {
                        let (block, bytes) = held.swap_remove(random.usize(0..8));
                        let mut back = vec![0; bytes.len()];
                        block.copy_to_host(&stream, 0, &mut back).unwrap();
                        assert_eq!(back, bytes, "thread {first}, round {n}");
                    }
                }
            });
        }
    });
    fixture.allocator().release_staging();
    let counters = fixture.allocator().counters();
    assert_eq!((counters.n_in_use, counters.total(|kind| kind.in_use)), (0, 0), "{counters:?}");
    assert!(counters.kind(MemoryKind::Device).peak > 0);
}

#[test]
fn trim_returns_unused_memory_to_the_driver() {
    let fixture = Fixture::open();
    let allocator = Allocator::new(fixture.device()).unwrap();
    let reserved = || allocator.counters().kind(MemoryKind::Device).reserved;
    let block = allocator.allocate(100, MemoryKind::Device).unwrap();
    let common = reserved();
    let large = allocator.allocate(100 * MIB, MemoryKind::Device).unwrap();
    assert_eq!(reserved(), common + 100 * MIB, "a large block takes no more than it asks for");
    drop(large);
    let held = allocator.defer_cleanup();
    assert_eq!(allocator.trim(0).unwrap(), 0, "frees are deferred");
    drop(held);
    assert_eq!(allocator.trim(u64::MAX).unwrap(), 0, "the pool may keep all memory");
    assert_eq!(allocator.trim(0).unwrap(), 100 * MIB);
    assert_eq!(reserved(), common, "the rest has a live block");
    drop(block);
    assert_eq!(allocator.trim(0).unwrap(), common);
    assert_eq!((reserved(), allocator.counters().growths, allocator.counters().returns), (0, 2, 2));
    allocator.reserve(10 * MIB, MemoryKind::Device).unwrap();
    assert!((10 * MIB..12 * MIB).contains(&reserved()), "{}", reserved());
    allocator.reserve(9 * MIB, MemoryKind::Device).unwrap();
    assert_eq!(allocator.counters().growths, 3, "memory was reserved twice");
}

#[test]
fn a_limited_pool_can_allocate_its_limit_as_one_block_and_no_more() {
    let fixture = Fixture::open();
    let cap = 40 * MIB;
    let allocator = Allocator::with_manager(fixture.device(), Box::new(PoolManager::with_limit(cap))).unwrap();
    let reserved = || allocator.counters().total(|kind| kind.reserved);
    // Blocks of many sizes and two kinds come first, so that chunks of both kinds use up the limit.
    let small: Vec<_> = (1..60_u64)
        .map(|n| {
            let kind = if n % 2 == 0 { MemoryKind::Device } else { MemoryKind::Pinned };
            allocator.allocate(n * 5000, kind).unwrap()
        })
        .collect();
    assert!(reserved() <= cap);
    drop(small);
    let whole = allocator.allocate(cap, MemoryKind::Device).unwrap();
    assert_eq!((whole.size(), reserved()), (cap, cap));
    let error = allocator.allocate(1, MemoryKind::Device).unwrap_err();
    assert!(matches!(&error, MemoryError::OutOfMemory(report) if report.reserved == cap), "{error}");
    assert!(error.to_string().contains(&format!("limited to {cap} bytes")), "{error}");
    drop(whole);
    allocator.allocate(1, MemoryKind::Device).unwrap();
}

#[test]
fn fragmentation_is_reported_and_ends_when_neighbours_are_freed() {
    let fixture = Fixture::open();
    let allocator = Allocator::new(fixture.device()).unwrap();
    let device = || {
        allocator.trim(u64::MAX).unwrap(); // Coalesces free ranges and returns nothing to the driver.
        *allocator.counters().kind(MemoryKind::Device)
    };
    assert!(device().fragmentation().abs() < f64::EPSILON);
    let mut blocks: Vec<_> = (0..8).map(|_| Some(allocator.allocate(MIB, MemoryKind::Device).unwrap())).collect();
    let whole = device();
    blocks.iter_mut().step_by(2).for_each(|block| drop(block.take()));
    let holes = device();
    assert_eq!((holes.free, holes.largest_free), (whole.free + 4 * MIB, whole.largest_free));
    assert!(holes.fragmentation() > whole.fragmentation(), "{holes:?} against {whole:?}");
    blocks.clear();
    let joined = device();
    assert_eq!((joined.free, joined.in_use), (joined.reserved, 0));
    assert!(joined.fragmentation() < holes.fragmentation() && joined.largest_free >= 8 * MIB, "{joined:?}");
}

#[test]
fn an_allocator_dropped_in_use_waits_for_its_work() {
    let fixture = Fixture::open();
    let source = fixture.zeros::<u32>([64]).unwrap();
    for _ in 0..20 {
        let allocator = Allocator::new(fixture.device()).unwrap();
        let block = allocator.allocate(256, MemoryKind::Device).unwrap();
        block.copy_from_block(fixture.default_stream(), 0, source.block(), 0..256).unwrap();
        assert_eq!(Arc::strong_count(&allocator), 2, "the block does not keep its allocator alive");
        drop(allocator);
        // The last handle is dropped. The validation layer reports chunks that are freed before the copy is complete.
        drop(block);
    }
}
