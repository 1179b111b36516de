//! Memory freed to the wrong manager, and memory that is never freed: no manager frees memory that is in use.

use std::sync::Arc;

use vkarray::Stream;
use vkarray::memory::MemoryKind;
use vkarray::memory::managers::{
    AllocationStatistics, ArenaManager, HostOnlyMemoryManager, Limiting, MemoryManager, PassthroughManager, PoolManager,
};
use vkarray_allocator::{HostOptions, MemoryPointer, Request};

use crate::fixture::Fixture;
use crate::fixture::host_semaphore::HostSemaphore;

type Make = fn() -> Box<dyn MemoryManager>;

/// The built-in managers, and adaptors around one.
const BUILT_IN: [(&str, Make); 6] = [
    ("passthrough", || Box::new(PassthroughManager::new())),
    ("pool", || Box::new(PoolManager::new())),
    ("an arena over a pool", || Box::new(ArenaManager::new(Box::new(PoolManager::new()), 2, 1 << 16).unwrap())),
    ("an arena over passthrough", || {
        Box::new(ArenaManager::new(Box::new(PassthroughManager::new()), 2, 1 << 16).unwrap())
    }),
    ("host memory only", || Box::new(HostOnlyMemoryManager::new())),
    ("adaptors", || Box::new(AllocationStatistics::new(Limiting::new(PassthroughManager::new(), 1 << 30)))),
];

/// Device memory, if the manager has it, and host memory.
fn allocate(manager: &dyn MemoryManager) -> Vec<MemoryPointer> {
    let device = manager.memalloc(&Request::new(700, MemoryKind::Device));
    let host = manager.memhostalloc(700, HostOptions::default()).unwrap().into_pointer();
    device.into_iter().chain([host]).collect()
}

#[test]
fn memory_of_another_manager_is_refused_and_frees_nothing() {
    let mut fixture = Fixture::open();
    for (name, make) in BUILT_IN {
        let (one, other) = (make(), make());
        one.initialize(fixture.device()).unwrap();
        other.initialize(fixture.device()).unwrap();
        let (of_one, of_other) = (allocate(&*one), allocate(&*other));
        for (foreign, own) in of_one.into_iter().zip(of_other) {
            assert_eq!(foreign.tag(), own.tag(), "{name}: the tags differ, so the test proves nothing");
            let before = (other.usage(), other.pending());
            // SAFETY: deliberately violated: the manager must notice that the memory is not its own. Nothing uses it.
            unsafe { other.memfree(foreign) };
            other.flush().unwrap();
            assert_eq!((other.usage(), other.pending()), before, "{name}");
            // SAFETY: the manager allocated it, and nothing used it.
            unsafe { other.memfree(own) };
            other.flush().unwrap();
            let after = other.usage();
            assert!(after.in_use < before.0.in_use || name.starts_with("an arena"), "{name}: {after:?}, {before:?}");
        }
    }
    // Memory freed to the wrong manager is never freed by the manager that allocated it, which therefore stays alive.
    // The layer reports nothing.
    assert_only_a_leak(&mut fixture, "memory of the other manager");
}

/// Closes the fixture and expects that the device is still held, and nothing else.
fn assert_only_a_leak(fixture: &mut Fixture, name: &str) {
    let problems = fixture.close();
    assert!(problems.len() == 1 && problems[0].starts_with("leak: "), "{name}: {problems:?}");
}

#[test]
fn memory_that_is_never_freed_outlives_its_manager() {
    for (name, make) in BUILT_IN {
        let mut fixture = Fixture::open();
        let manager = make();
        manager.initialize(fixture.device()).unwrap();
        allocate(&*manager).into_iter().for_each(std::mem::forget);
        drop(manager);
        // The memory keeps the device open. If the manager had freed it, the layer would report that.
        assert_only_a_leak(&mut fixture, name);
    }
}

/// Memory from `upstream` that the device still uses, by work that waits for the semaphore.
fn drop_busy(fixture: &Fixture, upstream: &Arc<PoolManager>, semaphore: &HostSemaphore, bytes: u64) -> Stream {
    let allocator = vkarray::memory::Allocator::with_manager(fixture.device(), Box::new(Arc::clone(upstream))).unwrap();
    let stream = fixture.stream().unwrap();
    let block = allocator.allocate(bytes, MemoryKind::Device).unwrap();
    stream.wait_for(&semaphore.point(1)).unwrap();
    block.fill(&stream, 7).unwrap();
    stream
}

#[test]
fn an_arena_that_fails_to_initialize_returns_its_memory_with_the_last_uses() {
    const FRAME: u64 = 40_960;
    let fixture = Fixture::open();
    let semaphore = HostSemaphore::new(fixture.device());
    let pool = Arc::new(PoolManager::new());
    let stream = drop_busy(&fixture, &pool, &semaphore, FRAME);
    // There is memory for one frame of two. The first is freed again, with the work that still uses it.
    let arena = ArenaManager::new(Box::new(Limiting::new(Arc::clone(&pool), FRAME + 1)), 2, FRAME).unwrap();
    let begun = arena.initialize(fixture.device());
    let memory = pool.memalloc(&Request::new(FRAME, MemoryKind::Device)).unwrap();
    let n_uses = memory.last_uses().len();
    // SAFETY: the pool allocated it just now, with these uses.
    unsafe { pool.memfree(memory) };
    semaphore.signal(1);
    stream.synchronize().unwrap();
    pool.flush().unwrap();
    begun.unwrap_err();
    assert_eq!(n_uses, 1, "the device still wrote this memory");
}
