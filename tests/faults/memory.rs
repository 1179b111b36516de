//! Allocations that the driver refuses: the report for each error code, and each step of the fallback as the step that
//! helps. The manager is `PassthroughManager`, which asks the driver for each block; `refused.rs` has tests of the
//! pool.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use ash::vk;
use vkarray::device::Device;
use vkarray::memory::managers::PassthroughManager;
use vkarray::memory::{Allocator, Error as MemoryError, MemoryKind, OomStep, OutOfMemory, Shortage, StepOutcome};
use vkarray::{Context, Stream};

use crate::host_semaphore::HostSemaphore;
use crate::refused;
use crate::table::{Fault, Table};

/// More bytes than the sub-allocator's chunks, so that the driver is asked for them. Most of them are never touched.
const LARGE: u64 = 300 << 20;

/// Runs a test with a context that allocates with `PassthroughManager`.
fn on_device(what: &str, test: impl FnOnce(&Table, &Context) + Send) {
    refused::on_device(what, |table, ctx| {
        let allocator = Allocator::with_manager(ctx.device(), Box::new(PassthroughManager::new())).unwrap();
        test(table, &Context::with_allocator(&allocator).unwrap());
    });
}

fn refuse(times: u32) -> Fault {
    Fault { call: "vkAllocateMemory", nth: 1, times, code: vk::Result::ERROR_OUT_OF_DEVICE_MEMORY }
}

fn report(error: MemoryError) -> Box<OutOfMemory> {
    let MemoryError::OutOfMemory(report) = error else { panic!("{error}") };
    report
}

/// Drops a block whose last use is complete when the semaphore reaches `value`.
fn drop_busy(allocator: &Arc<Allocator>, stream: &Stream, semaphore: &HostSemaphore, value: u64) {
    let block = allocator.allocate(LARGE, MemoryKind::Device).unwrap();
    stream.wait_for(&semaphore.point(value)).unwrap();
    block.fill(stream, 1).unwrap();
}

/// Signals the semaphore once for each of `n` waits of host threads, counted from `before`.
fn signal_when_waited_for(device: &Arc<Device>, before: u64, semaphore: &HostSemaphore, n: u64) {
    for value in 1..=n {
        while device.host_waits() < before + value {
            thread::sleep(Duration::from_millis(1));
        }
        semaphore.signal(value);
    }
}

#[test]
fn each_vulkan_error_is_reported_as_its_own_shortage() {
    use vk::Result as R;
    // The call, the code, and the reported shortage.
    let cases = [
        ("vkAllocateMemory", R::ERROR_OUT_OF_DEVICE_MEMORY, Shortage::DeviceMemory),
        ("vkAllocateMemory", R::ERROR_OUT_OF_HOST_MEMORY, Shortage::HostMemory),
        ("vkAllocateMemory", R::ERROR_TOO_MANY_OBJECTS, Shortage::Objects),
        ("vkMapMemory", R::ERROR_MEMORY_MAP_FAILED, Shortage::HostAddresses),
        ("vkMapMemory", R::ERROR_OUT_OF_HOST_MEMORY, Shortage::HostMemory),
        ("vkCreateBuffer", R::ERROR_OUT_OF_HOST_MEMORY, Shortage::HostMemory),
        ("vkCreateBuffer", R::ERROR_OUT_OF_DEVICE_MEMORY, Shortage::DeviceMemory),
        ("vkBindBufferMemory", R::ERROR_OUT_OF_HOST_MEMORY, Shortage::HostMemory),
    ];
    on_device("memory that is refused", |table, ctx| {
        for (call, code, shortage) in cases {
            table.arm(Fault { call, nth: 1, times: 1000, code });
            let report = report(ctx.allocator().allocate(LARGE, MemoryKind::Pinned).unwrap_err());
            assert_eq!((report.shortage, report.bytes), (shortage, LARGE), "{call} with {code:?}");
            assert!(table.disarm() > 0);
            drop(ctx.allocator().allocate(LARGE, MemoryKind::Pinned).unwrap());
            ctx.allocator().flush().unwrap();
        }
    });
}

#[test]
fn an_error_other_than_out_of_memory_is_returned_without_fallback() {
    on_device("memory that is refused for another reason", |table, ctx| {
        table.arm(Fault { call: "vkAllocateMemory", nth: 1, times: 1000, code: vk::Result::ERROR_UNKNOWN });
        let error = ctx.allocator().allocate(LARGE, MemoryKind::Device).unwrap_err();
        assert!(matches!(error, MemoryError::SubAllocator(_)), "{error}");
        assert_eq!((table.disarm(), ctx.allocator().oom_counts().runs), (1, 0));
    });
}

#[test]
fn what_is_done_is_freed_first() {
    on_device("memory that is dropped and not due", |table, ctx| {
        drop(ctx.allocator().allocate(LARGE, MemoryKind::Device).unwrap());
        assert_eq!(ctx.allocator().pending().n_blocks, 1);
        table.arm(refuse(1));
        ctx.allocator().allocate(LARGE, MemoryKind::Device).unwrap();
        assert_eq!(ctx.allocator().oom_counts().of(OomStep::Reclaim).helped, 1);
    });
}

