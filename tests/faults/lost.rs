//! Lost devices: the error's text, the calls that report it, and what can be dropped afterwards.

use std::sync::{Arc, mpsc};
use std::thread;

use ash::vk;
use vkarray::device::{Device, Error as DriverError, Instance};
use vkarray::{Context, Groups};

use crate::kernels::{keep_busy, spin, step, stepped};
use crate::scenario::block_on;
use crate::table::{Fault, Table};
use crate::watchdog::watched;

fn lose_at(call: &'static str, times: u32) -> Fault {
    Fault { call, nth: 1, times, code: vk::Result::ERROR_DEVICE_LOST }
}

fn open(instance: &Arc<Instance>) -> (Arc<Device>, Context) {
    let device = Device::open(&instance.devices().unwrap()[0]).unwrap();
    let ctx = Context::on(&device).unwrap();
    (device, ctx)
}

#[test]
fn the_error_of_a_lost_device_names_its_last_sixteen_operations() {
    let table = Table::take();
    let instance = table.instance();
    let (device, ctx) = open(&instance);
    watched("losing the device", || {
        let (stream, step) = (ctx.stream().unwrap(), step(&ctx));
        let (x, y) = (ctx.zeros::<u32>([100]).unwrap(), ctx.zeros::<u32>([100]).unwrap());
        let mut expected = Vec::new();
        for round in 0..5_u64 {
            x.block().fill(&stream, 1).unwrap();
            y.block().copy_from_block(&stream, 0, x.block(), 0..round * 4 + 4).unwrap();
            step.dispatch(&stream, Groups::covering([100]), (&y, 1_u32)).unwrap();
            expected.extend(["fill 400 bytes".to_owned(), format!("copy {} bytes", round * 4 + 4), "step".to_owned()]);
        }
        let (graph, _) =
            vkarray::Graph::record(&stream, |graph| step.record(graph, Groups::covering([100]), (&x, 1_u32))).unwrap();
        graph.replay(&stream).unwrap();
        // The graph's own operation was recorded before the replay.
        expected.extend(["step".to_owned(), "replay of 1 steps".to_owned()]);
        table.arm(lose_at("vkWaitSemaphores", u32::MAX));
        // A query does not wait, so it does not find the device lost.
        stream.query().unwrap();
        let lost = device.failed("vkWaitSemaphores")(vk::Result::ERROR_DEVICE_LOST);
        let DriverError::DeviceLost { call, labels } = &lost else { panic!("{lost}") };
        assert_eq!(*call, "vkWaitSemaphores");
        assert_eq!(labels.as_slice(), &expected[expected.len() - 16..]);
        let text = format!("device lost during vkWaitSemaphores; last work: {}", labels.join(", "));
        assert_eq!(lost.to_string(), text);
        assert_eq!(stream.synchronize().unwrap_err().to_string(), text);
        // A later loss changes nothing.
        assert_eq!(device.failed("vkQueueSubmit2")(vk::Result::ERROR_DEVICE_LOST).to_string(), text);
        table.disarm();
    });
    drop(ctx);
    table.close(device);
}

#[test]
fn threads_callbacks_futures_and_points_report_the_lost_device() {
    let table = Table::take();
    let instance = table.instance();
    let (device, ctx) = open(&instance);
    watched("waiting for a lost device", || {
        let (spin, stream) = (spin(&ctx), ctx.stream().unwrap());
        let array = ctx.slice_to_device(&[1_u32]).unwrap();
        keep_busy(&stream, &spin, &array);
        stream.flush().unwrap();
        table.arm(lose_at("vkWaitSemaphores", u32::MAX));
        let (sender, callback) = mpsc::channel();
        let done = stream.async_done();
        let added = stream.add_callback(move |outcome| sender.send(outcome).unwrap());
        let point = stream.point();
        let waited = thread::scope(|scope| scope.spawn(|| stream.synchronize()).join().unwrap());
        let sticky = device.check_lost().unwrap_err().to_string();
        assert!(sticky.starts_with("device lost during vkWaitSemaphores; last work: "), "{sticky}");
        assert!(sticky.ends_with("spin, spin"), "{sticky}");
        // A callback that was added after the loss failed at once.
        let called = added.and_then(|()| callback.recv().unwrap());
        let woken = done.and_then(block_on);
        let pointed = point.and_then(|point| point.wait(None));
        for (waiter, outcome) in [("thread", waited), ("callback", called), ("future", woken), ("point", pointed)] {
            assert_eq!(outcome.unwrap_err().to_string(), sticky, "{waiter}");
        }
        table.disarm();
    });
    drop(ctx);
    table.close(device);
}

