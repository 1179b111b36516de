//! The tests of memory once more, on a device whose cached memory is not coherent.
//!
//! The layer of `noncoherent/` shows the host bytes of its own, which become those of the memory only by a flush and
//! those of the device only by an invalidation: where one is missing, or is not of whole atoms, results are wrong. By
//! hand: the variables of [`Layer::command`], and then any test.
#![cfg(target_os = "linux")]

use vkarray::memory::MemoryKind;
use vkarray_driver::MemoryType;
use vkarray_noncoherent::{LAYER_NAME, manifest};

use crate::fixture::{Fixture, contents};
use crate::layered::{Layer, assert_passed};

const LAYER: Layer = Layer { name: LAYER_NAME, folder: "noncoherent", library: "libvkarray_noncoherent.so", manifest };

/// What is run, by the beginnings of names.
const SUITES: [&str; 7] = [
    "noncoherent::the_device_has_cached_memory_that_is_not_coherent",
    "noncoherent::",
    "allocator::",
    "ndarray::copies",
    "ndarray::interchange",
    "ndarray::pending",
    "ndarray::views",
];

/// What is left out: those that run this program again, and what takes gibibytes or long, and says nothing new.
const LEFT_OUT: [&str; 5] = [
    "noncoherent::suites_pass",
    "allocator::exhaustion",
    "allocator::managers",
    "allocator::soak",
    "allocator::pool::a_million",
];

#[test]
fn suites_pass_on_memory_that_is_not_coherent() {
    let mut tests = LAYER.command();
    tests.args(SUITES).arg("--include-ignored").args(LEFT_OUT.iter().flat_map(|name| ["--skip", name]));
    assert_passed(tests, SUITES[0]);
}

#[test]
#[ignore = "true only where `suites_pass_on_memory_that_is_not_coherent` runs it"]
fn the_device_has_cached_memory_that_is_not_coherent() {
    let fixture = Fixture::open();
    let info = fixture.device().info();
    let of_kind = |kind: MemoryKind| info.memory_types[kind.memory_type(info, u32::MAX).unwrap() as usize];
    let as_wanted =
        |kind: MemoryType, is_coherent| kind.host_coherent == is_coherent && kind.host_cached != is_coherent;
    assert!(as_wanted(of_kind(MemoryKind::Pinned), false));
    let shared = of_kind(MemoryKind::Shared); // A GPU's own is not cached by the host.
    assert!(!(shared.host_cached && shared.host_coherent));
    assert!(as_wanted(of_kind(MemoryKind::WriteCombined), true));
    assert!(!fixture.pinned_array::<u8>([1]).unwrap().block().is_coherent());
}

/// Whatever writes some bytes of an atom, the others stay as they were, on both sides.
#[test]
fn bytes_that_share_an_atom_are_not_lost() {
    let fixture = Fixture::open();
    let (n, stream) = (700, fixture.default_stream());
    let array = fixture.pinned_array::<u8>([n]).unwrap();
    let (block, all) = (array.block(), 0..n as u64);
    let mut before = 0; // What the device wrote last; never the same, so that what is stale shows.
    for (start, len) in [(0, 1), (3, 250), (100, 156), (255, 2), (256, 256), (250, 300), (511, 189), (699, 1)] {
        let (from, to) = (start as u64, (start + len) as u64);
        // The host in place, the host by a copy, and the device.
        let writes: [&dyn Fn(); 3] = [
            &|| block.write_on_host(from..to).unwrap().fill(200),
            &|| block.copy_from_host(stream, from, &vec![200; len]).unwrap(),
            &|| block.fill_range(stream, from..to, &[200]).unwrap(),
        ];
        for (way, write) in writes.iter().enumerate() {
            before += 1;
            block.fill_range(stream, all.clone(), &[before]).unwrap();
            stream.synchronize().unwrap(); // So that a copy of the host finds it idle.
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
