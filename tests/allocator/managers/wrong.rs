//! Managers with one fault each, which the conformance checks must detect, and the same manager without a fault.
//!
//! Each keeps freed memory and reuses it for requests of the same size and kind. It never frees memory to its inner
//! manager while the memory may be in use, so no fault causes undefined behaviour in the driver.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use vkarray::device::Device;
use vkarray::memory::managers::{MemoryManager, PassthroughManager};
use vkarray::memory::{MemoryKind, Usage};
use vkarray_allocator::{
    Counters, DeferCleanup, Error, ExportedMemory, HostOptions, HostPointer, INTERFACE_VERSION, IpcHandle,
    MemoryDescription, MemoryInfo, MemoryPointer, Owner, Request, Result,
};

/// The fault of a manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrong {
    Nothing,
    /// Gives out live memory a second time.
    Overlaps,
    /// Gives memory out again without the work that may still use it.
    ForgetsUses,
    /// Gives memory out again after one of several works.
    KeepsOneUse,
    /// Waits in `memfree`.
    Waits,
    IsMisaligned,
    /// Says that there is less memory than was asked for.
    GivesLess,
    /// Never frees freed memory.
    NeverFrees,
    /// Panics when too much memory is asked for.
    Panics,
    IsOfAnotherVersion,
    /// Panics in a call that comes too early.
    PanicsUnready,
    /// Fails when it is initialised again.
    IsReadyOnce,
    /// Gives out mapped memory although the request did not ask for it.
    MapsAll,
    IgnoresLabels,
    /// Says that no memory is in use.
    HidesUse,
    /// Counts memory that is given out, and never memory that comes back.
    CountsUp,
    /// Says that more memory is free than there is.
    PromisesMore,
    /// Names memory with too few bytes.
    NamesLess,
    /// Loses the owner of memory that it does not pin.
    KeepsOwners,
    /// Gives memory back to the driver while frees are held back.
    IgnoresGuards,
    /// Gives out live memory again, after a reset.
    ForgetsLive,
    /// Says that it gave memory back to the driver, although it did not.
    BoastsOfTrim,
}

impl Wrong {
    pub(super) fn manager(self) -> Keeping {
        Keeping {
            wrong: self,
            free: Mutex::default(),
            last: Mutex::default(),
            n_given: AtomicU64::new(0),
            inner: PassthroughManager::new(),
            device: OnceLock::new(),
        }
    }
}

/// Keeps freed memory for the next request of the same size.
#[derive(Debug)]
pub(super) struct Keeping {
    wrong: Wrong,
    free: Mutex<Vec<MemoryPointer>>,
    /// The memory that was given out last.
    last: Mutex<Option<MemoryPointer>>,
    n_given: AtomicU64,
    inner: PassthroughManager,
    device: OnceLock<Arc<Device>>,
}

impl Keeping {
    fn take(&self, size: u64, kind: MemoryKind) -> Option<MemoryPointer> {
        let mut free = self.free.lock().unwrap();
        let place = free.iter().position(|memory| memory.size() == size && memory.kind() == kind)?;
        Some(free.swap_remove(place))
    }

    fn given(&self, memory: MemoryPointer) -> MemoryPointer {
        if self.wrong == Wrong::Overlaps && memory.kind() == MemoryKind::Device {
            self.free.lock().unwrap().push(again(&memory, 0, memory.size()));
        }
        self.n_given.fetch_add(1, Ordering::Relaxed);
        if memory.kind() == MemoryKind::Device {
            *self.last.lock().unwrap() = Some(again(&memory, 0, memory.size()));
        }
        match self.wrong {
            Wrong::IsMisaligned if memory.kind() == MemoryKind::Device => again(&memory, 16, memory.size() - 256),
            Wrong::GivesLess if memory.size() > 4 => again(&memory, 0, memory.size() - 4),
            _ => memory,
        }
    }

    /// Gives the kept memory back to the manager inside.
    fn give_back(&self) {
        let mut kept = std::mem::take(&mut *self.free.lock().unwrap());
        kept.sort_by_key(MemoryPointer::tag);
        kept.dedup_by_key(|memory| memory.tag()); // Memory that was given out twice goes back once.
        // SAFETY: the manager inside gave all of it out; memory whose uses were forgotten goes back when the device is
        // idle.
        kept.into_iter().for_each(|memory| unsafe { self.inner.memfree(whole(memory)) });
    }
}

/// The pointer as the manager inside gave it out, which begins each piece of memory at the start of a buffer.
fn whole(mut memory: MemoryPointer) -> MemoryPointer {
    let uses = memory.take_last_uses();
    // SAFETY: the buffer begins with the bytes that the manager inside gave out, and no pointer has them now.
    let pointer = unsafe { MemoryPointer::new(memory.buffer(), 0, memory.size(), memory.kind()) };
    pointer.with_tag(memory.tag()).after(uses)
}

/// A second pointer to a part of the same bytes.
fn again(memory: &MemoryPointer, skip: u64, size: u64) -> MemoryPointer {
    // SAFETY: deliberately violated: the bytes are in use. The checks use them like other bytes, in buffers that live,
    // and drivers do not depend on who wrote them.
    let pointer = unsafe { MemoryPointer::new(memory.buffer(), memory.offset() + skip, size, memory.kind()) };
    let pointer = pointer.with_tag(memory.tag());
    let Some(first) = memory.mapping() else { return pointer };
    // SAFETY: the offset is inside the mapping, since it skips a part of the memory; only device memory is skipped
    // into.
    let mapping = unsafe { first.after(skip) };
    // SAFETY: deliberately violated like the pointer itself; the mapping belongs to the memory.
    unsafe { pointer.with_mapping(mapping) }
}