#[test]
fn deferred_blocks_are_freed_before_an_allocation_fails() {
    on_device("memory that is held back", |table, ctx| {
        let guard = ctx.defer_cleanup();
        drop(ctx.allocator().allocate(LARGE, MemoryKind::Device).unwrap());
        ctx.allocator().flush().unwrap();
        assert_eq!(ctx.allocator().pending().n_blocks, 1);
        table.arm(refuse(1));
        ctx.allocator().allocate(LARGE, MemoryKind::Device).unwrap();
        let counts = ctx.allocator().oom_counts();
        assert_eq!((counts.of(OomStep::HeldBack).helped, counts.failed), (1, 0));
        drop(guard);
    });
}

#[test]
fn only_the_oldest_block_in_use_is_waited_for_if_that_is_enough() {
    on_device("memory that is in use", |table, ctx| {
        let semaphore = HostSemaphore::new(ctx.device());
        let (allocator, streams) = (ctx.allocator(), [(); 2].map(|()| ctx.stream().unwrap()));
        drop_busy(allocator, &streams[0], &semaphore, 1);
        drop_busy(allocator, &streams[1], &semaphore, 2);
        table.arm(refuse(1));
        let before = ctx.device().host_waits();
        thread::scope(|scope| {
            scope.spawn(|| signal_when_waited_for(ctx.device(), before, &semaphore, 1));
            allocator.allocate(LARGE, MemoryKind::Device).unwrap();
        });
        assert_eq!(allocator.oom_counts().of(OomStep::Wait).helped, 1);
        semaphore.signal(2);
        drop(streams);
    });
}

#[test]
fn all_blocks_in_use_are_waited_for_if_the_oldest_is_not_enough() {
    on_device("memory that is in use on two streams", |table, ctx| {
        let semaphore = HostSemaphore::new(ctx.device());
        let (allocator, streams) = (ctx.allocator(), [(); 2].map(|()| ctx.stream().unwrap()));
        drop_busy(allocator, &streams[0], &semaphore, 1);
        drop_busy(allocator, &streams[1], &semaphore, 2);
        table.arm(refuse(2));
        let before = ctx.device().host_waits();
        let _block = thread::scope(|scope| {
            scope.spawn(|| signal_when_waited_for(ctx.device(), before, &semaphore, 2));
            allocator.allocate(LARGE, MemoryKind::Device).unwrap()
        });
        let counts = allocator.oom_counts();
        assert_eq!((counts.of(OomStep::Wait).helped, counts.of(OomStep::Drain).helped), (0, 1));
        assert_eq!(allocator.pending().n_blocks, 0);
        drop(streams);
    });
}

#[test]
fn a_dedicated_allocation_is_the_last_fallback() {
    on_device("a chunk that is too large to be had", |table, ctx| {
        table.arm(refuse(1));
        // For a small block the first attempt allocates a whole chunk.
        let block = ctx.allocator().allocate(1000, MemoryKind::Device).unwrap();
        let counts = ctx.allocator().oom_counts();
        assert_eq!((counts.runs, counts.of(OomStep::Dedicated).helped), (1, 1));
        block.fill(ctx.default_stream(), 5).unwrap();
        let mut back = [0; 8];
        block.copy_to_host(ctx.default_stream(), 992, &mut back).unwrap();
        assert_eq!(back, [5, 0, 0, 0, 5, 0, 0, 0]);
    });
}

#[test]
fn a_failed_allocation_reports_the_largest_blocks_and_the_steps_and_changes_nothing() {
    on_device("memory that cannot be had", |table, ctx| {
        let array = ctx.zeros::<f32>([1000, 20]).unwrap().with_label("weights");
        let other = ctx.zeros::<u8>([3]).unwrap();
        table.arm(refuse(1000));
        let text = ctx.device_array::<f64>([5_000_000, 10]).unwrap_err().to_string();
        table.disarm();
        let lines: Vec<_> = text.lines().map(str::trim).collect();
        assert_eq!(lines[0], "out of memory for 400000000 bytes of device memory: the device has none left");
        assert!(lines.contains(&"used by:"), "{text}");
        assert!(lines.contains(&"78.1 KiB  `weights`, f32 (1000, 20)"), "{text}");
        assert!(lines.contains(&"3 bytes  u8 (3,)"), "{text}");
        assert!(lines.last().unwrap().starts_with("tried: free unused memory (gained nothing), wait"), "{text}");
        let counts = ctx.allocator().oom_counts();
        assert_eq!((counts.runs, counts.failed, counts.of(OomStep::Dedicated).helped), (1, 1, 0));
        // The next allocation succeeds.
        ctx.device_array::<f64>([5_000_000, 10]).unwrap();
        assert_eq!(array.copy_to_host().unwrap()[[999, 19]], 0.0);
        drop(other);
    });
}

#[test]
fn the_report_lists_pending_memory_by_stream_if_its_work_does_not_end() {
    on_device("memory whose work does not end", |table, ctx| {
        let semaphore = HostSemaphore::new(ctx.device());
        let stream = ctx.stream().unwrap();
        drop_busy(ctx.allocator(), &stream, &semaphore, 1);
        table.arm(refuse(1000));
        let report = report(ctx.allocator().allocate(LARGE, MemoryKind::Device).unwrap_err()); // Takes ten seconds.
        table.disarm();
        assert_eq!(report.n_pending, 1);
        let [pending] = report.pending[..] else { panic!("{report}") };
        assert!(pending.stream == Some(stream.number()) && pending.bytes >= LARGE, "{report}");
        assert_eq!(report.steps.at(OomStep::Wait), Some(StepOutcome::TimedOut));
        semaphore.signal(1);
        stream.synchronize().unwrap();
        assert!(ctx.allocator().allocate(LARGE, MemoryKind::Device).is_ok());
        drop(stream);
    });
}
