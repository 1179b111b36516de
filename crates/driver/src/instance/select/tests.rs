//! Selectors, visibility and requirements, on devices that are made up.

use super::*;
use crate::instance::{DeviceLimits, DriverInfo, External, Features, Subgroup, Version};

fn device(name: &str, device_type: DeviceType, vendor_id: u32, uuid: &str) -> DeviceInfo {
    let no_limits = DeviceLimits {
        max_compute_work_group_count: [0; 3],
        max_compute_work_group_size: [0; 3],
        max_compute_work_group_invocations: 0,
        max_compute_shared_memory_size: 0,
        max_push_constants_size: 0,
        max_storage_buffer_range: 0,
        max_uniform_buffer_range: 0,
        max_bound_descriptor_sets: 0,
        max_per_stage_descriptor_storage_buffers: 0,
        max_per_stage_descriptor_uniform_buffers: 0,
        max_push_descriptors: 0,
        robust_storage_buffer_access_size_alignment: 0,
        min_storage_buffer_offset_alignment: 0,
        min_uniform_buffer_offset_alignment: 0,
        non_coherent_atom_size: 0,
        max_memory_allocation_size: 0,
        max_memory_allocation_count: 0,
        max_buffer_size: 0,
        min_imported_host_pointer_alignment: 0,
        timestamp_period_ns: 0.0,
    };
    DeviceInfo {
        name: name.to_owned(),
        device_type,
        vendor_id,
        device_id: 0,
        api_version: Version { major: 1, minor: 3, patch: 0 },
        driver: DriverInfo { id: 0, name: "driver".to_owned(), info: String::new(), version: 0, uuid: String::new() },
        uuid: uuid.to_owned(),
        pci_address: None,
        limits: no_limits,
        features: Features::default(),
        subgroup: Subgroup {
            size: 4,
            min_size: 4,
            max_size: 4,
            required_in_compute: false,
            max_in_workgroup: 0,
            in_compute: true,
            operations: 0,
        },
        memory_heaps: Vec::new(),
        memory_types: Vec::new(),
        queue_families: Vec::new(),
        extensions: std::collections::BTreeSet::new(),
        matrix_shapes: Vec::new(),
        external: External::default(),
    }
}

const UUID: &str = "0123456789abcdef0123456789abcdef";

fn machine() -> Vec<DeviceInfo> {
    vec![
        device("llvmpipe (LLVM 15)", DeviceType::Cpu, 0x10005, &"1".repeat(32)),
        device("UHD Graphics 770", DeviceType::Integrated, 0x8086, &"2".repeat(32)),
        device("H100 80GB HBM3", DeviceType::Discrete, 0x10de, UUID),
        device("H100 80GB HBM3", DeviceType::Discrete, 0x10de, &"4".repeat(32)),
    ]
}

fn choose(argument: &str, device: &str, visible: &str, require: &str) -> Result<usize> {
    let some = |text: &str| Some(text.to_owned());
    let selection = Selection {
        argument: some(argument),
        device_variable: some(device),
        visible_variable: some(visible),
        require_variable: some(require),
    };
    selection.choose(&machine())
}

#[test]
fn chooses_by_every_form_of_selector() {
    // Argument, VKARRAY_DEVICE, VKARRAY_VISIBLE_DEVICES, VKARRAY_REQUIRE, chosen.
    let cases = [
        ("", "", "", "", 2),                                          // The best kind, first of equals.
        ("0", "", "", "", 0),                                         // An index.
        ("", "3", "", "", 3),                                         // The variable.
        ("1", "3", "", "", 1),                                        // The argument wins.
        ("nvidia", "", "", "", 2),                                    // A vendor that the name does not mention.
        ("NVIDIA", "", "", "", 2),                                    // Any case.
        ("h100", "", "", "", 2),                                      // Part of the name.
        ("lavapipe", "", "", "", 0),                                  // Mesa's name for its CPU driver.
        ("intel", "", "", "", 1),                                     // By vendor id.
        ("cpu", "", "", "", 0),                                       // A kind.
        ("integrated", "", "", "", 1),                                // A kind.
        ("uuid:01234567-89ab-cdef-0123-456789ABCDEF", "", "", "", 2), // Dashes, upper case.
        ("", "", "cpu", "", 0),                                       // Only the processor is visible.
        ("0", "", "3,1", "", 3),                                      // Indices count within the visible.
        ("1", "", "3,1", "", 1),                                      // In their new order.
        ("", "", "cpu,nvidia", "", 2),                                // One selector, several devices.
        ("1", "", "nvidia,3", "", 3),                                 // Named twice, listed once.
        ("", "", "", "discrete", 2),                                  // Satisfied.
        ("intel", "", "", "virtual", 1),                              // Better than required.
        ("gpu", "", "", "", 2),                                       // The best that is no processor.
        ("GPU", "", "cpu,1", "", 1),                                  // Of the visible ones.
        ("1", "", "", "gpu", 1),                                      // Any that is no processor.
        (" 0 ", "", "", "", 0),                                       // Spaces around.
    ];
    for (argument, device, visible, require, expected) in cases {
        let chosen = choose(argument, device, visible, require);
        assert_eq!(chosen.ok(), Some(expected), "{argument:?} {device:?} {visible:?} {require:?}");
    }
}

