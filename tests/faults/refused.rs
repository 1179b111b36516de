//! Submissions that are refused for lack of memory: nothing is lost, nothing runs twice, and nobody waits for ever.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use ash::vk;
use vkarray::{Context, Device, DriverError, Groups, Instance, MemoryKind};
use vkarray_driver::Recorder;
use vkarray_driver::hazard::Stage;

use crate::kernels::{keep_busy, spin, step, stepped};
use crate::table::{Fault, Table};
use crate::watchdog::watched;

fn refuse(call: &'static str, times: u32) -> Fault {
    Fault { call, nth: 1, times, code: vk::Result::ERROR_OUT_OF_HOST_MEMORY }
}

/// Runs a test on a new device, and looks for what is left.
fn on_device(what: &str, test: impl FnOnce(&Table, Context) + Send) {
    let table = Table::take();
    let instance: Arc<Instance> = table.instance();
    let device = Device::open(&instance.devices().unwrap()[0]).unwrap();
    watched(what, || test(&table, Context::on(&device).unwrap()));
    table.disarm();
    device.close(Duration::from_secs(20)).unwrap();
    assert_eq!(table.live(), []);
    assert_eq!(instance.take_messages(), []);
}

#[test]
fn an_operation_that_is_refused_never_runs_and_one_that_is_not_runs_once() {
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
fn refused_work_is_sent_later_without_anybody_asking() {
    on_device("work that nobody waits for", |table, ctx| {
        let (step, stream) = (step(&ctx), ctx.stream().unwrap());
        let array = ctx.slice_to_device(&[1_u32]).unwrap();
        // More often than the waiting thread looks in vain before it stops.
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
fn work_that_can_never_be_sent_is_an_error_for_whoever_needs_it() {
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
fn a_callback_is_not_told_of_work_that_is_not_done() {
    on_device("a callback whose point cannot be asked about", |table, ctx| {
        let (spin, stream) = (spin(&ctx), ctx.stream().unwrap());
        let array = ctx.slice_to_device(&[1_u32]).unwrap();
        keep_busy(&stream, &spin, &array);
        stream.flush().unwrap();
        let (told, outcome) = std::sync::mpsc::channel();
        let device = Arc::clone(ctx.device());
        let point = stream.point().unwrap();
        stream
            .add_callback(move |outcome| {
                drop(device);
                told.send((outcome, point.is_complete())).unwrap();
            })
            .unwrap();
        // From here on the waiting thread alone asks; and is woken by a second callback, to ask about both.
        table.arm(refuse("vkGetSemaphoreCounterValue", 1));
        stream.add_callback(|_| ()).unwrap();
        let (outcome, is_complete) = outcome.recv().unwrap();
        match outcome {
            Ok(()) => assert!(is_complete.unwrap(), "told that the work is done before it was"),
            Err(error) => assert!(error.is_out_of_memory(), "{error}"),
        }
        stream.synchronize().unwrap();
    });
}

#[test]
fn the_batch_of_an_operation_that_failed_to_record_is_sent() {
    on_device("memory that a failed operation was to use", |_, ctx| {
        let (spin, stream) = (spin(&ctx), ctx.stream().unwrap());
        let array = ctx.slice_to_device(&[1_u32]).unwrap();
        // The device is busy, so that the next batch is not sent at once.
        keep_busy(&stream, &spin, &array);
        stream.flush().unwrap();
        let block = ctx.allocator().allocate(64, MemoryKind::Device).unwrap();
        let fail = |_: &mut Recorder<'_>| -> Result<(), DriverError> { Err(DriverError::NotReady) };
        // SAFETY: nothing is recorded.
        unsafe { stream.record(&[block.write(0..64, Stage::Transfer)], fail) }.unwrap_err();
        drop(block);
        // Nobody waits, flushes or records: the memory comes back all the same.
        while ctx.allocator().usage().n_pending > 0 {
            ctx.allocator().try_flush().unwrap();
            thread::yield_now();
        }
    });
}

#[test]
fn memory_that_runs_out_is_tried_for_once_more() {
    for (code, times) in [
        (vk::Result::ERROR_OUT_OF_DEVICE_MEMORY, 1),
        (vk::Result::ERROR_OUT_OF_DEVICE_MEMORY, 2),
        (vk::Result::ERROR_OUT_OF_HOST_MEMORY, 1),
        (vk::Result::ERROR_OUT_OF_HOST_MEMORY, 2),
    ] {
        on_device("an allocation", |table, ctx| {
            table.arm(Fault { call: "vkAllocateMemory", nth: 1, times, code });
            let allocated = ctx.allocator().allocate(1 << 20, MemoryKind::Device);
            assert_eq!(table.disarm(), times);
            assert_eq!(allocated.is_ok(), times == 1, "{code:?} {times} times");
            drop(allocated);
            ctx.allocator().allocate(1 << 20, MemoryKind::Device).unwrap();
        });
    }
}
