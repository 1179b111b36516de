//! What a manager gives out: sizes, kinds, alignment, contents; and the figures that a manager reports.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, ScopedJoinHandle};

use vkarray_allocator::{
    Allocator, Block, BlockLabel, Counters, Error as MemoryError, HostOptions, MemoryKind, Request,
};
use vkarray_driver::Stream;

use crate::check_error::{CheckError, expect, supported};
use crate::context::{CheckContext, check, write, write_and_check};

/// Zero, sizes around alignments, a prime, and a large one.
const SIZES: [u64; 14] = [0, 1, 3, 4, 15, 16, 17, 255, 256, 257, 4099, 65_536, 1_000_003, 2 << 20];

pub(super) fn sizes_and_kinds(context: &CheckContext<'_>) -> Result<(), CheckError> {
    let stream = context.stream()?;
    for kind in context.kinds()? {
        for (size, seed) in SIZES.into_iter().zip(1..) {
            let block = context.block(size, kind)?;
            write_and_check(&stream, &block, seed)?;
        }
    }
    Ok(())
}

pub(super) fn many_live(context: &CheckContext<'_>) -> Result<(), CheckError> {
    let (stream, kinds) = (context.stream()?, context.kinds()?);
    let (mut live, mut random) = (Vec::new(), 12345_u64);
    for seed in 0..200_u8 {
        // Sizes of every magnitude up to 64 KiB; every third block is dropped again.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let size = (random >> 40) % (1 << (random >> 33 & 15)).max(2);
        let kind = kinds[usize::from(seed) % kinds.len()];
        let block = context.block(size, kind)?;
        write(&stream, &block, seed)?;
        live.push((block, seed));
        if seed % 3 == 2 {
            let (block, seed) = live.swap_remove(live.len() / 2);
            check(&stream, &block, seed)?;
        }
    }
    live.iter().try_for_each(|(block, seed)| check(&stream, block, *seed))
}

pub(super) fn host_options(context: &CheckContext<'_>) -> Result<(), CheckError> {
    let manager = context.manager()?;
    for (mapped, portable, wc) in
        [(false, false, false), (true, false, false), (false, true, false), (true, true, true), (false, false, true)]
    {
        let options = HostOptions::default().mapped(mapped).portable(portable).wc(wc);
        let memory = supported(manager.memhostalloc(100, options))?;
        let is_mapped = memory.is_mapped();
        // SAFETY: the manager gave the memory out just now, and nothing used it.
        unsafe { manager.memfree(memory.into_pointer()) };
        expect(is_mapped == mapped, || {
            format!("expected mapped memory only where asked for, and not for {options:?}")
        })?;
    }
    Ok(())
}

pub(super) fn beyond_4_gib(context: &CheckContext<'_>) -> Result<(), CheckError> {
    let (size, info) = ((4 << 30) + 512, context.device.info());
    let heap = info.device_memory_bytes();
    if info.limits.max_buffer_size < size || heap / 2 < size {
        let limit = info.limits.max_buffer_size;
        return Err(CheckError::skipped(format!("buffers here have {limit} bytes at most, and the heap {heap}")));
    }
    let (stream, kind) = (context.stream()?, context.kind()?);
    let block = match context.allocator()?.allocate(size, kind) {
        Err(MemoryError::OutOfMemory(report)) => return Err(CheckError::skipped(report.to_string())),
        outcome => outcome?,
    };
    let (front, back) = ([1_u8; 64], [2_u8; 64]);
    block.copy_from_host(&stream, size - 64, &back)?;
    block.copy_from_host(&stream, (size - 64) & u64::from(u32::MAX), &front)?; // The same position, modulo 4 GiB.
    let mut found = [0; 64];
    block.copy_to_host(&stream, size - 64, &mut found)?;
    expect(found == back, || "expected bytes beyond 4 GiB to be their own".to_owned())
}

