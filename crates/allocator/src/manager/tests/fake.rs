//! A manager without a device, for the tests of adaptors: its buffers are numbers, and it fails on request.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use ash::vk::{self, Handle};
use vkarray_driver::Device;

use crate::error::{Error, OutOfMemory, Result, Shortage};
use crate::kind::{BlockLabel, MemoryKind};
use crate::manager::OomCounts;
use crate::manager::{Confidence, MemoryInfo, Pending};
use crate::manager::{Counters, HostOptions, INTERFACE_VERSION, MemoryManager, Request, Usage};
use crate::memory::{HostPointer, MemoryPointer, Owner};
use crate::pending::DeferCleanup;

/// The failure that a fake reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    OutOfMemory,
    Unsupported,
    Panic,
}

/// Gives out numbers, the lowest free one first, so that they come back soon.
#[derive(Debug)]
pub(crate) struct Fake {
    version: u32,
    free: Mutex<Vec<u64>>,
    n_made: AtomicU64,
    n_live: AtomicI64,
    n_failures: AtomicU32,
    failure: Mutex<Option<Failure>>,
    /// The last size and label that were set.
    pub(crate) last_set: Mutex<Option<(u64, BlockLabel)>>,
}

impl Fake {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self::of_version(INTERFACE_VERSION))
    }

    /// A fake of another version of the interface.
    pub(crate) fn of_version(version: u32) -> Self {
        Self {
            version,
            free: Mutex::default(),
            n_made: AtomicU64::new(0),
            n_live: AtomicI64::new(0),
            n_failures: AtomicU32::new(0),
            failure: Mutex::default(),
            last_set: Mutex::default(),
        }
    }

    /// Makes the next `n` allocations fail.
    pub(crate) fn fail(&self, n: u32, failure: Failure) {
        *self.failure.lock().unwrap() = Some(failure);
        self.n_failures.store(n, Ordering::SeqCst);
    }

    pub(crate) fn live(&self) -> i64 {
        self.n_live.load(Ordering::SeqCst)
    }

    fn give(&self, size: u64, kind: MemoryKind) -> Result<MemoryPointer> {
        let one_less = |n: u32| n.checked_sub(1);
        if self.n_failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_ok() {
            let failure = *self.failure.lock().unwrap();
            return Err(match failure.unwrap() {
                Failure::OutOfMemory => {
                    Error::OutOfMemory(Box::new(OutOfMemory::new(size, kind, Shortage::DeviceMemory)))
                }
                Failure::Unsupported => Error::Unsupported { what: "a failing fake" },
                Failure::Panic => panic!("a panicking fake"),
            });
        }
        let number = self.free.lock().unwrap().pop().unwrap_or_else(|| 1 + self.n_made.fetch_add(1, Ordering::SeqCst));
        self.n_live.fetch_add(1, Ordering::SeqCst);
        // SAFETY: no device ever sees the number, since there is none.
        Ok(unsafe { MemoryPointer::new(vk::Buffer::from_raw(number), 0, size, kind) })
    }
}

// SAFETY: there is no memory: no device or host ever uses the numbers.
unsafe impl MemoryManager for Fake {
    fn interface_version(&self) -> u32 {
        self.version
    }

    fn initialize(&self, _: &Arc<Device>) -> Result<()> {
        Ok(())
    }

    fn memalloc(&self, request: &Request) -> Result<MemoryPointer> {
        self.give(request.size, request.kind)
    }

    fn memhostalloc(&self, size: u64, options: HostOptions) -> Result<HostPointer> {
        let pointer = self.give(size, options.kind())?;
        // SAFETY: nothing reads or writes the memory of a fake.
        let pointer = unsafe { pointer.with_mapping(NonNull::dangling()) };
        Ok(HostPointer::new(pointer, false).unwrap())
    }

    unsafe fn mempin(&self, owner: Owner, pointer: NonNull<u8>, size: u64, _: bool) -> Result<HostPointer> {
        let memory = self.give(size, MemoryKind::Pinned)?.with_owner(owner);
        // SAFETY: nothing reads or writes the memory of a fake.
        let memory = unsafe { memory.with_mapping(pointer) };
        Ok(HostPointer::new(memory, false).unwrap())
    }

    unsafe fn memfree(&self, memory: MemoryPointer) {
        self.n_live.fetch_sub(1, Ordering::SeqCst);
        self.free.lock().unwrap().push(memory.buffer().as_raw());
    }

    fn get_memory_info(&self) -> Result<MemoryInfo> {
        Ok(MemoryInfo { free: 1, total: 2, confidence: Confidence::OwnUse })
    }

    fn reset(&self) -> Result<()> {
        Err(Error::NotInitialized)
    }

    fn defer_cleanup(&self) -> DeferCleanup {
        DeferCleanup::new(|| {})
    }

    fn try_flush(&self) -> Result<()> {
        Ok(())
    }

    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn reserve(&self, bytes: u64, kind: MemoryKind) -> Result<()> {
        Err(Error::OutOfMemory(Box::new(OutOfMemory::new(bytes, kind, Shortage::DeviceMemory))))
    }

    fn trim(&self, keep: u64) -> Result<u64> {
        Ok(keep + 1)
    }

    fn counters(&self) -> Counters {
        let mut counters = Counters::default();
        counters.growths = 7;
        counters
    }

    fn oom_counts(&self) -> OomCounts {
        let mut counts = OomCounts::default();
        counts.failed = 8;
        counts
    }

    fn label(&self, memory: &MemoryPointer) -> Option<BlockLabel> {
        Some(BlockLabel::new().with_name(format!("of {} bytes", memory.size())))
    }

    fn set_label(&self, memory: &MemoryPointer, label: BlockLabel) {
        *self.last_set.lock().unwrap() = Some((memory.size(), label));
    }

    fn usage(&self) -> Usage {
        Usage { in_use: 3, reserved: 4, n_pending: 5, pending: 6 }
    }

    fn pending(&self) -> Pending {
        Pending { n_blocks: 9, bytes: 10 }
    }
}

/// Gives the memory of a fake back, through the adaptors around it.
pub(crate) fn give_back(manager: &(impl MemoryManager + ?Sized), memory: MemoryPointer) {
    // SAFETY: no device or host uses the memory of a fake.
    unsafe { manager.memfree(memory) }
}
