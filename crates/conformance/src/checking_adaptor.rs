//! [`CheckingAdaptor`]: checks each pointer that a manager gives out.
//!
//! It records which bytes are live (`live_ranges.rs`) and, of bytes that came back, the work that may still use them.
//! If the manager gives such bytes out again before that work is over, the pointer must carry the work as last uses.

use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ash::vk::Handle;
use vkarray_allocator::{Adaptor, MemoryKind, MemoryManager, MemoryPointer, Request};
use vkarray_driver::Device;
use vkarray_driver::hazard::LastUse;

use crate::live_ranges::{LiveRanges, Space, SpaceRange};

/// An alignment that every device can bind.
const ALIGNMENT: u64 = 256;

/// Memory is exclusive up to a multiple of this size.
const GRANULE: u64 = 16;

/// The records of a checking adaptor, shared with its check.
#[derive(Debug)]
pub(crate) struct MemoryRecords {
    live_ranges: Mutex<LiveRanges<Vec<LastUse>>>,
    violations: Mutex<Vec<String>>,
    device: Arc<Device>,
}

impl MemoryRecords {
    pub(crate) fn new(device: &Arc<Device>) -> Arc<Self> {
        Arc::new(Self { live_ranges: Mutex::default(), violations: Mutex::default(), device: Arc::clone(device) })
    }

    /// The violations of the contract so far.
    pub(crate) fn violations(&self) -> Vec<String> {
        self.violations.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn report(&self, violation: String) {
        self.violations.lock().unwrap_or_else(PoisonError::into_inner).push(violation);
    }

    fn live_ranges(&self) -> MutexGuard<'_, LiveRanges<Vec<LastUse>>> {
        self.live_ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn given(&self, request: &Request, memory: &MemoryPointer) {
        self.check_shape(request, memory);
        for range in ranges_of(memory) {
            let (overlap, former) = {
                let mut live_ranges = self.live_ranges();
                (live_ranges.give(&range), live_ranges.inherit(&range))
            };
            if let Some(live) = overlap {
                self.report(format!("expected exclusive memory: {range:?} overlaps the live bytes {live:?}"));
            }
            for last in former.iter().flatten() {
                self.check_passed_on(last, memory);
            }
        }
    }

    fn check_shape(&self, request: &Request, memory: &MemoryPointer) {
        let (size, kind, offset) = (memory.size(), memory.kind(), memory.offset());
        if size != request.size {
            self.report(format!("expected a pointer to the {} bytes asked for, and got {size}", request.size));
        }
        if kind != request.kind {
            self.report(format!("expected {} memory, and got {kind}", request.kind));
        }
        if !offset.is_multiple_of(ALIGNMENT) {
            self.report(format!("expected an offset that is a multiple of {ALIGNMENT}, and got {offset}"));
        }
        if memory.buffer().is_null() {
            self.report(format!("expected a buffer for {size} bytes, and got none"));
        }
        if kind != MemoryKind::Device && memory.mapped().is_none() {
            self.report(format!("expected the host's address of {kind} memory, and got none"));
        }
    }

    /// Work that is not over now was not over when the manager chose the memory, so the pointer must carry it.
    fn check_passed_on(&self, last: &LastUse, memory: &MemoryPointer) {
        let is_over = self.device.points(std::slice::from_ref(last)).iter().all(|point| {
            // A lost device is not the manager's fault.
            point.is_complete().unwrap_or(true)
        });
        let covers = |new: &LastUse| new.lane == last.lane && new.value >= last.value;
        if !is_over && !memory.last_uses().iter().any(covers) {
            self.report(format!(
                "expected memory that the device still uses to carry those last uses: {} bytes at {} came without \
                 {:?}",
                memory.size(),
                memory.offset(),
                last.point()
            ));
        }
    }
}

/// A manager that checks the pointers of the manager inside it.
#[derive(Debug)]
pub(crate) struct CheckingAdaptor {
    pub(crate) records: Arc<MemoryRecords>,
    pub(crate) inner: Box<dyn MemoryManager>,
}

// SAFETY: nothing assigns to the manager inside once the adaptor is made.
unsafe impl Adaptor for CheckingAdaptor {
    fn inner(&self) -> &dyn MemoryManager {
        &*self.inner
    }

    fn after(&self, request: &Request, given: Option<&MemoryPointer>) {
        if let Some(memory) = given {
            self.records.given(request, memory);
        }
    }

    fn freeing(&self, memory: &MemoryPointer) {
        for range in ranges_of(memory) {
            self.records.live_ranges().take(range, memory.last_uses().to_vec());
        }
    }
}

/// The ranges of the memory, one in each space that contains it.
fn ranges_of(memory: &MemoryPointer) -> impl Iterator<Item = SpaceRange> {
    let size = memory.size().next_multiple_of(GRANULE);
    let range = |space, start: u64| SpaceRange { space, bytes: start..start.saturating_add(size) };
    let address = |mapped: NonNull<u8>| range(Space::Host, mapped.as_ptr().addr() as u64);
    let here = range(Space::Buffer(memory.buffer().as_raw()), memory.offset());
    [Some(here), memory.mapped().map(address)].into_iter().flatten()
}
