//! The tests of memory, run again on a device whose cached memory is not coherent.
//!
//! The layer in `noncoherent/` gives the host a copy of mapped memory. A flush copies the host's bytes to the memory, an
//! invalidation copies them back; if one is missing, or does not cover whole atoms, results are wrong. To run any test on
//! the layer, set the environment variables of [`Layer::command`].
#![cfg(target_os = "linux")]

use vkarray::memory::MemoryKind;
use vkarray_driver::MemoryType;
use vkarray_noncoherent::{LAYER_NAME, manifest};

use crate::fixture::layer::{Layer, assert_tests_pass};
use crate::fixture::{Fixture, contents};

const LAYER: Layer = Layer { name: LAYER_NAME, folder: "noncoherent", library: "libvkarray_noncoherent.so", manifest };

/// The tests that run, by the start of their names.
const INCLUDED: [&str; 7] = [
    "noncoherent::the_layer_makes_cached_memory_non_coherent",
    "noncoherent::",
    "allocator::",
    "ndarray::copies",
    "ndarray::interchange",
    "ndarray::pending",
    "ndarray::views",
];

/// The tests that do not run: tests that start further processes, and tests that take long or gibibytes of memory.
const EXCLUDED: [&str; 5] = [
    "noncoherent::tests_pass",
    "allocator::exhaustion",
    "allocator::managers",
    "allocator::soak",
    "allocator::pool::a_million",
];

#[test]
fn tests_pass_on_non_coherent_memory() {
    assert_tests_pass(LAYER.command(), &INCLUDED, &EXCLUDED);
}

#[test]
#[ignore = "passes only on the layer, on which `tests_pass_on_non_coherent_memory` runs it"]
fn the_layer_makes_cached_memory_non_coherent() {
    let fixture = Fixture::open();
    let info = fixture.device().info();
    let of_kind = |kind: MemoryKind| info.memory_types[kind.memory_type(info, u32::MAX).unwrap() as usize];
    let is = |kind: MemoryType, is_coherent| kind.host_coherent == is_coherent && kind.host_cached != is_coherent;
    assert!(is(of_kind(MemoryKind::Pinned), false));
    let shared = of_kind(MemoryKind::Shared); // On a GPU the host does not cache it.
    assert!(!(shared.host_cached && shared.host_coherent));
    assert!(is(of_kind(MemoryKind::WriteCombined), true));
    assert!(!fixture.pinned_array::<u8>([1]).unwrap().block().is_coherent());
}

/// A write of some bytes of an atom, by the host or the device, leaves the other bytes unchanged on both sides.
#[test]
fn a_write_keeps_the_other_bytes_of_an_atom() {
    let fixture = Fixture::open();
    let (n, stream) = (700, fixture.default_stream());
    let array = fixture.pinned_array::<u8>([n]).unwrap();
    let (block, all) = (array.block(), 0..n as u64);
    let mut before = 0; // The value that the device wrote last; it always changes, so that stale bytes differ.
    for (start, len) in [(0, 1), (3, 250), (100, 156), (255, 2), (256, 256), (250, 300), (511, 189), (699, 1)] {
        let (from, to) = (start as u64, (start + len) as u64);
        // Written by the host in place, by the host with a copy, and by the device.
        let writes: [&dyn Fn(); 3] = [
            &|| block.write_on_host(from..to).unwrap().fill(200),
            &|| block.copy_from_host(stream, from, &vec![200; len]).unwrap(),
            &|| block.fill_range(stream, from..to, &[200]).unwrap(),
        ];
        for (way, write) in writes.iter().enumerate() {
            before += 1;
            block.fill_range(stream, all.clone(), &[before]).unwrap();
            stream.synchronize().unwrap(); // The host copies in place only if the block is idle.
            write();
            let is_written = |at: usize| (start..start + len).contains(&at);
            let expected: Vec<u8> = (0..n).map(|at| if is_written(at) { 200 } else { before }).collect();
            let seen = fixture.device_array::<u8>([n]).unwrap();
            seen.block().copy_from_block(stream, 0, block, all.clone()).unwrap();
            assert_eq!(contents(&seen), expected, "{len} bytes at {start}, way {way}: the device");
            assert_eq!(
                &*block.read_on_host(all.clone()).unwrap(),
                expected,
                "{len} bytes at {start}, way {way}: the host"
            );
        }
    }
}
