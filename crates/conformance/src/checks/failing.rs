//! What a manager does when something fails: it says so, keeps what lives, and goes on.

use vkarray_allocator::{Error as MemoryError, MemoryKind};

use crate::bench::{Bench, check, write};
use crate::objection::{Objection, expect};

/// The calls that a manager makes to get memory.
const CALLS: [&str; 4] = ["vkCreateBuffer", "vkAllocateMemory", "vkBindBufferMemory", "vkMapMemory"];

/// More than enough calls for any manager here to be through.
const MAX_CALLS: u32 = 200;

pub(super) fn too_large(bench: &Bench<'_>) -> Result<(), Objection> {
    let (stream, kinds) = (bench.stream()?, bench.kinds()?);
    let live = bench.block(1000, kinds[0])?;
    write(&stream, &live, 1)?;
    let before = bench.manager()?.usage();
    for size in [u64::MAX, u64::MAX - 255, u64::MAX / 2, bench.device.info().limits.max_buffer_size.saturating_add(1)] {
        for &kind in &kinds {
            match bench.allocator()?.allocate(size, kind) {
                Err(MemoryError::TooLarge { .. } | MemoryError::OutOfMemory { .. }) => {}
                Err(error) => {
                    return Err(Objection::Failed(format!("expected {size} bytes to be too large, and got: {error}")));
                }
                Ok(_) => return Err(Objection::Failed(format!("expected {size} bytes to be refused"))),
            }
        }
    }
    let after = bench.manager()?.usage();
    expect(after.in_use == before.in_use, || format!("expected refusals to change nothing: {before:?}, {after:?}"))?;
    check(&stream, &live, 1)
}

pub(super) fn failing_calls(bench: &Bench<'_>) -> Result<(), Objection> {
    let faults = bench.faults.ok_or_else(|| Objection::skipped("nothing was given that makes calls fail"))?;
    let (stream, kinds) = (bench.stream()?, bench.kinds()?);
    let live = bench.block(1000, kinds[0])?;
    write(&stream, &live, 1)?;
    for call in CALLS {
        for nth in 1..MAX_CALLS {
            // From nothing, so that the calls are made.
            bench.manager()?.reset()?;
            faults.arm(call, nth);
            let outcome = allocate_some(bench, &kinds);
            let has_failed = faults.disarm() > 0;
            judge(outcome, has_failed, call, nth)?;
            allocate_some(bench, &kinds).map_err(|error| {
                Objection::Failed(format!("expected memory again after a failing {call}, and got: {error}"))
            })?;
            check(&stream, &live, 1)?;
            if !has_failed {
                break;
            }
        }
    }
    drop(live);
    bench.manager()?.reset()?;
    let left = bench.manager()?.usage();
    expect((left.in_use, left.n_pending) == (0, 0), || format!("expected nothing to be lost, and {left:?} is left"))
}

fn judge(outcome: Result<(), MemoryError>, has_failed: bool, call: &str, nth: u32) -> Result<(), Objection> {
    match outcome {
        // Some managers climb over a failure.
        Ok(()) | Err(MemoryError::OutOfMemory { .. }) => Ok(()),
        Err(MemoryError::Driver(error)) if has_failed && error.is_out_of_memory() => Ok(()),
        Err(error) => Err(Objection::Failed(format!(
            "expected running out of memory where call {nth} of {call} fails, and got: {error}"
        ))),
    }
}

fn allocate_some(bench: &Bench<'_>, kinds: &[MemoryKind]) -> Result<(), MemoryError> {
    let Ok(allocator) = bench.allocator() else { return Err(MemoryError::NotInitialized) };
    let mut blocks = Vec::new();
    for &kind in kinds {
        for size in [100, 100_000, 70 << 20] {
            blocks.push(allocator.allocate(size, kind)?);
        }
    }
    Ok(())
}
