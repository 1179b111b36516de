//! The tests of streams, events, graphs, host copies and random programs once more, on a device that has several queues.
//!
//! CPU drivers have one. The layer of `many_queues/` makes it look like seven, below the validation layer, which so
//! judges the order between queues. A loader reads its settings from the environment, so this binary runs itself. By
//! hand: the variables of [`Layer::command`], and then any test.
#![cfg(target_os = "linux")]

use vkarray_many_queues::{LAYER_NAME, WORKGROUPS_VARIABLE, manifest};

use crate::fixture::{Fixture, skipped};
use crate::layered::{Layer, assert_passed};

const LAYER: Layer = Layer { name: LAYER_NAME, folder: "many_queues", library: "libvkarray_many_queues.so", manifest };

/// What is run, by the beginnings of names; each part in few programs.
const SUITES: [&str; 10] = [
    "several_queues::the_device_has_several_queues",
    "allocator::host_order::two_streams",
    "allocator::host_order::what_a_stream_writes",
    "allocator::ring",
    "driver::events",
    "driver::graphs",
    "driver::stream_kinds",
    "driver::streams",
    "hazards::programs",
    "hazards::graphs::programs",
];
const N_PROGRAMS: &str = "100";

/// What is left out: the layer 1.3.239, on a slow driver, waits ten seconds for its own note of a semaphore that the host
/// raises while a queue waits for it, and then says "This is most likely a validation bug".
const LEFT_OUT: &str = "driver::stream_kinds::callbacks_wait_for_a_semaphore_from_outside";

#[test]
fn suites_pass_on_several_queues() {
    let device = Fixture::open();
    if device.device().plan().compute.count > 1 {
        return skipped("suites_pass_on_several_queues", "a device of one queue");
    }
    drop(device);
    let mut tests = LAYER.command();
    tests.args(SUITES).args(["--include-ignored", "--skip", LEFT_OUT]).env("VKARRAY_TEST_PROGRAMS", N_PROGRAMS);
    assert_passed(tests, SUITES[0]);
}

/// Launches along one axis, on a device whose axes are short. Lavapipe and SwiftShader allow 65,535, NVIDIA 2^31 - 1.
#[test]
fn long_launches_are_folded_on_short_axes() {
    let device = Fixture::open();
    if device.device().plan().compute.count > 1 {
        return skipped("long_launches_are_folded_on_short_axes", "a device of one queue");
    }
    drop(device);
    let mut tests = LAYER.command();
    tests.args(["kernel::folding", "kernel::launch::saxpy_is_right", "kernel::indirect::more_than"]);
    tests.env(WORKGROUPS_VARIABLE, "7,5,500");
    assert_passed(tests, "kernel::folding::every_workgroup_runs_once_and_sees_one_axis");
}

#[test]
#[ignore = "true only where `suites_pass_on_several_queues` runs it"]
fn the_device_has_several_queues() {
    let fixture = Fixture::open();
    let queues: Vec<_> = fixture.device().plan().families();
    assert_eq!(queues, [1, 2], "kernels on one family of queues, copies on another");
    assert_eq!(fixture.device().plan().compute.count, 4);
}
