//! Host copies through cached staging slots, with one copy thread and several, on memory that the host cannot address.

use std::sync::Arc;
use std::thread;

use vkarray::Stream;
use vkarray::memory::managers::PoolManager;
use vkarray::memory::{Allocator, Block, Error as MemoryError, MemoryKind};

use super::pattern;
use super::unmapped::Unmapped;
use crate::fixture::Fixture;

const MIB: usize = 1 << 20;

/// Bytes of a large slot; a large copy uses at least one.
const SLOT: usize = 2 * MIB;

fn allocator(fixture: &Fixture, n_threads: usize) -> Arc<Allocator> {
    let manager = Box::new(Unmapped(PoolManager::new()));
    Allocator::with_copy_threads(fixture.device(), manager, n_threads).unwrap()
}

fn block(allocator: &Arc<Allocator>, size: usize) -> Arc<Block> {
    let block = allocator.allocate(size as u64, MemoryKind::Device).unwrap();
    assert!(!block.is_mapped());
    block
}

fn read(block: &Arc<Block>, stream: &Stream, offset: usize, len: usize) -> Vec<u8> {
    let mut bytes = vec![0xEE; len];
    block.copy_to_host(stream, offset as u64, &mut bytes).unwrap();
    bytes
}

#[test]
fn copies_of_every_size_write_exactly_their_bytes() {
    let fixture = Fixture::open();
    let stream = fixture.default_stream();
    // Sizes around a small slot, one chunk, and two chunks for each thread, and sizes that are not multiples of a chunk.
    let lens = [1, 4096, 65_536, 65_537, 512 << 10, (512 << 10) + 1, 3 * MIB + 7, 4 * MIB, 11 * MIB + 3];
    for (n_threads, first) in [(1, 1), (2, 2), (5, 5)] {
        let allocator = allocator(&fixture, n_threads);
        let block = block(&allocator, 12 * MIB);
        for (len, offset) in lens.into_iter().flat_map(|len| [(len, 0), (len, 13)]) {
            block.fill(stream, 0x5555_5555).unwrap();
            let bytes = pattern(first, len);
            block.copy_from_host(stream, offset as u64, &bytes).unwrap();
            let found = read(&block, stream, 0, offset + len + 9);
            let neighbours = found[..offset].iter().chain(&found[offset + len..]);
            assert!(neighbours.copied().all(|byte| byte == 0x55), "{len} bytes at {offset}, {n_threads} threads");
            assert!(found[offset..offset + len] == bytes, "{len} bytes at {offset}, {n_threads} threads");
            assert!(read(&block, stream, offset, len) == bytes, "{len} bytes at {offset}, {n_threads} threads");
        }
    }
}

#[test]
fn steady_copies_allocate_nothing() {
    let fixture = Fixture::open();
    let stream = fixture.default_stream();
    for n_threads in [1, 3] {
        let allocator = allocator(&fixture, n_threads);
        let block = block(&allocator, 9 * MIB);
        for len in [4096, 9 * MIB] {
            let bytes = pattern(3, len);
            let mut back = vec![0; len];
            let mut round = || {
                block.copy_from_host(stream, 0, &bytes).unwrap();
                block.copy_to_host(stream, 0, &mut back).unwrap();
            };
            // The number of slots in use at once depends on the device's speed, so it may take some rounds to become
            // constant.
            let mut held = (0, 0);
            let settled = (0..40).any(|_| {
                let before = held;
                round();
                held = (allocator.counters().allocations, allocator.staging_bytes());
                before == held
            });
            assert!(settled, "{len} bytes: {held:?}");
            let most = 4 * (16 * SLOT as u64);
            assert!((1..=most).contains(&allocator.staging_bytes()), "{len} bytes: {held:?}");
            assert!(back == bytes);
        }
    }
}

/// Batches are allocated when more are in flight than before, so some rounds allocate; see `kernel/steady.rs`.
#[test]
fn small_copies_in_steady_work_take_nothing_from_the_heap() {
    let fixture = Fixture::open();
    let stream = fixture.default_stream();
    let allocator = allocator(&fixture, 1);
    let (block, bytes, mut back) = (block(&allocator, 4096), pattern(9, 4096), vec![0; 4096]);
    let up = || {
        (0..20).for_each(|_| block.copy_from_host(stream, 0, &bytes).unwrap());
        stream.synchronize().unwrap();
    };
    let counts: Vec<u64> = (0..50).map(|_| allocation_counter::measure(up).count_total).collect();
    assert!(counts.contains(&0), "uploads: {counts:?}");
    let mut down = || (0..20).for_each(|_| block.copy_to_host(stream, 0, &mut back).unwrap());
    let counts: Vec<u64> = (0..50).map(|_| allocation_counter::measure(&mut down).count_total).collect();
    assert!(counts.contains(&0), "downloads: {counts:?}");
    assert!(back == bytes);
}

