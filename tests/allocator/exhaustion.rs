//! Running out of memory: a block beyond the device's limit, and blocks until no memory is left.
//!
//! CPU drivers allocate more than their heap size as long as the system grants it. One test therefore runs the others
//! again in a child process with a bounded address space.

use std::process::Command;
use std::sync::Arc;

use vkarray::memory::managers::{MemoryManager, PassthroughManager, PoolManager};
use vkarray::memory::{Allocator, Block, Error as MemoryError, MemoryKind, Shortage};

use super::pattern;
use crate::fixture::kernels::{keep_busy, spin};
use crate::fixture::{Fixture, skipped};

/// Bytes of each block while memory is used up: within every device's limit, and large, so that there are few blocks.
const LARGE: u64 = 192 << 20;

/// The feature that a driver lacks if it allocates more than its heap size.
const BOUNDLESS: &str = "a driver that gives out no more than its heap holds";

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
fn memory_can_be_allocated_again_after_it_ran_out() {
    let fixture = Fixture::open();
    let Some(heap) = small_memory(&fixture) else {
        return skipped(
            "memory_can_be_allocated_again_after_it_ran_out",
            "a small heap that is all memory, as CPU drivers have",
        );
    };
    let mut blocks = Vec::new();
    let error = loop {
        match fixture.allocator().allocate(LARGE, MemoryKind::Device) {
            Ok(block) => blocks.push(block),
            Err(error) => break error,
        }
        if blocks.len() as u64 * LARGE > 2 * heap {
            return skipped("memory_can_be_allocated_again_after_it_ran_out", BOUNDLESS);
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
    assert_eq!((report.n_live, report.largest.len()), (blocks.len(), blocks.len().min(10)));
    assert_eq!(usage.in_use, blocks.len() as u64 * LARGE);
    // Live blocks are unchanged, and the memory of a dropped block can be allocated again.
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

/// Ignored by default; run it alone: `cargo test -p vkarray-tests --test device -- --ignored the_memory_of_a_gpu`.
#[test]
#[ignore = "takes all memory of the GPU, which other tests and programs may need"]
fn the_memory_of_a_gpu_can_be_allocated_again_after_it_ran_out() {
    const GIB: u64 = 1 << 30;
    let fixture = Fixture::open();
    if fixture.is_cpu() {
        return skipped("the_memory_of_a_gpu_can_be_allocated_again_after_it_ran_out", "a GPU");
    }
    let (allocator, stream) = (fixture.allocator(), fixture.default_stream());
    let before = allocator.memory_info().unwrap();
    let mut blocks = Vec::new();
    let error = loop {
        match allocator.allocate(GIB, MemoryKind::Device) {
            Ok(block) => blocks.push(block),
            Err(error) => break error,
        }
        assert!(blocks.len() as u64 * GIB <= 2 * before.total, "more than twice the heap was given out");
    };
    eprintln!("{} blocks of 1 GiB of {} bytes; then: {error}", blocks.len(), before.total);
    let MemoryError::OutOfMemory(report) = error else { panic!("{error}") };
    assert_eq!((report.bytes, report.shortage), (GIB, Shortage::DeviceMemory));
    assert_eq!((report.n_live, report.in_use), (blocks.len(), blocks.len() as u64 * GIB));
    assert!(blocks.len() as u64 * GIB > before.free / 10 * 9, "{} GiB of {before:?}", blocks.len());
    // Live blocks are unchanged, and the memory of a dropped block can be allocated again.
    let last = blocks.pop().unwrap();
    last.copy_from_host(stream, GIB - 50, &pattern(4, 50)).unwrap();
    drop(blocks.pop());
    let again = allocator.allocate(GIB, MemoryKind::Device).unwrap();
    allocator.allocate(GIB, MemoryKind::Device).unwrap_err();
    let mut back = [0; 50];
    last.copy_to_host(stream, GIB - 50, &mut back).unwrap();
    assert_eq!(back.as_slice(), pattern(4, 50));
    drop((again, last, blocks));
    allocator.trim(0).unwrap();
    assert_eq!(allocator.usage().in_use, 0);
    let after = allocator.memory_info().unwrap();
    assert!(after.free > before.free / 100 * 99, "{before:?} became {after:?}");
}

#[test]
fn running_out_waits_for_memory_that_the_device_still_uses() {
    let test = "running_out_waits_for_memory_that_the_device_still_uses";
    let Some(mut held) = used_up(test, Box::new(PassthroughManager::new())) else { return };
    let (fixture, allocator) = (&held.fixture, &held.allocator);
    drop(held.busy.pop());
    assert_eq!(allocator.usage().n_pending, 1);
    let again = allocator.allocate(LARGE, MemoryKind::Device).unwrap();
    assert!(fixture.default_stream().query().unwrap(), "memory was reused while the device still used it");
    drop(again);
}

#[test]
fn pooled_memory_in_use_is_reused_in_order_and_waited_for_in_another_size() {
    let test = "pooled_memory_in_use_is_reused_in_order_and_waited_for_in_another_size";
    let Some(mut held) = used_up(test, Box::new(PoolManager::new())) else { return };
    let (fixture, allocator) = (&held.fixture, &held.allocator);
    let waits = fixture.device().host_waits();
    drop(held.busy.pop());
    assert_eq!(allocator.usage().n_pending, 1);
    let again = allocator.allocate(LARGE, MemoryKind::Device).unwrap();
    let other = fixture.stream().unwrap();
    again.fill(&other, 0x0707_0707).unwrap();
    other.flush().unwrap();
    assert!(!fixture.default_stream().query().unwrap(), "the host waited for the device");
    assert_eq!(fixture.device().host_waits(), waits, "the host waited for the device");
    let mut first = [0; 4];
    again.copy_to_host(&other, 0, &mut first).unwrap();
    assert_eq!(first, [7; 4], "the work of the dropped block came later");
    // The larger block needs memory of both blocks in use, so their work must end and they return to the driver.
    held.busy.clear();
    drop(again);
    let larger = allocator.allocate(LARGE + LARGE / 2, MemoryKind::Device).unwrap();
    assert!(fixture.default_stream().query().unwrap(), "memory was freed while the device still used it");
    assert!(allocator.oom_counts().runs > 0 && allocator.counters().returns > 0, "{:?}", allocator.counters());
    drop(larger);
}

/// Bytes of the device's memory, if the device is a CPU driver and its memory is so small that a test can use all of
/// it.
///
/// The heap of lavapipe since 23.1 is the system's memory, so the limit of the process is used instead.
fn small_memory(fixture: &Fixture) -> Option<u64> {
    let heap = fixture.info().device_memory_bytes().min(address_space());
    (fixture.is_cpu() && heap <= 4 << 30).then_some(heap)
}

/// The limit of the process's address space in bytes.
fn address_space() -> u64 {
    #[cfg(unix)]
    {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: `limit` is a whole `rlimit`, which the call fills.
        let result = unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) };
        assert_eq!(result, 0, "the limit of the address space cannot be read");
        limit.rlim_cur
    }
    #[cfg(not(unix))]
    u64::MAX
}

/// A device whose memory is used up.
struct UsedUp {
    /// Two blocks that the device still uses.
    busy: Vec<Arc<Block>>,
    _rest: Vec<Arc<Block>>,
    allocator: Arc<Allocator>,
    fixture: Fixture,
}

fn used_up(test: &str, manager: Box<dyn MemoryManager>) -> Option<UsedUp> {
    let fixture = Fixture::open();
    let Some(heap) = small_memory(&fixture) else {
        skipped(test, "a small heap that is all memory, as CPU drivers have");
        return None;
    };
    let (spin, small) = (spin(&fixture), fixture.zeros::<u32>([1]).unwrap());
    fixture.synchronize().unwrap();
    let allocator = Allocator::with_manager(fixture.device(), manager).unwrap();
    let mut blocks = Vec::new();
    while let Ok(block) = allocator.allocate(LARGE, MemoryKind::Device) {
        blocks.push(block);
        if blocks.len() as u64 * LARGE > 2 * heap {
            skipped(test, BOUNDLESS);
            return None;
        }
    }
    keep_busy(fixture.default_stream(), &spin, &small);
    let busy = blocks.split_off(blocks.len() - 2);
    for block in &busy {
        block.copy_from_block(fixture.default_stream(), 0, small.block(), 0..4).unwrap();
    }
    fixture.default_stream().flush().unwrap();
    Some(UsedUp { busy, _rest: blocks, allocator, fixture })
}

#[test]
#[cfg(target_os = "linux")]
fn tests_of_running_out_pass_in_a_bounded_address_space() {
    let fixture = Fixture::open();
    if !fixture.is_cpu() {
        return skipped(
            "tests_of_running_out_pass_in_a_bounded_address_space",
            "a device whose memory is the system's",
        );
    }
    drop(fixture);
    // KiB of address space: enough for the driver itself, and less than twice a small heap, at which the tests stop.
    let bounded = "ulimit -v 3600000 && exec \"$0\" \"$@\"";
    let tests = [
        "memory_can_be_allocated_again_after_it_ran_out",
        "running_out_waits_for_memory_that_the_device_still_uses",
        "pooled_memory_in_use_is_reused_in_order_and_waited_for_in_another_size",
    ]
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
    if text.contains(BOUNDLESS) {
        // lavapipe 25 grows and maps a file, and reports no error if the system refuses that.
        return skipped("tests_of_running_out_pass_in_a_bounded_address_space", BOUNDLESS);
    }
    assert!(text.contains("3 passed") && !text.contains("SKIPPED"), "{text}");
}
