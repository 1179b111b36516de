//! Submissions and other calls that fail for lack of memory: no work is lost or runs twice, and no call waits forever.

use std::sync::Arc;
use std::thread;

use ash::vk;
use vkarray::device::{Device, Error as DriverError};
use vkarray::kernel::Error as KernelError;
use vkarray::memory::managers::{MemoryManager, PassthroughManager, PoolManager};
use vkarray::memory::{Allocator, Error as MemoryError, MemoryKind};
use vkarray::{Context, Groups, Source};
use vkarray_driver::Recorder;
use vkarray_driver::hazard::Stage;

use crate::kernels::{keep_busy, mixed, spin, step, stepped};
use crate::scenario::MIX_IN_TWO_GROUPS;
use crate::table::{Fault, Table};
use crate::watchdog::watched;

pub(crate) fn refuse(call: &'static str, times: u32) -> Fault {
    Fault { call, nth: 1, times, code: vk::Result::ERROR_OUT_OF_HOST_MEMORY }
}

/// Runs a test on a new device with a time limit, and checks that the test leaves no objects and messages.
pub(crate) fn on_device(what: &str, test: impl FnOnce(&Table, Context) + Send) {
    let table = Table::take();
    let device = Device::open(&table.instance().devices().unwrap()[0]).unwrap();
    watched(what, || test(&table, Context::on(&device).unwrap()));
    table.disarm();
    table.close(device);
}

#[test]
fn a_refused_operation_never_runs_and_an_accepted_one_runs_once() {
    for times in 1..=20 {
        on_device("work on a device that refuses submissions", |table, ctx| {
            let (step, stream) = (step(&ctx), ctx.stream().unwrap());
            let array = ctx.slice_to_device(&[1_u32; 65]).unwrap();
            table.arm(refuse("vkQueueSubmit2", times));
            for round in 0..10_u32 {
                while let Err(error) = step.dispatch(&stream, Groups::covering([65]), (&array, round)) {
                    assert!(error.to_string().starts_with("vkQueueSubmit2 returned"), "{error}");
                }
            }
            while let Err(error) = stream.synchronize() {
                assert!(error.is_out_of_memory(), "{error}");
            }
            let back = array.copy_to_host().unwrap();
            assert_eq!(back.as_slice(), Some([(0..10).fold(1, stepped); 65].as_slice()), "refused {times} times");
        });
    }
}

#[test]
fn a_refused_submission_is_repeated_without_a_call_of_the_program() {
    on_device("work that no thread waits for", |table, ctx| {
        let (step, stream) = (step(&ctx), ctx.stream().unwrap());
        let array = ctx.slice_to_device(&[1_u32]).unwrap();
        // More failures than attempts of the waiting thread before it pauses.
        table.arm(refuse("vkQueueSubmit2", 30));
        step.dispatch(&stream, Groups::exact([1, 1, 1]), (&array, 1_u32)).unwrap();
        let point = stream.point().unwrap();
        while !point.is_complete().unwrap() {
            thread::yield_now();
        }
        assert_eq!(table.disarm(), 30);
        assert_eq!(array.copy_to_host().unwrap().first(), Some(&stepped(1, 1)));
    });
}

#[test]
fn work_that_can_never_be_submitted_is_an_error_for_calls_that_need_it() {
    on_device("work of a stream that is gone", |table, ctx| {
        let (step, stream, other) = (step(&ctx), ctx.stream().unwrap(), ctx.stream().unwrap());
        let array = ctx.slice_to_device(&[1_u32]).unwrap();
        table.arm(refuse("vkQueueSubmit2", u32::MAX));
        step.dispatch(&stream, Groups::exact([1, 1, 1]), (&array, 1_u32)).unwrap();
        let event = ctx.event();
        event.record(&stream).unwrap();
        drop(stream);
        table.disarm();
        let lost = "vkQueueSubmit2 returned ERROR_OUT_OF_HOST_MEMORY";
        assert_eq!(event.synchronize().unwrap_err().to_string(), lost);
        assert_eq!(array.copy_to_host().unwrap_err().to_string(), lost);
        let error = step.dispatch(&other, Groups::exact([1, 1, 1]), (&array, 1_u32)).unwrap_err();
        assert_eq!(error.to_string(), lost);
    });
}

#[test]
fn a_callback_does_not_report_success_before_its_work_is_done() {
    on_device("a callback whose semaphore value cannot be read", |table, ctx| {
        let (spin, stream) = (spin(&ctx), ctx.stream().unwrap());
        let array = ctx.slice_to_device(&[1_u32]).unwrap();
        keep_busy(&stream, &spin, &array);
        stream.flush().unwrap();
        let (sender, outcome) = std::sync::mpsc::channel();
        let device = Arc::clone(ctx.device());
        let point = stream.point().unwrap();
        stream
            .add_callback(move |outcome| {
                drop(device);
                sender.send((outcome, point.is_complete())).unwrap();
            })
            .unwrap();
        // From here on only the waiting thread reads the value; the second callback wakes it.
        table.arm(refuse("vkGetSemaphoreCounterValue", 1));
        stream.add_callback(|_| ()).unwrap();
        let (outcome, is_complete) = outcome.recv().unwrap();
        match outcome {
            Ok(()) => assert!(is_complete.unwrap(), "the callback reported success before the work was done"),
            Err(error) => assert!(error.is_out_of_memory(), "{error}"),
        }
        stream.synchronize().unwrap();
    });
}

