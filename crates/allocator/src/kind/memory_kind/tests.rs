//! Which memory type serves which kind, on recorded snapshots of real devices.

use super::*;

/// A snapshot of a real machine, as `vkarray devices --json` prints it.
pub(crate) fn machine(name: &str) -> DeviceInfo {
    let path = format!("{}/../../tests/snapshots/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn kinds_are_numbered_as_they_are_listed() {
    for (kind, idx) in MemoryKind::ALL.into_iter().zip(0..) {
        assert_eq!(kind.index(), idx, "{kind}");
    }
}

#[test]
fn real_machines_get_the_memory_meant() {
    // Machine, memory type for device, pinned, write-combined, shared.
    let cases = [
        ("lavapipe_22.3.6", [Some(0), Some(0), Some(0), Some(0)]), // One type serves every kind.
        ("swiftshader_5.0.0", [Some(0), Some(0), Some(0), Some(0)]), // One type serves every kind.
        ("h100_580.159", [Some(4), Some(3), Some(2), Some(4)]),    // The host addresses all of the device's memory.
    ];
    for (name, expected) in cases {
        let device = machine(name);
        let chosen = MemoryKind::ALL.map(|kind| kind.memory_type(&device, u32::MAX));
        assert_eq!(chosen, expected, "{name}");
    }
}

#[test]
fn a_buffer_may_not_admit_the_best_type() {
    let h100 = machine("h100_580.159");
    // Kind, admitted types, chosen.
    let cases = [
        (MemoryKind::Device, 0b10000, Some(4)), // The window is the only device memory.
        (MemoryKind::Device, 0b01001, Some(0)), // No device memory is admitted, so host memory is chosen.
        (MemoryKind::Pinned, 0b00100, Some(2)), // Uncached host memory is slow to read, not wrong.
        (MemoryKind::Pinned, 0b10010, Some(4)), // The window is host-visible too.
        (MemoryKind::Pinned, 0b00011, None),    // The host cannot address any.
        (MemoryKind::Shared, 0b01111, None),    // No window.
        (MemoryKind::Device, 0, None),          // Nothing is admitted.
    ];
    for (kind, allowed, expected) in cases {
        assert_eq!(kind.memory_type(&h100, allowed), expected, "{kind} of {allowed:#b}");
    }
}

#[test]
fn memory_of_the_same_heap_serves_instead_of_a_type_that_is_used_up() {
    let h100 = machine("h100_580.159");
    let cases = [
        (MemoryKind::Device, 4, u32::MAX, 1 << 1), // Device memory that the host does not address.
        (MemoryKind::Device, 1, 1 << 1, 0),        // All of it has been tried.
        (MemoryKind::Device, 4, 0b11001, 0),       // The buffer admits no other device memory.
        (MemoryKind::Shared, 4, u32::MAX, 0),      // The host has to address it.
        (MemoryKind::Pinned, 3, u32::MAX, 0),      // The host reads no other type as fast.
    ];
    for (kind, used_up, allowed, expected) in cases {
        assert_eq!(kind.instead_of(used_up, &h100, allowed), expected, "{kind} instead of {used_up}");
    }
}

#[test]
fn special_memory_is_never_chosen() {
    let mut device = machine("h100_580.159");
    for kind in &mut device.memory_types {
        kind.special = true;
    }
    for kind in MemoryKind::ALL {
        assert_eq!(kind.memory_type(&device, u32::MAX), None, "{kind}");
    }
}

/// A machine with this memory: bytes of each heap and whether it is device memory; of each type its heap, and letters
/// for device-local, visible, coherent, cached.
pub(crate) fn machine_with(heaps: &[(u64, bool)], types: &[(u32, &str)]) -> DeviceInfo {
    let mut device = machine("h100_580.159");
    let heap = |&(size, device_local): &(u64, bool)| vkarray_driver::Heap { size, device_local, ..Default::default() };
    device.memory_heaps = heaps.iter().map(heap).collect();
    let kind = |&(heap, letters): &(u32, &str)| MemoryType {
        heap,
        device_local: letters.contains('d'),
        host_visible: letters.contains('v'),
        host_coherent: letters.contains('o'),
        host_cached: letters.contains('c'),
        special: false,
    };
    device.memory_types = types.iter().map(kind).collect();
    device
}

const GIB: u64 = 1 << 30;

/// A graphics card of whose memory the processor reaches only 256 MiB, in a separate heap.
pub(crate) fn machine_with_window() -> DeviceInfo {
    machine_with(
        &[(8 * GIB - (256 << 20), true), (16 * GIB, false), (256 << 20, true)],
        &[(0, "d"), (1, "vo"), (2, "dvo"), (1, "voc")],
    )
}

#[test]
fn each_kind_gets_the_memory_meant_on_machines_that_are_not_here() {
    type Case<'a> = (&'a str, &'a [(u64, bool)], &'a [(u32, &'a str)], [Option<u32>; 4], [bool; 4]);
    let (one, two) = ([(16 * GIB, true)], [(8 * GIB, true), (16 * GIB, false)]);
    let window = [(8 * GIB, true), (16 * GIB, false), (256 << 20, true)];
    let no = [false; 4];
    let cases: [Case<'_>; 7] = [
        // The machine, its heaps, its types, the types of device, pinned, write-combined and shared memory, and which
        // kinds are scarce.
        ("shared, all coherent", &one, &[(0, "dvo"), (0, "dvoc")], [Some(0), Some(1), Some(0), Some(1)], no),
        ("mobile, cached is not coherent", &one, &[(0, "dvo"), (0, "dvc")], [Some(0), Some(1), Some(0), Some(1)], no),
        ("mobile, of both", &one, &[(0, "dvc"), (0, "dvo"), (0, "dvoc")], [Some(1), Some(2), Some(1), Some(2)], no),
        ("nothing is cached", &two, &[(0, "d"), (1, "vo")], [Some(0), Some(1), Some(1), None], no),
        (
            "a card, cached is not coherent",
            &two,
            &[(0, "d"), (1, "vo"), (1, "vc")],
            [Some(0), Some(2), Some(1), None],
            no,
        ),
        ("a card, all of it seen", &two, &[(0, "d"), (1, "voc"), (0, "dvo")], [Some(2), Some(1), Some(1), Some(2)], no),
        (
            "a card with a window",
            &window,
            &[(0, "d"), (1, "vo"), (2, "dvo"), (1, "voc")],
            [Some(0), Some(3), Some(1), Some(2)],
            [false, false, false, true],
        ),
    ];
    for (name, heaps, types, chosen, scarce) in cases {
        let device = machine_with(heaps, types);
        assert_eq!(MemoryKind::ALL.map(|kind| kind.memory_type(&device, u32::MAX)), chosen, "{name}");
        assert_eq!(MemoryKind::ALL.map(|kind| kind.is_scarce(&device)), scarce, "{name}");
    }
    for name in ["lavapipe_22.3.6", "swiftshader_5.0.0", "h100_580.159"] {
        assert_eq!(MemoryKind::ALL.map(|kind| kind.is_scarce(&machine(name))), no, "{name}");
    }
}

#[test]
fn what_is_slow_to_read_in_place_is_known() {
    // Machine, whether device, pinned, write-combined and shared memory are read fast.
    let cases = [
        (machine("lavapipe_22.3.6"), [true; 4]),
        (machine("h100_580.159"), [false, true, true, false]),
        (machine_with(&[(GIB, true)], &[(0, "dvo"), (0, "dvc")]), [false, true, false, true]),
        (machine_with(&[(GIB, true)], &[(0, "dvo")]), [true; 4]), // There is nothing better.
    ];
    for (device, expected) in cases {
        assert_eq!(MemoryKind::ALL.map(|kind| kind.is_read_fast(&device)), expected, "{:?}", device.memory_types);
    }
}

#[test]
fn memory_types_are_a_bit_each() {
    let is_coherent = |kind: &MemoryType| kind.host_coherent;
    assert_eq!(memory_types(&machine("h100_580.159"), is_coherent), 0b11100);
    assert_eq!(memory_types(&machine("h100_580.159"), |kind| kind.host_visible), 0b11100);
    assert_eq!(memory_types(&machine_with(&[(GIB, true)], &[(0, "dvc"), (0, "dvo")]), is_coherent), 0b10);
}
