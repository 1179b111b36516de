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
        ("lavapipe_22.3.6", [Some(0), Some(0), Some(0), Some(0)]), // One type is everything.
        ("swiftshader_5.0.0", [Some(0), Some(0), Some(0), Some(0)]), // Likewise.
        ("h100_580.159", [Some(1), Some(3), Some(2), Some(4)]),    // Each has its own.
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
        (MemoryKind::Device, 0b10000, Some(4)), // Only the window: device memory all the same.
        (MemoryKind::Device, 0b01001, Some(0)), // No device memory at all: still memory.
        (MemoryKind::Pinned, 0b00100, Some(2)), // Uncached host memory is slow to read, not wrong.
        (MemoryKind::Pinned, 0b10010, Some(4)), // The window is host-visible too.
        (MemoryKind::Pinned, 0b00011, None),    // Nothing the host can see.
        (MemoryKind::Shared, 0b01111, None),    // No window.
        (MemoryKind::Device, 0, None),          // Nothing is admitted.
    ];
    for (kind, allowed, expected) in cases {
        assert_eq!(kind.memory_type(&h100, allowed), expected, "{kind} of {allowed:#b}");
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

#[test]
fn on_a_shared_memory_gpu_everything_is_the_same_heap() {
    let mut device = machine("h100_580.159");
    let heap = |size| vkarray_driver::Heap { size, device_local: true };
    device.memory_heaps = vec![heap(16 << 30)];
    let kind = |cached| MemoryType {
        heap: 0,
        device_local: true,
        host_visible: true,
        host_coherent: true,
        host_cached: cached,
        special: false,
    };
    device.memory_types = vec![kind(false), kind(true)];
    let chosen = MemoryKind::ALL.map(|kind| kind.memory_type(&device, u32::MAX));
    assert_eq!(chosen, [Some(0), Some(1), Some(0), Some(1)]); // Cached where the host reads.
}
