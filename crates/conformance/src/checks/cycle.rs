//! A manager's life: initialisation, deferred cleanup, reservation, reset.

use vkarray_allocator::{Error as MemoryError, HostOptions, INTERFACE_VERSION, MemoryKind, Request};

use crate::check_error::{CheckError, expect};
use crate::context::{CheckContext, check, write, write_and_check};

pub(super) fn interface_version(context: &CheckContext<'_>) -> Result<(), CheckError> {
    let version = context.fresh()?.interface_version();
    expect(version == INTERFACE_VERSION, || format!("expected version {INTERFACE_VERSION}, and got {version}"))
}

pub(super) fn before_initialize(context: &CheckContext<'_>) -> Result<(), CheckError> {
    let manager = context.fresh()?;
    // These calls may succeed or fail, but must not panic.
    drop((manager.reset(), manager.try_flush(), manager.flush(), manager.defer_cleanup()));
    let usage = manager.usage();
    expect((usage.in_use, usage.n_pending) == (0, 0), || format!("expected nothing in use, and got {usage:?}"))?;
    let device = manager.memalloc(&Request::new(16, MemoryKind::Device));
    let host = manager.memhostalloc(16, HostOptions::default());
    expect(device.is_err() && host.is_err(), || {
        "expected no memory from a manager that was not initialised".to_owned()
    })?;
    // The manager can still be initialised.
    Ok(manager.initialize(context.device)?)
}

pub(super) fn initialize_twice(context: &CheckContext<'_>) -> Result<(), CheckError> {
    let (stream, kinds, manager) = (context.stream()?, context.kinds()?, context.manager()?);
    let blocks: Vec<_> = kinds.iter().map(|&kind| context.block(3000, kind)).collect::<Result<_, _>>()?;
    blocks.iter().try_for_each(|block| write(&stream, block, 5))?;
    let before = manager.usage();
    manager.initialize(context.device)?;
    let after = manager.usage();
    expect(before == after, || {
        format!("expected a second initialisation to change nothing: {before:?} became {after:?}")
    })?;
    let more: Vec<_> = kinds.iter().map(|&kind| context.block(3000, kind)).collect::<Result<_, _>>()?;
    more.iter().try_for_each(|block| write(&stream, block, 6))?;
    blocks.iter().try_for_each(|block| check(&stream, block, 5))
}

pub(super) fn defer_cleanup(context: &CheckContext<'_>) -> Result<(), CheckError> {
    let (stream, kind, manager) = (context.stream()?, context.kind()?, context.manager()?);
    let outer = manager.defer_cleanup();
    let inner = manager.defer_cleanup();
    let blocks: Vec<_> = (0..30).map(|_| context.block(1 << 20, kind)).collect::<Result<_, _>>()?;
    blocks.iter().try_for_each(|block| write(&stream, block, 7))?;
    let held = manager.usage().reserved;
    drop(blocks);
    for (guard, rest) in [(Some(inner), "two guards"), (Some(outer), "one guard, the outer")] {
        manager.try_flush()?;
        manager.flush()?;
        let reserved = manager.usage().reserved;
        expect(reserved >= held, || {
            format!("expected nothing to go back to the driver under {rest}: {held} bytes became {reserved}")
        })?;
        // Memory can be allocated while cleanup is deferred.
        let block = context.block(5000, kind)?;
        write_and_check(&stream, &block, 8)?;
        drop(guard);
    }
    manager.flush()?;
    context.expect_nothing_left("a flush after the last guard")
}

pub(super) fn reset(context: &CheckContext<'_>) -> Result<(), CheckError> {
    let (stream, kind, manager) = (context.stream()?, context.kind()?, context.manager()?);
    drop(context.block(70_000, kind)?);
    let live = context.block(4099, kind)?;
    write(&stream, &live, 1)?;
    manager.reset()?; // The reset of the allocator would end the block.
    check(&stream, &live, 1)?;
    let more = context.block(4099, kind)?;
    write(&stream, &more, 2)?;
    check(&stream, &live, 1)?;
    drop((live, more));
    manager.reset()?;
    manager.reset()?;
    context.expect_nothing_left("a reset")
}

pub(super) fn reserve_and_trim(context: &CheckContext<'_>) -> Result<(), CheckError> {
    let (stream, kind, manager) = (context.stream()?, context.kind()?, context.manager()?);
    let live = context.block(70_000, kind)?;
    write(&stream, &live, 3)?;
    stream.synchronize()?;
    context.allocator()?.release_staging(); // Staging memory is not part of this check.
    manager.flush()?;
    let before = manager.usage();
    let reserved = manager.reserve(8 << 20, kind);
    let after = manager.usage();
    match reserved {
        Err(MemoryError::Unsupported { .. }) => {}
        outcome => {
            outcome?;
            expect(after.in_use == before.in_use && after.reserved >= before.reserved.max(8 << 20), || {
                format!("expected to reserve 8 MiB that are not in use: {before:?} became {after:?}")
            })?;
        }
    }
    let bytes = manager.trim(0)?;
    let trimmed = manager.usage();
    expect(trimmed.reserved.checked_add(bytes) == Some(after.reserved) && trimmed.in_use == after.in_use, || {
        format!("expected {bytes} bytes to go back to the driver: {after:?} became {trimmed:?}")
    })?;
    check(&stream, &live, 3)?;
    // Memory that was given back can be allocated again.
    let more = context.block(8 << 20, kind)?;
    write_and_check(&stream, &more, 4)?;
    check(&stream, &live, 3)
}