#[test]
fn refuses_with_what_there_is() {
    // Argument, VKARRAY_DEVICE, VKARRAY_VISIBLE_DEVICES, VKARRAY_REQUIRE, message.
    let cases = [
        ("7", "", "cpu", "", "no device matches \"7\" (from the device argument); there are: 0 llvmpipe (LLVM 15)"),
        ("", "amd", "intel", "", "no device matches \"amd\" (from VKARRAY_DEVICE); there are: 0 UHD Graphics 770"),
        (
            "",
            "",
            "radeon",
            "",
            "no device matches \"radeon\" (from VKARRAY_VISIBLE_DEVICES); there are: \
            0 llvmpipe (LLVM 15), 1 UHD Graphics 770, 2 H100 80GB HBM3, 3 H100 80GB HBM3",
        ),
        ("gpu", "", "cpu", "", "no device matches \"gpu\" (from the device argument); there are: 0 llvmpipe (LLVM 15)"),
        (
            "cpu",
            "",
            "",
            "gpu",
            "llvmpipe (LLVM 15) cannot be used: it is a cpu device, and VKARRAY_REQUIRE asks for gpu",
        ),
        ("", "", "0,,1", "", "\"\" in VKARRAY_VISIBLE_DEVICES is not a device selector: it is empty"),
        (
            "uuid:12",
            "",
            "",
            "",
            "\"uuid:12\" in the device argument is not a device selector: \
            a uuid has 32 hexadecimal digits",
        ),
        (
            "cpu",
            "",
            "",
            "discrete",
            "llvmpipe (LLVM 15) cannot be used: it is a cpu device, \
            and VKARRAY_REQUIRE asks for discrete",
        ),
        (
            "",
            "",
            "",
            "fast",
            "\"fast\" in VKARRAY_REQUIRE is not a device selector: \
            it must be gpu, discrete, integrated, virtual or cpu",
        ),
        (
            "99999999999999999999999",
            "",
            "cpu",
            "",
            "no device matches \"99999999999999999999999\" \
            (from the device argument); there are: 0 llvmpipe (LLVM 15)",
        ),
    ];
    for (argument, device, visible, require, message) in cases {
        let refused = choose(argument, device, visible, require).expect_err(message);
        assert_eq!(refused.to_string(), message);
    }
}

#[test]
fn no_device_says_what_to_install() {
    let refused = Selection::default().choose(&[]).expect_err("there is none");
    assert!(matches!(refused, Error::NoDevice { .. }), "{refused}");
}

#[test]
fn only_a_machine_without_devices_has_no_device() {
    let one = [device("llvmpipe (LLVM 15)", DeviceType::Cpu, 0x10005, UUID)];
    let named = |text: &str| Selection { device_variable: Some(text.to_owned()), ..Selection::default() };
    let visible = |text: &str| Selection { visible_variable: Some(text.to_owned()), ..Selection::default() };
    // The selection, whether the error is "no device" on a machine without devices, and the same on a machine with one.
    for (selection, without, with) in [
        (Selection::default(), true, None),
        (named("llvm"), true, None),
        (named("llvmpype"), true, Some(false)), // Misspelt.
        (named("7"), true, Some(false)),
        (named("discrete"), true, Some(false)),
        (named("uuid:0"), false, Some(false)), // Malformed, wherever it is.
        (visible("llvmpype"), true, Some(false)),
    ] {
        let refused = selection.choose(&[]).expect_err("there is none");
        assert_eq!(refused.is_no_device(), without, "{selection:?}: {refused}");
        assert_eq!(selection.choose(&one).err().map(|refused| refused.is_no_device()), with, "{selection:?}");
    }
}
