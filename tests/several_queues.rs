//! The tests of streams, events, graphs, host copies and random programs once more, on a device that has several queues.
//!
//! CPU drivers have one. The layer of `many_queues/` makes it look like seven, below the validation layer, which so
//! judges the order between queues. A loader reads its settings from the environment, so this binary runs itself. By
//! hand: the variables of [`on_several_queues`], and then any test.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use vkarray_many_queues::{LAYER_NAME, manifest};

use crate::fixture::{Fixture, skipped};

/// What is run, by the beginnings of names; each part in few programs.
const SUITES: [&str; 8] = [
    "several_queues::the_device_has_several_queues",
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
        return skipped("suites_pass_on_several_queues", "the device has several queues, and all tests ran on them");
    }
    drop(device);
    let mut tests = on_several_queues();
    tests.args(SUITES).args(["--include-ignored", "--skip", LEFT_OUT]).env("VKARRAY_TEST_PROGRAMS", N_PROGRAMS);
    let output = tests.output().expect("this program can be run");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    let has_run = text.contains(&format!("test {} ... ok", SUITES[0]));
    assert!(output.status.success() && has_run, "{}:\n{text}", output.status);
}

#[test]
#[ignore = "true only where `suites_pass_on_several_queues` runs it"]
fn the_device_has_several_queues() {
    let fixture = Fixture::open();
    let queues: Vec<_> = fixture.device().plan().families();
    assert_eq!(queues, [1, 2], "kernels on one family of queues, copies on another");
    assert_eq!(fixture.device().plan().compute.count, 4);
}

/// This program, with the layer enabled, below the validation layer.
fn on_several_queues() -> Command {
    let program = env::current_exe().expect("a program knows where it is");
    let libraries = program.parent().expect("a program lies in a folder");
    let data = libraries.join("many_queues");
    let layers = data.join("vulkan/explicit_layer.d");
    fs::create_dir_all(&layers).expect("the build's folder can be written to");
    let library = libraries.join("libvkarray_many_queues.so");
    assert!(library.exists(), "cargo builds {} with the tests", library.display());
    fs::write(layers.join("many_queues.json"), manifest(&library.to_string_lossy())).expect("as the folder");
    let mut command = Command::new(program);
    // Older loaders order layers as they find them, so this one has to be found last: `VK_ADD_LAYER_PATH` is searched first.
    match env::var("VK_LAYER_PATH") {
        Ok(first) => command.env("VK_LAYER_PATH", joined(&first, &layers)),
        Err(_) => {
            let first = env::var("XDG_DATA_DIRS").unwrap_or_else(|_| "/usr/local/share:/usr/share".to_owned());
            command.env("XDG_DATA_DIRS", joined(&first, &data))
        }
    };
    command.env("VK_INSTANCE_LAYERS", format!("VK_LAYER_KHRONOS_validation:{LAYER_NAME}"));
    command
}

fn joined(first: &str, last: &Path) -> String {
    format!("{first}:{}", last.display())
}
