//! The tests of streams, events, graphs, host copies and random programs, run again on a device with several queues.
//!
//! CPU drivers have one queue. The layer in `many_queues/` reports seven, below the validation layer, which then checks
//! the order between them. To run any test on the layer, set the environment variables of [`Layer::command`].
#![cfg(target_os = "linux")]

use vkarray_many_queues::{LAYER_NAME, WORKGROUPS_VARIABLE, manifest};

use crate::fixture::layer::{Layer, assert_tests_pass};
use crate::fixture::{Fixture, skipped};

const LAYER: Layer = Layer { name: LAYER_NAME, folder: "many_queues", library: "libvkarray_many_queues.so", manifest };

/// The tests that run, by the start of their names; tests of random programs run few programs.
const INCLUDED: [&str; 11] = [
    "several_queues::the_layer_reports_several_queues",
    "allocator::host_order::two_streams",
    "allocator::host_order::writes_of_a_stream",
    "allocator::ring",
    "driver::events",
    "driver::graphs",
    "driver::stream_kinds",
    "driver::streams",
    "driver::traces::a_large_copy",
    "hazards::random_programs_on_many_streams",
    "hazards::graphs::random_programs_with_graphs",
];
const N_PROGRAMS: &str = "100";

/// The test that does not run. If the host signals a semaphore while a queue waits for it, on a slow driver, the
/// validation layer 1.3.239 waits ten seconds and then says "This is most likely a validation bug".
const EXCLUDED: &str = "driver::stream_kinds::callbacks_wait_for_an_external_semaphore";

#[test]
fn tests_pass_on_several_queues() {
    let device = Fixture::open();
    if device.device().plan().compute.count > 1 {
        return skipped("tests_pass_on_several_queues", "a device of one queue");
    }
    drop(device);
    let mut program = LAYER.command();
    program.env("VKARRAY_TEST_PROGRAMS", N_PROGRAMS);
    assert_tests_pass(program, &INCLUDED, &[EXCLUDED]);
}

/// Launches along one axis, on a device with short axes. Lavapipe and SwiftShader allow 65,535 workgroups, NVIDIA 2^31 - 1.
#[test]
fn launches_beyond_the_axis_limit_are_folded() {
    let device = Fixture::open();
    if device.device().plan().compute.count > 1 {
        return skipped("launches_beyond_the_axis_limit_are_folded", "a device of one queue");
    }
    drop(device);
    let mut program = LAYER.command();
    program.env(WORKGROUPS_VARIABLE, "7,5,500");
    let folding = "kernel::folding::every_workgroup_runs_once_and_sees_one_axis";
    let included = [folding, "kernel::folding", "kernel::launch::saxpy_is_correct", "kernel::indirect::more_than"];
    assert_tests_pass(program, &included, &[]);
}

#[test]
#[ignore = "passes only on the layer, on which `tests_pass_on_several_queues` runs it"]
fn the_layer_reports_several_queues() {
    let fixture = Fixture::open();
    let queues: Vec<_> = fixture.device().plan().families();
    assert_eq!(queues, [1, 2], "kernels on one family of queues, copies on another");
    assert_eq!(fixture.device().plan().compute.count, 4);
}
