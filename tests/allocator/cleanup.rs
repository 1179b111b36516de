//! Dropped memory: it is not reused or freed before the device's last use, and all of it is freed after that.

use vkarray::memory::{MemoryKind, Usage};

use super::pattern;
use crate::fixture::kernels::{keep_busy, spin};
use crate::fixture::{Fixture, contents, poll};

#[test]
fn memory_dropped_in_use_is_not_reused_before_its_last_use() {
    let fixture = Fixture::open();
    let (spin, stream) = (spin(&fixture), fixture.stream().unwrap());
    for round in 0..4 {
        let busy = fixture.device_array::<u32>([1000]).unwrap();
        keep_busy(&stream, &spin, &busy);
        stream.flush().unwrap();
        drop(busy);
        // If the memory were reused, the running calls would write into one of these arrays.
        let arrays: Vec<_> = (0..40_u32).map(|i| fixture.slice_to_device(&[i + round; 1000]).unwrap()).collect();
        stream.synchronize().unwrap();
        for (array, i) in arrays.iter().zip(0..) {
            assert_eq!(contents(array), [i + round; 1000], "round {round}, array {i}");
        }
    }
}

#[test]
fn memory_dropped_before_its_work_is_submitted_is_not_reused_before_its_last_use() {
    let fixture = Fixture::open();
    let (spin, stream) = (spin(&fixture), fixture.stream().unwrap());
    let front = fixture.zeros::<u32>([1]).unwrap();
    keep_busy(&stream, &spin, &front);
    stream.flush().unwrap();
    let late = fixture.device_array::<u32>([1000]).unwrap();
    keep_busy(&stream, &spin, &late); // Not submitted, since the device is busy.
    drop(late);
    assert_eq!(fixture.allocator().usage().n_pending, 1);
    let arrays: Vec<_> = (0..40_u32).map(|i| fixture.slice_to_device(&[i; 1000]).unwrap()).collect();
    stream.synchronize().unwrap();
    for (array, i) in arrays.iter().zip(0..) {
        assert_eq!(contents(array), [i; 1000], "array {i}");
    }
}

#[test]
fn usage_counts_live_and_pending_blocks() {
    let fixture = Fixture::open();
    let (allocator, spin) = (fixture.allocator(), spin(&fixture));
    let nothing = Usage { in_use: 0, reserved: 0, n_pending: 0, pending: 0 };
    assert_eq!(allocator.usage(), nothing);
    let array = fixture.device_array::<u32>([1000]).unwrap();
    let block = allocator.allocate(500, MemoryKind::Device).unwrap();
    let held = allocator.usage();
    assert!(held.in_use >= 4500 && held.reserved >= held.in_use, "{held:?}");
    assert_eq!((held.n_pending, held.pending), (0, 0));
    drop(block); // The block was never used, so it is free at once.
    let without = allocator.usage();
    assert!(without.in_use < held.in_use && without.n_pending == 0, "{without:?}");
    keep_busy(fixture.default_stream(), &spin, &array);
    drop(array);
    let pending = allocator.usage();
    assert_eq!((pending.n_pending, pending.in_use), (1, without.in_use), "in use until it is freed");
    assert!(pending.pending >= 4000, "{pending:?}");
    allocator.try_flush().unwrap();
    assert_eq!(allocator.usage().n_pending, 1, "freed while the device uses it");
    allocator.flush().unwrap();
    assert!(fixture.default_stream().query().unwrap(), "freed before the work was done");
    let after = allocator.usage();
    assert_eq!((after.in_use, after.n_pending, after.pending), (0, 0, 0), "{after:?}");
}

#[test]
fn completed_blocks_are_freed_while_others_are_in_use() {
    let fixture = Fixture::open();
    let spin = spin(&fixture);
    let (slow, quick) = (fixture.stream().unwrap(), fixture.stream().unwrap());
    let (long, short) = (fixture.zeros::<u32>([1]).unwrap(), fixture.zeros::<u32>([1]).unwrap());
    fixture.synchronize().unwrap();
    short.block().fill(&quick, 3).unwrap();
    quick.flush().unwrap();
    keep_busy(&slow, &spin, &long);
    slow.flush().unwrap();
    drop((long, short)); // The block with the longer work is dropped first and must not delay the other.
    poll("the short work", || quick.query().unwrap());
    fixture.allocator().try_flush().unwrap();
    assert_eq!(fixture.allocator().usage().n_pending, 1);
    assert!(!slow.query().unwrap(), "try_flush waited for a block in use");
}

#[test]
fn a_thousand_blocks_in_flight_are_all_freed() {
    let fixture = Fixture::open();
    let stream = fixture.stream().unwrap();
    for i in 0..1000 {
        let block = fixture.allocator().allocate(64 + i % 500, MemoryKind::Device).unwrap();
        block.fill(&stream, 1).unwrap();
        block.copy_from_host(&stream, 3, &pattern(1, 60)).unwrap();
    }
    fixture.allocator().flush().unwrap();
    let usage = fixture.allocator().usage();
    assert_eq!((usage.in_use, usage.n_pending, usage.pending), (0, 0, 0));
}
