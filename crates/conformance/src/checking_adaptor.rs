//! The witness: stands around a manager and holds it to its word at each allocation and free.
//!
//! It knows which bytes are live (`live_ranges.rs`) and, of bytes that came back, the work that may still use them. Bytes that
//! are given out again before that work is over must come with it.

use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ash::vk::Handle;
use vkarray_allocator::{Adaptor, AdaptorRequest, MemoryKind, MemoryManager, MemoryPointer};
use vkarray_driver::Device;
use vkarray_driver::hazard::LastUse;

use crate::live_ranges::{LiveRanges, Space, SpaceRange};

/// What every device can bind at.
const ALIGNMENT: u64 = 256;

/// Memory reaches past its last byte to a multiple of this.
const GRANULE: u64 = 16;

/// What a witness noted. Shared with the check that it works for.
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

    /// What the manager did wrong so far.
    pub(crate) fn violations(&self) -> Vec<String> {
        self.violations.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn report(&self, violation: String) {
        self.violations.lock().unwrap_or_else(PoisonError::into_inner).push(violation);
    }

    fn live_ranges(&self) -> MutexGuard<'_, LiveRanges<Vec<LastUse>>> {
        self.live_ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn given(&self, request: &AdaptorRequest, memory: &MemoryPointer) {
        self.check_shape(request, memory);
        for range in ranges_of(memory) {
            let (overlap, former) = {
                let mut live_ranges = self.live_ranges();
                (live_ranges.give(&range), live_ranges.inherit(&range))
            };
            if let Some(live) = overlap {
                self.report(format!("expected memory that is nobody's: {range:?} is live as bytes {live:?}"));
            }
            for last in former.iter().flatten() {
                self.check_passed_on(last, memory);
            }
        }
    }

    fn check_shape(&self, request: &AdaptorRequest, memory: &MemoryPointer) {
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

    /// Work that is not over now was not over when the manager chose, so it must come with the memory.
    fn check_passed_on(&self, last: &LastUse, memory: &MemoryPointer) {
        let is_over = self.device.points(std::slice::from_ref(last)).iter().all(|point| {
            // A device that is lost is no fault of the manager.
            point.is_complete().unwrap_or(true)
        });
        let covers = |new: &LastUse| new.lane == last.lane && new.value >= last.value;
        if !is_over && !memory.last_uses().iter().any(covers) {
            self.report(format!(
                "expected memory that the device still uses to come with those last uses: {} bytes at {} came \
                 without {:?}",
                memory.size(),
                memory.offset(),
                last.point()
            ));
        }
    }
}

/// A manager with a witness around it.
#[derive(Debug)]
pub(crate) struct CheckingAdaptor {
    pub(crate) records: Arc<MemoryRecords>,
    pub(crate) inner: Box<dyn MemoryManager>,
}

// SAFETY: the manager inside is a field that nothing assigns to once the witness is made.
unsafe impl Adaptor for CheckingAdaptor {
    fn inner(&self) -> &dyn MemoryManager {
        &*self.inner
    }

    fn after(&self, request: &AdaptorRequest, given: Option<&MemoryPointer>) {
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

/// The bytes of memory, in each space that it lies in.
fn ranges_of(memory: &MemoryPointer) -> impl Iterator<Item = SpaceRange> {
    let size = memory.size().next_multiple_of(GRANULE);
    let range = |space, start: u64| SpaceRange { space, bytes: start..start.saturating_add(size) };
    let address = |mapped: NonNull<u8>| range(Space::Host, mapped.as_ptr().addr() as u64);
    let here = range(Space::Buffer(memory.buffer().as_raw()), memory.offset());
    [Some(here), memory.mapped().map(address)].into_iter().flatten()
}
