//! Limits of pending memory and deferred frees: numba's rules, one by one, on each manager that has limits.

use std::panic::{AssertUnwindSafe, catch_unwind};

use std::sync::Arc;
use std::thread;

use vkarray::Stream;
use vkarray::device::{Device, Instance};
use vkarray::memory::managers::{
    AllocationStatistics, ArenaManager, HostOnlyMemoryManager, Limiting, MemoryManager, PassthroughManager,
    PendingLimits, PoolManager,
};
use vkarray::memory::{Allocator, Block, MemoryKind, Pending};

use crate::fixture::host_semaphore::HostSemaphore;
use crate::fixture::watchdog::watched;
use crate::fixture::{Fixture, child};

const NONE: Pending = Pending { n_blocks: 0, bytes: 0 };

/// An allocator of a `PassthroughManager` with these limits.
fn allocator(fixture: &Fixture, max_count: usize, max_ratio: f64) -> Arc<Allocator> {
    let manager = PassthroughManager::new().with_pending_limits(PendingLimits::new(max_count, max_ratio));
    Allocator::with_manager(fixture.device(), Box::new(manager)).unwrap()
}

/// Allocators with these limits: one of each built-in manager that has limits, and one of a manager inside adaptors.
fn allocators(fixture: &Fixture, max_count: usize, max_ratio: f64) -> [(&'static str, Arc<Allocator>); 3] {
    let limits = PendingLimits::new(max_count, max_ratio);
    let pool = || PoolManager::new().with_pending_limits(limits);
    let adapted = AllocationStatistics::new(Limiting::new(pool(), 1 << 40));
    let make = |manager| Allocator::with_manager(fixture.device(), manager).unwrap();
    [
        ("passthrough", allocator(fixture, max_count, max_ratio)),
        ("pool", make(Box::new(pool()))),
        ("adaptors around a pool", make(Box::new(adapted))),
    ]
}

fn block(allocator: &Arc<Allocator>, bytes: u64) -> Arc<Block> {
    allocator.allocate(bytes, MemoryKind::Device).unwrap()
}

fn drop_some(allocator: &Arc<Allocator>, n: usize) {
    let blocks: Vec<_> = (0..n).map(|_| block(allocator, 100)).collect();
    drop(blocks);
}

/// A block whose last use is done when the semaphore reaches 1.
fn busy(allocator: &Arc<Allocator>, stream: &Stream, semaphore: &HostSemaphore) -> Arc<Block> {
    let block = block(allocator, 1000);
    stream.wait_for(&semaphore.point(1)).unwrap();
    block.fill(stream, 1).unwrap();
    block
}

#[test]
fn ten_freed_blocks_are_pending_and_the_eleventh_frees_all() {
    let fixture = Fixture::open();
    for (name, allocator) in allocators(&fixture, 10, 0.2) {
        // All blocks are allocated first, since a pool would reuse pending memory.
        let mut blocks: Vec<_> = (0..11).map(|_| block(&allocator, 100)).collect();
        for n in 1..=10 {
            drop(blocks.pop());
            assert_eq!(allocator.pending().n_blocks, n, "{name}");
        }
        drop(blocks);
        assert_eq!((allocator.pending(), allocator.usage().in_use), (NONE, 0), "{name}");
    }
}

#[test]
fn a_pool_returns_memory_to_the_driver_only_above_its_limits() {
    let fixture = Fixture::open();
    let make = |pool| Allocator::with_manager(fixture.device(), Box::new(pool)).unwrap();
    let unlimited = make(PoolManager::new());
    drop_some(&unlimited, 20);
    let reserved = unlimited.usage().reserved;
    assert_eq!(unlimited.pending().n_blocks, 20, "freed blocks are pending");
    assert!(reserved > 0 && unlimited.counters().returns == 0);
    unlimited.flush().unwrap();
    assert_eq!((unlimited.pending(), unlimited.usage().reserved), (NONE, reserved), "the pool keeps the memory");
    let limited = make(PoolManager::new().with_pending_limits(PendingLimits::new(4, 1.0)));
    drop_some(&limited, 4);
    assert_eq!(limited.pending().n_blocks, 4);
    assert!(limited.usage().reserved > 0);
    let again = block(&limited, 100);
    assert_eq!(limited.pending().n_blocks, 3, "a pending block was reused");
    drop_some(&limited, 5);
    assert!(limited.usage().reserved > 0, "one block is in use");
    drop(again);
    drop_some(&limited, 5);
    assert_eq!((limited.pending(), limited.usage().reserved), (NONE, 0), "all memory was returned to the driver");
}

#[test]
fn a_count_of_zero_frees_at_once() {
    let fixture = Fixture::open();
    for (name, allocator) in allocators(&fixture, 0, 1.0) {
        for _ in 0..3 {
            drop(block(&allocator, 100));
            assert_eq!((allocator.pending(), allocator.usage().in_use), (NONE, 0), "{name}");
        }
    }
}

#[test]
fn memory_above_the_ratio_is_freed_at_once_for_every_kind() {
    let fixture = Fixture::open();
    let heap = fixture.info().memory_heaps.iter().map(|heap| heap.size).max().unwrap();
    // 200 KB of lavapipe's heap, 8 MB of an H100's.
    for (name, allocator) in allocators(&fixture, 1000, 1e-4) {
        for kind in [MemoryKind::Device, MemoryKind::Pinned, MemoryKind::WriteCombined] {
            drop(allocator.allocate(100, kind).unwrap());
            assert_eq!(allocator.pending().n_blocks, 1, "{name}, {kind}");
            drop(allocator.allocate(heap / 1000, kind).unwrap());
            assert_eq!(allocator.pending().n_blocks, 0, "{name}, {kind}: a block above the limit frees all");
        }
    }
}

#[test]
fn an_arena_has_the_limits_of_its_upstream_manager() {
    let fixture = Fixture::open();
    let limits = PendingLimits::new(2, 1.0);
    let managers: [Box<dyn MemoryManager>; 2] = [
        Box::new(PassthroughManager::new().with_pending_limits(limits)),
        Box::new(PoolManager::new().with_pending_limits(limits)),
    ];
    for upstream in managers {
        let arena = ArenaManager::new(upstream, 2, 1 << 16).unwrap();
        let allocator = Allocator::with_manager(fixture.device(), Box::new(arena.clone())).unwrap();
        drop_some(&allocator, 5);
        assert_eq!(allocator.pending(), NONE, "memory of a frame is never pending");
        let make = || allocator.allocate(100, MemoryKind::Pinned).unwrap();
        let blocks = [make(), make(), make()];
        for (n, block) in [1, 2, 0].into_iter().zip(blocks) {
            drop(block);
            assert_eq!(allocator.pending().n_blocks, n);
        }
        arena.next_frame().unwrap();
    }
}

#[test]
fn a_due_block_in_use_waits_for_its_work_and_delays_no_other() {
    let fixture = Fixture::open();
    for (name, allocator) in allocators(&fixture, 0, 1.0) {
        let stream = fixture.stream().unwrap();
        let semaphore = HostSemaphore::new(fixture.device());
        drop(busy(&allocator, &stream, &semaphore));
        assert_eq!(allocator.pending().n_blocks, 1, "{name}");
        drop(block(&allocator, 100));
        assert_eq!(allocator.pending().n_blocks, 1, "{name}: the other block is freed");
        semaphore.signal(1);
        stream.synchronize().unwrap();
        assert_eq!(allocator.pending().n_blocks, 1, "{name}: waiting for a stream frees nothing");
        drop(block(&allocator, 100)); // This free exceeds the limit.
        assert_eq!(allocator.pending(), NONE, "{name}");
    }
}

#[test]
fn due_blocks_are_freed_by_the_next_allocation() {
    let fixture = Fixture::open();
    for (name, allocator) in allocators(&fixture, 0, 1.0) {
        let stream = fixture.stream().unwrap();
        let semaphore = HostSemaphore::new(fixture.device());
        drop(busy(&allocator, &stream, &semaphore));
        semaphore.signal(1);
        stream.synchronize().unwrap();
        let _next = block(&allocator, 100);
        assert_eq!(allocator.pending(), NONE, "{name}");
    }
}

#[test]
fn only_the_outermost_guard_ends_the_deferral_and_frees_nothing_itself() {
    let fixture = Fixture::open();
    for (name, allocator) in allocators(&fixture, 10, 0.2) {
        let last = block(&allocator, 100);
        let more: Vec<_> = (0..5).map(|_| block(&allocator, 100)).collect();
        let outer = allocator.defer_cleanup();
        let inner = allocator.defer_cleanup();
        drop_some(&allocator, 20);
        assert_eq!(allocator.pending().n_blocks, 20, "{name}");
        drop(inner);
        drop(more);
        assert_eq!(allocator.pending().n_blocks, 25, "{name}: frees are still deferred");
        drop(outer);
        assert_eq!(allocator.pending().n_blocks, 25, "{name}: the end of a guard frees nothing");
        drop(last);
        assert_eq!(allocator.pending(), NONE, "{name}");
    }
}

#[test]
fn a_flush_frees_nothing_while_frees_are_deferred() {
    let fixture = Fixture::open();
    let unlimited = Allocator::with_manager(fixture.device(), Box::new(PoolManager::new())).unwrap();
    let limited = allocators(&fixture, 10, 0.2);
    for (name, allocator) in limited.into_iter().chain([("a pool without limits", unlimited)]) {
        let guard = allocator.defer_cleanup();
        drop_some(&allocator, 20);
        allocator.try_flush().unwrap();
        allocator.flush().unwrap();
        allocator.reset().unwrap();
        assert_eq!(allocator.pending().n_blocks, 20, "{name}");
        drop(guard);
        allocator.try_flush().unwrap();
        assert_eq!(allocator.pending(), NONE, "{name}");
    }
}

/// Limits that the program sets take precedence over the environment variables.
fn limits_that_the_program_sets_take_precedence(device: &Arc<Device>) {
    let limits = PendingLimits::new(1, 1.0);
    let managers: [Box<dyn MemoryManager>; 2] = [
        Box::new(PassthroughManager::new().with_pending_limits(limits)),
        Box::new(PoolManager::new().with_pending_limits(limits)),
    ];
    for manager in managers {
        let allocator = Allocator::with_manager(device, manager).unwrap();
        drop_some(&allocator, 1);
        assert_eq!(allocator.pending().n_blocks, 1);
    }
}

/// Runs again in a child process, in which the variables are set.
#[test]
fn every_manager_reads_its_limits_from_the_environment_or_refuses_them() {
    if let Some(expected) = child::argument() {
        let instance = Instance::builder().validation(true).build().unwrap();
        let device = Device::open_selected(&instance, None).unwrap();
        let arena = |upstream| ArenaManager::new(upstream, 1, 1 << 16).unwrap();
        let managers: [Box<dyn MemoryManager>; 6] = [
            Box::new(PassthroughManager::new()),
            Box::new(PoolManager::new()),
            Box::new(HostOnlyMemoryManager::new()),
            Box::new(arena(Box::new(PassthroughManager::new()))),
            Box::new(arena(Box::new(PoolManager::new()))),
            Box::new(AllocationStatistics::new(Limiting::new(PoolManager::new(), 1 << 40))),
        ];
        for manager in managers {
            let text = format!("{manager:?}");
            match Allocator::with_manager(&device, manager) {
                Err(error) => assert_eq!(error.to_string(), expected, "{text}"),
                Ok(allocator) => {
                    assert_eq!(expected, "a count of 0", "{text}");
                    for _ in 0..3 {
                        drop(allocator.allocate(100, MemoryKind::Pinned).unwrap());
                        assert_eq!(allocator.pending(), NONE, "{text}");
                    }
                }
            }
        }
        limits_that_the_program_sets_take_precedence(&device);
        return;
    }
    let cases = [
        ("VKARRAY_MAX_PENDING_DEALLOCS_COUNT", "0", "a count of 0"),
        (
            "VKARRAY_MAX_PENDING_DEALLOCS_COUNT",
            "ten",
            "\"ten\" in VKARRAY_MAX_PENDING_DEALLOCS_COUNT is not a number from 0 up",
        ),
        (
            "VKARRAY_MAX_PENDING_DEALLOCS_RATIO",
            "a fifth",
            "\"a fifth\" in VKARRAY_MAX_PENDING_DEALLOCS_RATIO is not a ratio from 0 up",
        ),
    ];
    for (variable, value, expected) in cases {
        let test = "allocator::deferral::every_manager_reads_its_limits_from_the_environment_or_refuses_them";
        let (has_passed, text) = child::run(test, expected, &[(variable, value)]);
        assert!(has_passed, "{variable}={value}: {text}");
    }
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
fn memory_is_freed_with_its_allocator_although_a_defer_guard_was_leaked() {
    let fixture = Fixture::open();
    let allocator = allocator(&fixture, 0, 1.0);
    std::mem::forget(allocator.defer_cleanup());
    drop_some(&allocator, 30);
    assert_eq!(allocator.pending().n_blocks, 30);
    drop(allocator); // Frees all memory; otherwise the fixture would report it.
}

#[test]
fn a_guard_defers_the_frees_of_all_threads() {
    let fixture = Fixture::open();
    let (one, other) = (allocator(&fixture, 0, 1.0), allocator(&fixture, 0, 1.0));
    let guard = one.defer_cleanup();
    thread::scope(|scope| {
        scope.spawn(|| drop_some(&one, 3));
        scope.spawn(|| drop_some(&other, 3));
    });
    assert_eq!((one.pending().n_blocks, other.pending().n_blocks), (3, 0), "the guard affects another allocator");
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
fn a_flush_frees_pending_blocks_that_are_not_due() {
    let fixture = Fixture::open();
    let (allocator, stream) = (allocator(&fixture, 10, 0.2), fixture.stream().unwrap());
    let semaphore = HostSemaphore::new(fixture.device());
    drop(busy(&allocator, &stream, &semaphore));
    drop_some(&allocator, 2);
    allocator.try_flush().unwrap();
    assert_eq!(allocator.pending().n_blocks, 1, "a block in use was freed");
    semaphore.signal(1);
    allocator.flush().unwrap();
    assert_eq!(allocator.pending(), NONE);
}

#[test]
fn dropping_an_allocator_stops_waiting_for_work_that_does_not_end() {
    let mut fixture = Fixture::open();
    let stream = fixture.stream().unwrap();
    let allocator = allocator(&fixture, 10, 0.2);
    let semaphore = HostSemaphore::new(fixture.device());
    drop(busy(&allocator, &stream, &semaphore));
    watched("ending an allocator whose memory is in use", || drop(allocator)); // Takes ten seconds.
    semaphore.signal(1);
    stream.synchronize().unwrap();
    drop((semaphore, stream));
    // The memory is leaked on purpose, since freeing memory that the device uses would be undefined behaviour.
    let problems = fixture.close();
    assert!(problems.len() == 1 && problems[0].starts_with("leak: "), "{problems:?}");
}
