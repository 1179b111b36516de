//! Host copies that use staging memory because they are large or because the device uses the block.

use vkarray::Groups;
use vkarray::memory::MemoryKind;

use super::pattern;
use crate::fixture::kernels::{keep_busy, kept_busy, spin, step, stepped};
use crate::fixture::{Fixture, contents};

/// More bytes than the four chunks of 16 MiB that are in flight at once, and not a multiple of a chunk.
const LARGE: usize = (70 << 20) + 3;

#[test]
fn large_copies_are_complete() {
    let fixture = Fixture::open();
    let block = fixture.allocator().allocate(LARGE as u64, MemoryKind::Device).unwrap();
    let bytes = pattern(3, LARGE);
    block.copy_from_host(fixture.default_stream(), 0, &bytes).unwrap();
    let mut back = vec![0; LARGE];
    block.copy_to_host(fixture.default_stream(), 0, &mut back).unwrap();
    assert!(back == bytes);
}

#[test]
fn a_large_copy_to_an_array_in_use_comes_after_its_work() {
    let fixture = Fixture::open();
    let (spin, step) = (spin(&fixture), step(&fixture));
    let array = fixture.zeros::<u32>([LARGE / 4]).unwrap();
    fixture.synchronize().unwrap();
    let bytes = pattern(5, LARGE / 4 * 4);
    keep_busy(fixture.default_stream(), &spin, &array);
    // The call returns before the work is complete: chunks wait only for free staging memory.
    array.block().copy_from_host(fixture.default_stream(), 0, &bytes).unwrap();
    step.dispatch(fixture.default_stream(), Groups::exact([1, 1, 1]), (&array, 4_u32)).unwrap();
    let expected: Vec<u32> = bytes.chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect();
    let back = contents(&array);
    assert!(back[64..] == expected[64..]);
    assert!(back[..64].iter().zip(&expected).all(|(&now, &before)| now == stepped(before, 4)));
}

#[test]
fn a_copy_to_an_array_in_use_waits_on_the_device_not_on_the_host() {
    let fixture = Fixture::open();
    let (spin, other) = (spin(&fixture), fixture.stream().unwrap());
    let array = fixture.slice_to_device(&[9_u32; 8]).unwrap();
    keep_busy(fixture.default_stream(), &spin, &array);
    fixture.default_stream().flush().unwrap();
    array.block().copy_from_host(&other, 4, &pattern(1, 4)).unwrap();
    assert!(!fixture.default_stream().query().unwrap(), "the copy waited for the work");
    let upload = u32::from_ne_bytes(pattern(1, 4).try_into().unwrap());
    assert_eq!(contents(&array), [kept_busy(9), upload, 9, 9, 9, 9, 9, 9]);
}

#[test]
fn the_host_may_change_its_bytes_once_a_copy_has_returned() {
    let fixture = Fixture::open();
    let (spin, other) = (spin(&fixture), fixture.stream().unwrap());
    let arrays = [0_u32; 20].map(|zero| fixture.slice_to_device(&[zero; 100]).unwrap());
    let mut bytes = vec![0; 400];
    for (array, first) in arrays.iter().zip(0..) {
        spin.dispatch(&other, Groups::exact([1, 1, 1]), (array, 10_000_u32)).unwrap();
        bytes.copy_from_slice(&pattern(first, 400));
        array.block().copy_from_host(fixture.default_stream(), 0, &bytes).unwrap();
        bytes.fill(0xee);
    }
    for (array, first) in arrays.iter().zip(0..) {
        let expected: Vec<u32> =
            pattern(first, 400).chunks(4).map(|w| u32::from_ne_bytes(w.try_into().unwrap())).collect();
        assert_eq!(contents(array), expected, "array {first}");
    }
}