// SAFETY: deliberately violated, for the checks to detect. They make no host reference to memory that was allocated
// twice, and nothing relies on what such memory holds on the device.
unsafe impl MemoryManager for Keeping {
    fn interface_version(&self) -> u32 {
        INTERFACE_VERSION + u32::from(self.wrong == Wrong::IsOfAnotherVersion)
    }

    fn upstream(&self) -> Option<&dyn MemoryManager> {
        Some(&self.inner)
    }

    fn initialize(&self, device: &Arc<Device>) -> Result<()> {
        if self.wrong == Wrong::IsReadyOnce && self.device.get().is_some() {
            return Err(Error::NotInitialized);
        }
        self.device.get_or_init(|| Arc::clone(device));
        self.inner.initialize(device)
    }

    fn memalloc(&self, request: &Request) -> Result<MemoryPointer> {
        assert!(self.wrong != Wrong::Panics || request.size < 1 << 50, "a manager that panics");
        if self.wrong == Wrong::IsMisaligned && request.kind == MemoryKind::Device {
            return Ok(self.given(self.inner.memalloc(&Request::new(request.size + 256, request.kind))?));
        }
        let memory = self.take(request.size, request.kind).map_or_else(|| self.inner.memalloc(request), Ok)?;
        Ok(self.given(memory))
    }

    fn memhostalloc(&self, size: u64, options: HostOptions) -> Result<HostPointer> {
        if options.mapped || self.wrong == Wrong::MapsAll {
            return self.inner.memhostalloc(size, options.mapped(true));
        }
        let fresh = || self.inner.memhostalloc(size, options).map(HostPointer::into_pointer);
        let memory = self.take(size, options.kind()).map_or_else(fresh, Ok)?;
        Ok(HostPointer::new(self.given(memory), false).expect("host memory is mapped"))
    }

    unsafe fn mempin(&self, owner: Owner, _: NonNull<u8>, _: u64, _: bool) -> Result<HostPointer> {
        if self.wrong == Wrong::KeepsOwners {
            std::mem::forget(owner);
        }
        Err(Error::Unsupported { what: "pinning here" })
    }

    unsafe fn memfree(&self, mut memory: MemoryPointer) {
        let mut uses = memory.take_last_uses();
        match self.wrong {
            Wrong::ForgetsUses => uses.clear(),
            Wrong::KeepsOneUse => uses.truncate(1),
            Wrong::Waits => {
                if let Some(device) = self.device.get() {
                    let limit = std::time::Duration::from_millis(100);
                    device.points(&uses).iter().for_each(|point| drop(point.wait(Some(limit))));
                }
            }
            _ => {}
        }
        self.free.lock().unwrap().push(memory.after(uses));
    }

    fn get_ipc_handle(&self, memory: &MemoryPointer) -> Result<IpcHandle> {
        if self.wrong == Wrong::NamesLess {
            let fd = std::fs::File::open("/dev/null").unwrap().into();
            let (device_uuid, driver_uuid) = (String::new(), String::new());
            let size = memory.size();
            let description =
                MemoryDescription { device_uuid, driver_uuid, size, allocation_size: size, memory_type: 0 };
            // SAFETY: no device imports the descriptor.
            return IpcHandle::new(unsafe { ExportedMemory::new(fd, description) }, 0..size - 1, false);
        }
        self.inner.get_ipc_handle(memory)
    }

    fn get_memory_info(&self) -> Result<MemoryInfo> {
        let mut info = self.inner.get_memory_info()?;
        if self.wrong == Wrong::PromisesMore {
            info.free = info.total + 1;
        }
        Ok(info)
    }

    fn reset(&self) -> Result<()> {
        assert!(self.wrong != Wrong::PanicsUnready || self.device.get().is_some(), "a manager that panics");
        self.flush()?;
        if self.wrong == Wrong::ForgetsLive {
            self.free.lock().unwrap().extend(self.last.lock().unwrap().take());
        }
        Ok(())
    }

    fn defer_cleanup(&self) -> DeferCleanup {
        match self.wrong {
            Wrong::IgnoresGuards => DeferCleanup::new(|| {}),
            _ => self.inner.defer_cleanup(),
        }
    }

    fn trim(&self, keep: u64) -> Result<u64> {
        let bytes = self.inner.trim(keep)?;
        Ok(bytes + u64::from(self.wrong == Wrong::BoastsOfTrim))
    }

    fn counters(&self) -> Counters {
        let mut counters = self.inner.counters();
        // For the manager inside, the memory that is kept for later requests is live.
        counters.n_in_use = counters.n_in_use.saturating_sub(self.free.lock().unwrap().len() as u64);
        if self.wrong == Wrong::CountsUp {
            counters.allocations = self.n_given.load(Ordering::Relaxed);
            counters.n_in_use = counters.allocations;
        }
        counters
    }

    fn flush(&self) -> Result<()> {
        if !matches!(self.wrong, Wrong::NeverFrees | Wrong::Overlaps) {
            self.give_back();
        }
        self.inner.flush()
    }

    fn usage(&self) -> Usage {
        let mut usage = self.inner.usage();
        match self.wrong {
            Wrong::HidesUse => usage.in_use = 0,
            Wrong::IgnoresGuards => usage.reserved = usage.in_use, // The manager inside keeps no memory.
            _ => {}
        }
        usage
    }

    fn set_label(&self, memory: &MemoryPointer, label: vkarray::memory::BlockLabel) {
        if self.wrong != Wrong::IgnoresLabels {
            self.inner.set_label(memory, label);
        }
    }
}

impl Drop for Keeping {
    fn drop(&mut self) {
        // Memory whose uses were forgotten is no longer in use when a check ends.
        self.give_back();
    }
}