pub(super) fn threads(context: &CheckContext<'_>) -> Result<(), CheckError> {
    let (allocator, kinds) = (context.allocator()?, context.kinds()?);
    let (sender, receiver) = mpsc::channel();
    let outcomes: Vec<_> = thread::scope(|scope| {
        scope.spawn(move || receiver.into_iter().for_each(drop));
        let work = |nth| {
            let (sender, kinds) = (sender.clone(), &kinds);
            scope.spawn(move || allocate_in_turn(allocator, kinds, nth, &sender))
        };
        let workers: Vec<_> = (0..4).map(work).collect();
        drop(sender); // The dropping thread ends with the last sender.
        workers.into_iter().map(ScopedJoinHandle::join).collect()
    });
    let panicked = |_| Err(CheckError::Failed("expected calls from several threads not to panic".to_owned()));
    outcomes.into_iter().try_for_each(|outcome| outcome.unwrap_or_else(panicked))
}

/// The work of one thread. Every second block is dropped by another thread.
fn allocate_in_turn(
    allocator: &Arc<Allocator>,
    kinds: &[MemoryKind],
    nth: u8,
    dropping: &Sender<Arc<Block>>,
) -> Result<(), CheckError> {
    let stream = Stream::new(allocator.device())?;
    for round in 0..30_u8 {
        let size = u64::from(round % 5) * 997; // All threads use the same sizes, so that they compete for memory.
        let block = allocator.allocate(size, kinds[usize::from(round) % kinds.len()])?;
        write_and_check(&stream, &block, nth)?;
        if round % 2 == 0 {
            dropping
                .send(block)
                .map_err(|_| CheckError::Failed("expected a free on another thread not to panic".to_owned()))?;
        }
    }
    Ok(())
}

pub(super) fn labels(context: &CheckContext<'_>) -> Result<(), CheckError> {
    let (manager, kind) = (context.manager()?, context.kind()?);
    if matches!(kind, MemoryKind::Pinned | MemoryKind::WriteCombined) {
        return Err(CheckError::skipped("the manager has no device memory"));
    }
    let (first, second) = (BlockLabel::array("f32", &[3]), BlockLabel::new().with_name("second"));
    let memory = manager.memalloc(&Request::new(12, kind).with_label(first.clone()))?;
    let before = manager.label(&memory);
    manager.set_label(&memory, second.clone());
    let after = manager.label(&memory);
    // SAFETY: the manager gave the memory out just now, and nothing used it.
    unsafe { manager.memfree(memory) };
    if before.is_none() && after.is_none() {
        return Err(CheckError::skipped("the manager keeps no labels"));
    }
    expect(before.as_ref() == Some(&first) && after.as_ref() == Some(&second), || {
        format!("expected the labels {first} and then {second}, and got {before:?} and {after:?}")
    })
}

pub(super) fn usage(context: &CheckContext<'_>) -> Result<(), CheckError> {
    let (allocator, kinds) = (context.allocator()?, context.kinds()?);
    let blocks: Vec<_> = kinds.iter().map(|&kind| context.block(10_000, kind)).collect::<Result<_, _>>()?;
    let (held, request) = (allocator.usage(), 10_000 * blocks.len() as u64);
    expect(held.in_use >= request && held.reserved >= held.in_use, || {
        format!("expected at least {request} bytes in use and as many reserved, and got {held:?}")
    })?;
    drop(blocks);
    allocator.flush()?;
    context.expect_nothing_left("a flush")
}

pub(super) fn counters(context: &CheckContext<'_>) -> Result<(), CheckError> {
    let (allocator, kinds) = (context.allocator()?, context.kinds()?);
    let before = allocator.counters();
    let blocks: Vec<_> = kinds.iter().map(|&kind| context.block(10_000, kind)).collect::<Result<_, _>>()?;
    let held = allocator.counters();
    if held == Counters::default() {
        return Err(CheckError::skipped("the manager counts nothing"));
    }
    let n_blocks = blocks.len() as u64;
    expect(held.allocations == before.allocations + n_blocks && held.n_in_use == before.n_in_use + n_blocks, || {
        format!("expected {n_blocks} blocks more: {before:?} became {held:?}")
    })?;
    drop(blocks);
    allocator.flush()?;
    let left = allocator.counters();
    expect(left.n_in_use == before.n_in_use && left.n_pending == 0, || {
        format!("expected as many blocks as before, after all were dropped and flushed: {before:?} became {left:?}")
    })
}

