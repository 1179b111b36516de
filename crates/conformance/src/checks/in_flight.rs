//! Memory that the device still uses when it is dropped. A gate keeps the work in flight.
//!
//! The checking adaptor finds most violations, when memory is given out.

use std::sync::Arc;

use vkarray_allocator::Block;
use vkarray_driver::hazard::Mode;

use crate::check_error::{CheckError, expect};
use crate::context::{CheckContext, check, check_words, write, write_and_check};
use crate::gate::Gate;

/// The word that work behind the gate writes.
const FORMER: u32 = 0x0F0F_0F0F;
/// The word that the next owners write.
const LATER: u32 = 0x5A5A_5A5A;

/// Sizes of memory in flight, all of whole words.
const SIZES: [u64; 6] = [4, 256, 1000, 4096, 65_536, 1 << 20];

pub(super) fn reuse_in_flight(context: &CheckContext<'_>) -> Result<(), CheckError> {
    let (busy, other) = (context.stream()?, context.stream()?);
    for kind in context.kinds()? {
        let mut former: Vec<_> = SIZES.iter().map(|&size| context.block(size, kind)).collect::<Result<_, _>>()?;
        let gate = Gate::close(context.device, &[&busy])?;
        former.iter().try_for_each(|block| block.fill(&busy, FORMER))?;
        busy.flush()?;
        drop(former.split_off(2));
        // The sizes are the sizes that were dropped, parts of them, and more than one of them.
        let sizes = SIZES.iter().flat_map(|&size| [size, size / 2, size + 512]);
        let later: Vec<_> = sizes.map(|size| context.block(size, kind)).collect::<Result<_, _>>()?;
        later.iter().try_for_each(|block| block.fill(&other, LATER))?;
        other.flush()?;
        drop(former); // Two more blocks are dropped after work of the next owners was recorded.
        let last = context.block(SIZES[1], kind)?;
        last.fill(&other, LATER)?;
        expect(!gate.was_forced(), || "expected no call to wait for the device".to_owned())?;
        gate.open()?;
        other.synchronize()?;
        later.iter().chain([&last]).try_for_each(|block| check_words(&other, block, LATER))?;
    }
    Ok(())
}

pub(super) fn reuse_of_two_streams(context: &CheckContext<'_>) -> Result<(), CheckError> {
    let (left, right, third) = (context.stream()?, context.stream()?, context.stream()?);
    for kind in context.kinds()? {
        let (shared, to_left, to_right) =
            (context.block(4096, kind)?, context.block(4096, kind)?, context.block(4096, kind)?);
        write(&third, &shared, 9)?;
        let gate = Gate::close(context.device, &[&left, &right])?;
        // Two readers on two streams: neither waits for the other, so both are last uses.
        to_left.copy_from_block(&left, 0, &shared, 0..4096)?;
        to_right.copy_from_block(&right, 0, &shared, 0..4096)?;
        left.flush()?;
        right.flush()?;
        drop(shared);
        let later: Vec<_> = (0..4).map(|_| context.block(4096, kind)).collect::<Result<_, _>>()?;
        later.iter().try_for_each(|block| block.fill(&third, LATER))?;
        expect(!gate.was_forced(), || "expected no call to wait for the device".to_owned())?;
        gate.open()?;
        third.synchronize()?;
        check(&third, &to_left, 9)?;
        check(&third, &to_right, 9)?;
        later.iter().try_for_each(|block| check_words(&third, block, LATER))?;
    }
    Ok(())
}

pub(super) fn host_writes_in_flight(context: &CheckContext<'_>) -> Result<(), CheckError> {
    let (busy, other) = (context.stream()?, context.stream()?);
    let kinds = context.kinds()?.into_iter().filter(|kind| kind.is_host_visible());
    for kind in kinds {
        let former: Vec<_> = (0..4).map(|_| context.block(4096, kind)).collect::<Result<_, _>>()?;
        let gate = Gate::close(context.device, &[&busy])?;
        former.iter().try_for_each(|block| block.fill(&busy, FORMER))?;
        busy.flush()?;
        drop(former);
        let later: Vec<_> = (0..8).map(|_| context.block(4096, kind)).collect::<Result<_, _>>()?;
        // Memory without former uses may be written at once; other memory is written after the gate has opened.
        let (now, then): (Vec<_>, Vec<_>) = later.into_iter().partition(is_idle);
        now.iter().try_for_each(|block| write(&other, block, 3))?;
        expect(!gate.was_forced(), || "expected no call to wait for the device".to_owned())?;
        gate.open()?;
        then.iter().try_for_each(|block| write(&other, block, 3))?;
        now.iter().chain(&then).try_for_each(|block| check(&other, block, 3))?;
    }
    Ok(())
}

fn is_idle(block: &Arc<Block>) -> bool {
    block.device().block_uses(block.id(), 0..u64::MAX, Mode::Write).is_empty()
}

pub(super) fn free_never_waits(context: &CheckContext<'_>) -> Result<(), CheckError> {
    let (busy, kinds) = (context.stream()?, context.kinds()?);
    let blocks: Vec<_> = kinds.iter().map(|&kind| context.block(4096, kind)).collect::<Result<_, _>>()?;
    let gate = Gate::close(context.device, &[&busy])?;
    blocks.iter().try_for_each(|block| block.fill(&busy, FORMER))?;
    let n_waits = context.device.host_waits();
    drop(blocks); // Dropped before the work is submitted.
    context.manager()?.try_flush()?;
    let n_more = context.device.host_waits() - n_waits;
    expect(n_more == 0 && !gate.was_forced(), || {
        format!("expected a free and a try_flush not to wait for the device, and they waited {n_more} times")
    })?;
    gate.open()
}

pub(super) fn flush_frees(context: &CheckContext<'_>) -> Result<(), CheckError> {
    let (busy, kind, manager) = (context.stream()?, context.kind()?, context.manager()?);
    let gate = Gate::close(context.device, &[&busy])?;
    let block = context.block(4096, kind)?;
    block.fill(&busy, FORMER)?;
    drop(block);
    gate.open()?;
    manager.flush()?;
    context.expect_nothing_left("a flush")?;
    // Memory that is given out next keeps its contents.
    let block = context.block(4096, kind)?;
    write_and_check(&busy, &block, 4)
}