#[test]
fn copies_of_several_threads_and_streams_do_not_mix() {
    let fixture = Fixture::open();
    let allocator = allocator(&fixture, 3);
    thread::scope(|scope| {
        for first in 0..4 {
            let (allocator, stream) = (&allocator, fixture.stream().unwrap());
            scope.spawn(move || {
                let block = block(allocator, 5 * MIB);
                for (round, len) in (0..).zip([70, 5 * MIB, 66_000, 4096, 5 * MIB]) {
                    let bytes = pattern(first * 50 + round, len);
                    block.copy_from_host(&stream, 0, &bytes).unwrap();
                    assert!(read(&block, &stream, 0, len) == bytes, "thread {first}, round {round}");
                }
            });
        }
    });
}

#[test]
fn a_copy_works_with_as_few_slots_as_there_is_memory_for() {
    let fixture = Fixture::open();
    let stream = fixture.default_stream();
    let len = 8 * MIB;
    // The number of slots for which there is memory beside the block; uploads and downloads have separate slots.
    for (n_slots, n_threads) in [(0, 3), (1, 1), (1, 3), (2, 3), (3, 3), (5, 3)] {
        let manager = Unmapped(PoolManager::with_limit((len + n_slots * SLOT) as u64));
        let allocator = Allocator::with_copy_threads(fixture.device(), Box::new(manager), n_threads).unwrap();
        let block = block(&allocator, len);
        let bytes = pattern(7, len);
        let sent = block.copy_from_host(stream, 0, &bytes);
        if n_slots == 0 {
            assert!(matches!(sent, Err(MemoryError::OutOfMemory(_))), "{sent:?}");
            assert_eq!((allocator.staging_bytes(), allocator.usage().in_use), (0, len as u64));
            continue;
        }
        sent.unwrap();
        assert!(allocator.staging_bytes() <= (n_slots * SLOT) as u64, "{n_slots}");
        assert!(read(&block, stream, 0, len) == bytes, "{n_slots} slots, {n_threads} threads");
    }
}

#[test]
fn kept_slots_go_back_when_memory_is_trimmed_reset_or_short() {
    let fixture = Fixture::open();
    let stream = fixture.default_stream();
    let manager = Unmapped(PoolManager::with_limit(64 * MIB as u64));
    let allocator = Allocator::with_copy_threads(fixture.device(), Box::new(manager), 1).unwrap();
    let bytes = pattern(1, 3 * MIB);
    let copied = || {
        let block = block(&allocator, 3 * MIB);
        block.copy_from_host(stream, 0, &bytes).unwrap();
        assert!(read(&block, stream, 0, bytes.len()) == bytes);
        assert!(allocator.staging_bytes() > 0);
    };
    copied();
    stream.synchronize().unwrap();
    allocator.flush().unwrap();
    assert_eq!(allocator.usage().in_use, 0, "what is kept for copies is not in use");
    allocator.trim(0).unwrap();
    assert_eq!((allocator.staging_bytes(), allocator.counters().n_in_use), (0, 0));
    copied();
    allocator.reset().unwrap();
    assert_eq!((allocator.staging_bytes(), allocator.counters().n_in_use), (0, 0));
    copied();
    // All memory that the limit admits.
    drop(block(&allocator, 64 * MIB));
    assert_eq!(allocator.staging_bytes(), 0);
    allocator.trim(0).unwrap();
    copied();
}

#[test]
fn small_uploads_to_a_busy_block_wait_for_nothing() {
    let fixture = Fixture::open();
    let allocator = allocator(&fixture, 1);
    let (spin, other) = (crate::fixture::kernels::spin(&fixture), fixture.stream().unwrap());
    let array = fixture.zeros::<u32>([8]).unwrap();
    crate::fixture::kernels::keep_busy(&other, &spin, &array);
    other.flush().unwrap();
    // The copy is on the same stream, behind that work, so that no part of it is complete before.
    let (block, stream) = (block(&allocator, 100 * 4096), &other);
    for i in 0..100 {
        block.copy_from_host(stream, u64::from(i) * 4096, &pattern(i, 4096)).unwrap();
    }
    assert!(!other.query().unwrap(), "an upload waited for the work");
    for i in 0..100 {
        assert!(read(&block, stream, usize::from(i) * 4096, 4096) == pattern(i, 4096), "upload {i}");
    }
}
