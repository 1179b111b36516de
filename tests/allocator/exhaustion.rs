//! Asking for too much: one block beyond the device's limit, and all memory there is.
//!
//! The CPU drivers give out more than their heap holds, for as long as the system does. So one test runs the others
//! again in a process of its own, whose address space is bounded.

use std::process::Command;

use vkarray::{DeviceType, MemoryError, MemoryKind, Shortage};

use super::pattern;
use crate::fixture::{Fixture, skipped};
use crate::kernels::{keep_busy, spin};

/// Bytes of each block while memory is used up: few blocks, and each of them within every device's limit.
const LARGE: u64 = 192 << 20;

#[test]
fn a_block_beyond_the_limit_is_refused_with_both_numbers() {
    let fixture = Fixture::open();
    let limit = fixture.info().limits.max_buffer_size;
    let sizes = [limit.saturating_add(1), u64::MAX - 15, u64::MAX];
    for bytes in sizes.into_iter().filter(|&bytes| bytes > limit) {
        let error = fixture.allocator().allocate(bytes, MemoryKind::Device).unwrap_err();
        let message = format!("{bytes} bytes are more than one buffer of this device can hold ({limit})");
        assert_eq!(error.to_string(), message);
        assert_eq!(fixture.allocator().usage().in_use, 0);
    }
}

#[test]
fn memory_that_runs_out_comes_back() {
    let fixture = Fixture::open();
    let heap = fixture.info().device_memory_bytes();
    if fixture.info().device_type != DeviceType::Cpu || heap > 4 << 30 {
        return skipped("memory_that_runs_out_comes_back", "only where all memory is a CPU driver's small heap");
    }
    let mut blocks = Vec::new();
    let error = loop {
        match fixture.allocator().allocate(LARGE, MemoryKind::Device) {
            Ok(block) => blocks.push(block),
            Err(error) => break error,
        }
        if blocks.len() as u64 * LARGE > 2 * heap {
            return skipped("memory_that_runs_out_comes_back", "the driver gives out more than its heap holds");
        }
    };
    let usage = fixture.allocator().usage();
    assert_eq!(
        error.to_string().lines().next().unwrap(),
        format!("out of memory for {LARGE} bytes of device memory: the device has none left")
    );
    let MemoryError::OutOfMemory(report) = error else { panic!("{error}") };
    assert_eq!((report.bytes, report.kind, report.shortage), (LARGE, MemoryKind::Device, Shortage::DeviceMemory));
    assert_eq!((report.in_use, report.reserved), (usage.in_use, usage.reserved));
    assert_eq!((report.n_holders, report.holders.len()), (blocks.len(), blocks.len().min(10)));
    assert_eq!(usage.in_use, blocks.len() as u64 * LARGE);
    // What is held is untouched, and what is dropped can be had again.
    let last = blocks.pop().unwrap();
    last.copy_from_host(fixture.default_stream(), LARGE - 50, &pattern(4, 50)).unwrap();
    drop(blocks.pop());
    let again = fixture.allocator().allocate(LARGE, MemoryKind::Device).unwrap();
    fixture.allocator().allocate(LARGE, MemoryKind::Device).unwrap_err();
    let mut back = [0; 50];
    last.copy_to_host(fixture.default_stream(), LARGE - 50, &mut back).unwrap();
    assert_eq!(back.as_slice(), pattern(4, 50));
    drop((again, last, blocks));
    fixture.allocator().flush().unwrap();
    assert_eq!(fixture.allocator().usage().in_use, 0);
}

#[test]
fn memory_in_use_by_the_device_is_waited_for_when_it_runs_out() {
    let fixture = Fixture::open();
    let heap = fixture.info().device_memory_bytes();
    if fixture.info().device_type != DeviceType::Cpu || heap > 4 << 30 {
        return skipped(
            "memory_in_use_by_the_device_is_waited_for_when_it_runs_out",
            "only where all memory is a CPU driver's small heap",
        );
    }
    let mut arrays = Vec::new();
    while let Ok(array) = fixture.device_array::<u32>([usize::try_from(LARGE / 4).unwrap()]) {
        arrays.push(array);
        if arrays.len() as u64 * LARGE > 2 * heap {
            return skipped(
                "memory_in_use_by_the_device_is_waited_for_when_it_runs_out",
                "the driver gives out more than its heap holds",
            );
        }
    }
    let (spin, busy) = (spin(&fixture), arrays.pop().unwrap());
    // A part of it, since a binding may be bounded more tightly than a block.
    keep_busy(fixture.default_stream(), &spin, &busy.slice(&[(0..1).into()]).unwrap());
    fixture.default_stream().flush().unwrap();
    drop(busy);
    assert_eq!(fixture.allocator().usage().n_pending, 1);
    let again = fixture.allocator().allocate(LARGE, MemoryKind::Device).unwrap();
    assert!(fixture.default_stream().query().unwrap(), "memory was given out while the device still used it");
    drop(again);
}

#[test]
#[cfg(target_os = "linux")]
fn memory_runs_out_where_the_system_bounds_it() {
    let fixture = Fixture::open();
    if !fixture.is_cpu() {
        return skipped("memory_runs_out_where_the_system_bounds_it", "the device's memory is not the system's");
    }
    drop(fixture);
    // KiB of address space: the drivers' own needs, and less than twice the heap, where the tests would give up.
    let bounded = "ulimit -v 3600000 && exec \"$0\" \"$@\"";
    let tests = ["memory_that_runs_out_comes_back", "memory_in_use_by_the_device_is_waited_for_when_it_runs_out"]
        .map(|test| format!("allocator::exhaustion::{test}"));
    let output = Command::new("sh")
        .args(["-c", bounded])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", "--test-threads=1"])
        .args(&tests)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {text}", output.status);
    assert!(text.contains("2 passed") && !text.contains("SKIPPED"), "{text}");
}