/// NVIDIA's driver ends the work of a process without a word to those that wait for a timeline.
#[test]
fn a_loss_that_no_timeline_reports_ends_every_wait() {
    let table = Table::take();
    let instance = table.instance();
    for waiter in ["stream", "event", "any event", "query", "callback", "future", "drop"] {
        let (device, ctx) = open(&instance);
        watched(waiter, || {
            let (spin, stream, event) = (spin(&ctx), ctx.stream().unwrap(), ctx.event());
            let array = ctx.slice_to_device(&[1_u32]).unwrap();
            (0..4).for_each(|_| keep_busy(&stream, &spin, &array));
            event.record(&stream).unwrap();
            stream.flush().unwrap();
            table.arm(lose_at("vkQueueSubmit2", u32::MAX));
            let (sender, callback) = mpsc::channel();
            let outcome = match waiter {
                "stream" => stream.synchronize(),
                "event" => event.synchronize(),
                "any event" => vkarray::Event::wait_any(&[&event], None).map(drop),
                "query" => loop {
                    match event.query() {
                        Ok(false) => thread::sleep(std::time::Duration::from_millis(1)),
                        ended => break ended.map(drop),
                    }
                },
                "callback" => stream
                    .add_callback(move |outcome| sender.send(outcome).unwrap())
                    .and_then(|()| callback.recv().unwrap()),
                "future" => stream.async_done().and_then(block_on),
                _ => {
                    drop(stream);
                    drop(array);
                    device.synchronize()
                }
            };
            let lost = outcome.map_or_else(|error| error.to_string(), |()| "nothing was lost".to_owned());
            assert!(lost.starts_with("device lost during vkQueueSubmit2; last work: "), "{waiter}: {lost}");
            table.disarm();
        });
        drop(ctx);
        table.close(device);
    }
}

#[test]
fn waiting_for_a_batch_lost_at_submission_is_an_error() {
    let table = Table::take();
    let instance = table.instance();
    let (device, ctx) = open(&instance);
    watched("waiting for a lost batch", || {
        let (step, stream, other) = (step(&ctx), ctx.stream().unwrap(), ctx.stream().unwrap());
        let array = ctx.slice_to_device(&[1_u32]).unwrap();
        let event = ctx.event();
        table.arm(lose_at("vkQueueSubmit2", 1));
        let first = step.dispatch(&stream, Groups::exact([1, 1, 1]), (&array, 1_u32));
        event.record(&stream).ok();
        let sticky = stream.synchronize().unwrap_err().to_string();
        assert!(sticky.starts_with("device lost during vkQueueSubmit2; last work: "), "{sticky}");
        let second = step.dispatch(&other, Groups::exact([1, 1, 1]), (&array, 1_u32));
        for outcome in [first, second] {
            assert_eq!(outcome.unwrap_err().to_string(), sticky);
        }
        // The work did not run, so its result cannot be read.
        drop((stream, other));
        assert_eq!(array.copy_to_host().unwrap_err().to_string(), sticky);
        table.disarm();
    });
    drop(ctx);
    table.close(device);
}

#[test]
fn objects_of_a_lost_device_drop_in_any_order_and_a_new_device_works() {
    let table = Table::take();
    let instance = table.instance();
    for order in 0..6 {
        let (device, ctx) = open(&instance);
        watched("dropping what is lost", || {
            let (step, spin, stream) = (step(&ctx), spin(&ctx), ctx.stream().unwrap());
            let array = ctx.slice_to_device(&[2_u32]).unwrap();
            keep_busy(&stream, &spin, &array);
            step.dispatch(&stream, Groups::exact([1, 1, 1]), (&array, 1_u32)).unwrap();
            table.arm(lose_at("vkCreateSemaphore", 1));
            ctx.stream().unwrap_err();
            table.disarm();
            let mut parts: [Box<dyn Send>; 3] = [Box::new(ctx), Box::new(stream), Box::new(array)];
            parts.rotate_left(order % 3);
            if order >= 3 {
                parts.swap(0, 1);
            }
            parts.into_iter().for_each(drop);
            drop((step, spin));
        });
        table.close(device);
    }
    let (device, ctx) = open(&instance);
    let array = ctx.slice_to_device(&[2_u32]).unwrap();
    step(&ctx).dispatch(ctx.default_stream(), Groups::exact([1, 1, 1]), (&array, 3_u32)).unwrap();
    assert_eq!(array.copy_to_host().unwrap().first(), Some(&stepped(2, 3)));
    drop((array, ctx));
    table.close(device);
}
