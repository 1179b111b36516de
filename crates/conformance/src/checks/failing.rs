//! Failures: a manager reports them, keeps live memory, and works afterwards.

use std::sync::Arc;

use vkarray_allocator::{Allocator, Error as MemoryError, MemoryKind};

use crate::Faults;
use crate::check_error::{CheckError, expect};
use crate::context::{CheckContext, check, write};

/// The Vulkan calls that a manager makes to get memory.
const CALLS: [&str; 4] = ["vkCreateBuffer", "vkAllocateMemory", "vkBindBufferMemory", "vkMapMemory"];

/// A number above the calls that a manager makes in a check.
const MAX_CALLS: u32 = 200;

pub(super) fn too_large(context: &CheckContext<'_>) -> Result<(), CheckError> {
    let (stream, kinds) = (context.stream()?, context.kinds()?);
    let live = context.block(1000, kinds[0])?;
    write(&stream, &live, 1)?;
    let before = context.manager()?.usage();
    for size in [u64::MAX, u64::MAX - 255, u64::MAX / 2, context.device.info().limits.max_buffer_size.saturating_add(1)]
    {
        for &kind in &kinds {
            match context.allocator()?.allocate(size, kind) {
                Err(MemoryError::TooLarge { .. } | MemoryError::OutOfMemory { .. }) => {}
                Err(error) => {
                    return Err(CheckError::Failed(format!("expected {size} bytes to be too large, and got: {error}")));
                }
                Ok(_) => return Err(CheckError::Failed(format!("expected {size} bytes to be refused"))),
            }
        }
    }
    let after = context.manager()?.usage();
    expect(after.in_use == before.in_use, || format!("expected refusals to change nothing: {before:?}, {after:?}"))?;
    check(&stream, &live, 1)
}

pub(super) fn failing_start(context: &CheckContext<'_>) -> Result<(), CheckError> {
    let faults = faults(context)?;
    for_each_fault(|fault| {
        let manager = context.fresh()?;
        fault.arm(faults);
        let outcome = manager.initialize(context.device);
        let has_failed = faults.disarm() > 0;
        fault.judge(outcome, has_failed)?;
        // The manager can be initialised now, and works.
        let allocator = Allocator::with_manager(context.device, manager)?;
        allocate_some(&allocator, &CheckContext::kinds_of(&allocator)?)?;
        Ok(has_failed)
    })
}

pub(super) fn failing_calls(context: &CheckContext<'_>) -> Result<(), CheckError> {
    let faults = faults(context)?;
    for_each_fault(|fault| {
        let allocator = Allocator::with_manager(context.device, context.fresh()?)?;
        let at_first = allocator.usage().in_use;
        let (stream, kinds) = (context.stream()?, CheckContext::kinds_of(&allocator)?);
        let live = allocator.allocate(1000, kinds[0])?;
        write(&stream, &live, 1)?;
        allocator.trim(0)?; // Trimmed, so that the allocations below call the driver.
        fault.arm(faults);
        let outcome = allocate_some(&allocator, &kinds);
        let has_failed = faults.disarm() > 0;
        fault.judge(outcome, has_failed)?;
        allocate_some(&allocator, &kinds).map_err(|error| {
            CheckError::Failed(format!("expected memory again after a failing {}, and got: {error}", fault.call))
        })?;
        check(&stream, &live, 1)?;
        drop(live);
        allocator.flush()?;
        let left = allocator.usage();
        expect((left.in_use, left.n_pending) == (at_first, 0), || {
            format!("expected nothing to be lost by a failing {}, and {left:?} is left", fault.call)
        })?;
        Ok(has_failed)
    })
}

/// Calls that fail: one call, from which a manager may recover, or all calls from one on.
#[derive(Debug, Clone, Copy)]
struct Failing {
    call: &'static str,
    nth: u32,
    times: u32,
}

impl Failing {
    fn arm(self, faults: &dyn Faults) {
        faults.arm(self.call, self.nth, self.times);
    }

    /// The outcome must be a success or a lack of memory.
    fn judge(self, outcome: Result<(), MemoryError>, has_failed: bool) -> Result<(), CheckError> {
        let Self { call, nth, .. } = self;
        match outcome {
            Ok(()) => Ok(()),
            Err(MemoryError::OutOfMemory { .. }) if has_failed => Ok(()),
            Err(MemoryError::Driver(error)) if has_failed && error.is_out_of_memory() => Ok(()),
            Err(error) => Err(CheckError::Failed(format!(
                "expected running out of memory where call {nth} of {call} fails, and got: {error}"
            ))),
        }
    }
}

/// Makes each call fail in turn, until a check ends before the call that should fail.
fn for_each_fault(mut fails: impl FnMut(Failing) -> Result<bool, CheckError>) -> Result<(), CheckError> {
    for call in CALLS {
        for times in [1, u32::MAX] {
            for nth in 1..MAX_CALLS {
                if !fails(Failing { call, nth, times })? {
                    break;
                }
            }
        }
    }
    Ok(())
}

fn faults<'a>(context: &CheckContext<'a>) -> Result<&'a dyn Faults, CheckError> {
    context.faults.ok_or_else(|| CheckError::skipped("no faults were given"))
}

fn allocate_some(allocator: &Arc<Allocator>, kinds: &[MemoryKind]) -> Result<(), MemoryError> {
    let mut blocks = Vec::new();
    for &kind in kinds {
        for size in [100, 100_000, 70 << 20] {
            blocks.push(allocator.allocate(size, kind)?);
        }
    }
    Ok(())
}