#[test]
fn a_batch_is_submitted_although_an_operation_failed_to_record() {
    on_device("memory that a failed operation was to use", |_, ctx| {
        let (spin, stream) = (spin(&ctx), ctx.stream().unwrap());
        let array = ctx.slice_to_device(&[1_u32]).unwrap();
        // While the device is busy the next batch is not submitted at once.
        keep_busy(&stream, &spin, &array);
        stream.flush().unwrap();
        let block = ctx.allocator().allocate(64, MemoryKind::Device).unwrap();
        let fail = |_: &mut Recorder<'_>| -> Result<(), DriverError> { Err(DriverError::NotReady) };
        // SAFETY: nothing is recorded.
        unsafe { stream.record(&[block.write(0..64, Stage::Transfer)], fail) }.unwrap_err();
        drop(block);
        // The memory is freed although no thread waits, flushes or records.
        while ctx.allocator().usage().n_pending > 0 {
            ctx.allocator().try_flush().unwrap();
            thread::yield_now();
        }
    });
}

#[test]
fn a_dispatch_that_failed_between_two_groups_leaves_no_buffers_to_the_next() {
    on_device("a dispatch that binds one of its two groups", |table, ctx| {
        let mix = ctx.kernel(Source::wgsl(MIX_IN_TWO_GROUPS)).build().unwrap();
        let (spin, stream) = (spin(&ctx), ctx.stream().unwrap());
        let busy = ctx.slice_to_device(&[1_u32]).unwrap();
        let [a, b, x, y] = [1_u32, 2, 10, 20].map(|value| ctx.slice_to_device(&[value; 64]).unwrap());
        // While the device is busy, all three dispatches are of one batch.
        keep_busy(&stream, &spin, &busy);
        stream.flush().unwrap();
        let run = |source, sum| mix.dispatch(&stream, Groups::covering(64), (source, sum, 0_u32));
        run(&a, &x).unwrap();
        let code = vk::Result::ERROR_OUT_OF_HOST_MEMORY;
        table.arm(Fault { call: "vkAllocateDescriptorSets", nth: 2, times: 1, code });
        run(&b, &y).unwrap_err();
        assert_eq!(table.disarm(), 1);
        run(&a, &x).unwrap();
        let expected = mixed(1, mixed(1, 10, 0), 0);
        assert_eq!(x.copy_to_host().unwrap().as_slice(), Some([expected; 64].as_slice()));
        assert_eq!(y.copy_to_host().unwrap().as_slice(), Some([20; 64].as_slice()));
    });
}

#[test]
fn a_failed_allocation_is_repeated() {
    // A pool asks for smaller and smaller chunks before it fails; `PassthroughManager` asks once more.
    let refusals = [vk::Result::ERROR_OUT_OF_DEVICE_MEMORY, vk::Result::ERROR_OUT_OF_HOST_MEMORY];
    for (code, times, pools) in refusals.into_iter().flat_map(|code| {
        [(1, false), (2, false), (1, true), (2, true), (u32::MAX, true)].map(|(times, pools)| (code, times, pools))
    }) {
        on_device("an allocation", |table, ctx| {
            let manager: Box<dyn MemoryManager> =
                if pools { Box::new(PoolManager::new()) } else { Box::new(PassthroughManager::new()) };
            let allocator = Allocator::with_manager(ctx.device(), manager).unwrap();
            table.arm(Fault { call: "vkAllocateMemory", nth: 1, times, code });
            let allocated = allocator.allocate(1 << 20, MemoryKind::Device);
            let n_failed = table.disarm();
            let is_there = times == 1 || pools && times == 2;
            assert_eq!(allocated.is_ok(), is_there, "{code:?} {times} times, pool: {pools}");
            assert!(n_failed == times || times == u32::MAX && (2..20).contains(&n_failed), "{n_failed} of {times}");
            if let Err(error) = allocated {
                assert!(matches!(error, MemoryError::OutOfMemory(_)), "{error}");
            }
            allocator.allocate(1 << 20, MemoryKind::Device).unwrap();
        });
    }
}

#[test]
fn reserved_memory_is_allocated_without_driver_calls() {
    on_device("memory taken ahead of need", |table, ctx| {
        let allocator = Allocator::new(ctx.device()).unwrap();
        allocator.reserve(64 << 20, MemoryKind::Device).unwrap();
        // From here on the driver refuses all allocations.
        let code = vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
        table.arm(Fault { call: "vkAllocateMemory", nth: 1, times: u32::MAX, code });
        drop(allocator.allocate(64 << 20, MemoryKind::Device).unwrap());
        let blocks: Vec<_> = (0..64).map(|_| allocator.allocate(1 << 20, MemoryKind::Device).unwrap()).collect();
        drop(blocks);
        for round in 0..1000 {
            let blocks: Vec<_> =
                (1..40_u64).map(|n| allocator.allocate(n * (round % 97 + 1) * 100, MemoryKind::Device)).collect();
            assert!(blocks.iter().all(Result::is_ok), "round {round}");
        }
        assert_eq!(table.disarm(), 0, "the driver was asked");
        assert_eq!(allocator.counters().growths, 1);
    });
}

#[test]
fn a_kernel_that_the_driver_fails_to_compile_is_named_and_can_be_built_again() {
    on_device("a kernel that is not compiled", |table, ctx| {
        let wgsl = "@compute @workgroup_size(1) fn too_much() {}";
        let build = || ctx.kernel(Source::wgsl(wgsl)).build();
        table.arm(Fault { call: "vkCreateComputePipelines", nth: 1, times: 1, code: vk::Result::ERROR_UNKNOWN });
        let error = build().unwrap_err();
        assert!(matches!(&error, KernelError::NotCompiled { kernel, .. } if kernel == "too_much"), "{error}");
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert_eq!(cause, "vkCreateComputePipelines returned ERROR_UNKNOWN");
        build().unwrap();
    });
}
