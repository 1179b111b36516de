//! Makes each call of the program in `scenario.rs` fail once: each occurrence, with each error code.

use std::fs;
use std::path::PathBuf;

use ash::vk;

use crate::scenario::Run;
use crate::table::{Fault, Table, names};
use crate::watchdog::watched;

const CODES: [vk::Result; 3] =
    [vk::Result::ERROR_OUT_OF_HOST_MEMORY, vk::Result::ERROR_OUT_OF_DEVICE_MEMORY, vk::Result::ERROR_DEVICE_LOST];

/// Of the occurrences of a call, the ones up to this number fail in a run each, and then every tenth does.
const DENSE: u32 = 12;

/// Calls that the program makes only on some devices or after an error.
const RARE: [&str; 4] =
    ["vkQueueWaitIdle", "vkDeviceWaitIdle", "vkFlushMappedMemoryRanges", "vkInvalidateMappedMemoryRanges"];

#[test]
fn the_program_succeeds_when_nothing_fails() {
    let table = Table::take();
    let instance = table.instance();
    let mut run = watched("the program", || Run::new(&instance));
    run.close();
    assert_eq!((run.errors, run.sticky), (vec![], None));
    assert_eq!(table.live(), []);
    assert_eq!(instance.take_messages(), []);
}

#[test]
fn each_call_can_run_out_of_host_memory() {
    fail_every_call(CODES[0]);
}

#[test]
fn each_call_can_run_out_of_device_memory() {
    fail_every_call(CODES[1]);
}

#[test]
fn each_call_can_lose_the_device() {
    fail_every_call(CODES[2]);
}

/// Calls on the instance, for which `table.rs` has no trampolines.
const OF_THE_INSTANCE: [&str; 11] = [
    "vkCreateInstance",
    "vkCreateDebugUtilsMessengerEXT",
    "vkEnumerateInstanceLayerProperties",
    "vkEnumerateInstanceExtensionProperties",
    "vkEnumerateInstanceVersion",
    "vkEnumerateDeviceExtensionProperties",
    "vkEnumeratePhysicalDeviceGroups",
    "vkEnumeratePhysicalDevices",
    "vkGetPhysicalDeviceCalibrateableTimeDomainsEXT",
    "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR",
    "vkGetPhysicalDeviceImageFormatProperties",
];

/// Calls on file descriptors, which drivers refuse in `allocator/external.rs` of the device tests; `scenario.rs` shares
/// no memory.
const OF_DESCRIPTORS: [&str; 3] = ["vkGetMemoryFdKHR", "vkGetSemaphoreFdKHR", "vkImportSemaphoreFdKHR"];

#[test]
fn every_call_whose_failure_the_sources_handle_is_tested() {
    let known: Vec<&str> = names().chain(OF_THE_INSTANCE).chain(OF_DESCRIPTORS).collect();
    let mut n_named = 0;
    for file in ["driver", "allocator", "kernel", "ndarray"].iter().flat_map(|part| sources(part)) {
        let text = fs::read_to_string(&file).unwrap();
        // The names of calls are the first arguments of these two functions.
        let named = ["from_call(\"", "failed(\""].into_iter().flat_map(|opening| text.split(opening).skip(1));
        for call in named.map(|rest| rest.split('"').next().unwrap()).filter(|call| call.starts_with("vk")) {
            n_named += 1;
            assert!(known.contains(&call), "{call} of {} is missing from table.rs", file.display());
        }
    }
    assert!(n_named > 20, "found only {n_named} calls in the sources");
}

fn sources(part: &str) -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::from(format!("{}/../crates/{part}/src", env!("CARGO_MANIFEST_DIR")))];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files
}

fn fail_every_call(code: vk::Result) {
    let table = Table::take();
    let instance = table.instance();
    for call in names().filter(|call| may_return(call, code)) {
        let mut n_hit = 0;
        for nth in (1..=DENSE).chain((DENSE..).step_by(10)) {
            let fault = Fault { call, nth, times: 1, code };
            table.arm(fault);
            let run = watched(&format!("{fault:?}"), || {
                let mut run = Run::new(&instance);
                run.close();
                run
            });
            let has_failed = table.disarm() > 0;
            assert_eq!(table.live(), [], "left after {fault:?}, {:?}", run.errors);
            assert_eq!(instance.take_messages(), [], "{fault:?}, {:?}", run.errors);
            assert!(has_failed || run.errors.is_empty(), "{fault:?} did not occur, but {:?}", run.errors);
            check_errors(fault, &run);
            if !has_failed {
                break;
            }
            n_hit += 1;
        }
        eprintln!("{code:?}: {n_hit} of {call}");
        assert!(n_hit > 0 || RARE.contains(&call), "the program does not call {call}");
    }
}

/// Whether the specification allows the call to return this code: no allocation or mapping reports a lost device.
fn may_return(call: &str, code: vk::Result) -> bool {
    code != vk::Result::ERROR_DEVICE_LOST
        || ![
            "vkAllocateMemory",
            "vkMapMemory",
            "vkGetMemoryHostPointerPropertiesEXT",
            "vkFlushMappedMemoryRanges",
            "vkInvalidateMappedMemoryRanges",
        ]
        .contains(&call)
}

/// Checks that there is at most one error, that it names the call, and that only some failures end the device.
fn check_errors(fault: Fault, run: &Run) {
    let Fault { call, code, .. } = fault;
    assert!(run.errors.len() <= 1, "one failing call, {:?}", run.errors);
    let lost = code == vk::Result::ERROR_DEVICE_LOST;
    for error in &run.errors {
        let says_so = error.contains(call) || error.starts_with("out of memory for ") || error.contains("map memory");
        assert!(says_so, "{fault:?} became: {error}");
    }
    if let Some(sticky) = &run.sticky {
        assert!(lost || call == "vkEndCommandBuffer", "{fault:?} ended the device: {sticky}");
        assert!(!lost || sticky.starts_with(&format!("device lost during {call}")), "{fault:?} became: {sticky}");
    }
}