pub(super) fn memory_info(context: &CheckContext<'_>) -> Result<(), CheckError> {
    let info = supported(context.manager()?.get_memory_info())?;
    expect(info.total > 0 && info.free <= info.total, || {
        format!("expected no more free memory than there is, and got {info:?}")
    })
}

#[cfg(unix)]
pub(super) fn ipc(context: &CheckContext<'_>) -> Result<(), CheckError> {
    let (manager, kind) = (context.manager()?, context.kind()?);
    let memory = match kind {
        MemoryKind::Device | MemoryKind::Shared => manager.memalloc(&Request::new(500, kind))?,
        MemoryKind::Pinned | MemoryKind::WriteCombined => {
            manager.memhostalloc(500, HostOptions::default())?.into_pointer()
        }
    };
    let outcome = manager.get_ipc_handle(&memory).map(|handle| handle.size());
    // SAFETY: the manager gave the memory out just now, and nothing used it.
    unsafe { manager.memfree(memory) };
    let size = supported(outcome)?;
    expect(size >= 500, || format!("expected a handle to 500 bytes, and got {size}"))?;
    if context.device.external().memory_fd.importable { opened_handle(context, kind) } else { Ok(()) }
}

/// Opens the memory that the handle of a block names, and compares the bytes.
#[cfg(unix)]
fn opened_handle(context: &CheckContext<'_>, kind: MemoryKind) -> Result<(), CheckError> {
    let (stream, block) = (context.stream()?, context.block(500, kind)?);
    write(&stream, &block, 7)?;
    let handle = block.get_ipc_handle(100..500, false)?;
    let (mut here, mut there) = ([0; 400], [1; 400]);
    block.copy_to_host(&stream, 100, &mut here)?;
    context.allocator()?.import(handle.memory())?.copy_to_host(&stream, handle.offset(), &mut there)?;
    block.allocator().release_staging();
    expect(here == there, || "expected a handle to name the bytes of its block, and it names others".to_owned())
}

/// Pages of the program, and a flag that is set when they are dropped.
struct Pages {
    bytes: NonNull<u8>,
    are_dropped: Arc<AtomicBool>,
}

const PAGES: Layout = match Layout::from_size_align(1 << 16, 1 << 16) {
    Ok(layout) => layout,
    Err(_) => panic!("both are powers of two"),
};

// SAFETY: one thread at a time uses the address: the thread of the check, and then the thread that drops the pages.
unsafe impl Send for Pages {}
// SAFETY: a shared reference gives no access to the pages.
unsafe impl Sync for Pages {}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the pages were allocated with this layout, and are freed once, here.
        unsafe { dealloc(self.bytes.as_ptr(), PAGES) };
        self.are_dropped.store(true, Ordering::SeqCst);
    }
}

pub(super) fn mempin(context: &CheckContext<'_>) -> Result<(), CheckError> {
    let (manager, are_dropped) = (context.manager()?, Arc::new(AtomicBool::new(false)));
    // SAFETY: the layout has a size.
    let bytes = NonNull::new(unsafe { alloc_zeroed(PAGES) }).unwrap_or_else(|| handle_alloc_error(PAGES));
    let pages = Pages { bytes, are_dropped: Arc::clone(&are_dropped) };
    // SAFETY: the owner owns the pages and keeps them alive, and no reference to them exists.
    let outcome = unsafe { manager.mempin(Box::new(pages), bytes, PAGES.size() as u64, false) };
    let memory = match outcome {
        Ok(memory) => memory.into_pointer(),
        Err(error) => {
            expect(are_dropped.load(Ordering::SeqCst), || "expected a refused owner to be dropped".to_owned())?;
            return supported(Err(error));
        }
    };
    let is_there = memory.mapped() == Some(bytes);
    let is_alive = !are_dropped.load(Ordering::SeqCst);
    // SAFETY: the manager gave the memory out just now, and nothing used it.
    unsafe { manager.memfree(memory) };
    manager.flush()?;
    expect(is_there, || "expected pinned memory at its own address".to_owned())?;
    expect(is_alive, || "expected the owner to live as long as the memory".to_owned())?;
    expect(are_dropped.load(Ordering::SeqCst), || "expected the owner to be dropped with the memory".to_owned())
}
