//! The witness: stands around a manager and holds it to its word at each allocation and free.
//!
//! It knows which bytes are live (`spans.rs`) and, of bytes that came back, the work that may still use them. Bytes that
//! are given out again before that work is over must come with it.

use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ash::vk::Handle;
use vkarray_allocator::{Adaptor, Asked, MemoryKind, MemoryManager, MemoryPointer};
use vkarray_driver::Device;
use vkarray_driver::hazard::LastUse;

use crate::spans::{Space, Span, Spans};

/// What every device can bind at.
const ALIGNMENT: u64 = 256;

/// Memory reaches past its last byte to a multiple of this.
const GRANULE: u64 = 16;

/// What a witness noted. Shared with the check that it works for.
#[derive(Debug)]
pub(crate) struct Ledger {
    spans: Mutex<Spans<Vec<LastUse>>>,
    complaints: Mutex<Vec<String>>,
    device: Arc<Device>,
}

impl Ledger {
    pub(crate) fn new(device: &Arc<Device>) -> Arc<Self> {
        Arc::new(Self { spans: Mutex::default(), complaints: Mutex::default(), device: Arc::clone(device) })
    }

    /// What the manager did wrong so far.
    pub(crate) fn complaints(&self) -> Vec<String> {
        self.complaints.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn complain(&self, complaint: String) {
        self.complaints.lock().unwrap_or_else(PoisonError::into_inner).push(complaint);
    }

    fn spans(&self) -> MutexGuard<'_, Spans<Vec<LastUse>>> {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn given(&self, asked: &Asked, memory: &MemoryPointer) {
        self.check_shape(asked, memory);
        for span in spans_of(memory) {
            let (overlap, former) = {
                let mut spans = self.spans();
                (spans.give(&span), spans.inherit(&span))
            };
            if let Some(live) = overlap {
                self.complain(format!("expected memory that is nobody's: {span:?} is live as bytes {live:?}"));
            }
            for last in former.iter().flatten() {
                self.check_passed_on(last, memory);
            }
        }
    }

    fn check_shape(&self, asked: &Asked, memory: &MemoryPointer) {
        let (size, kind, offset) = (memory.size(), memory.kind(), memory.offset());
        if size != asked.size {
            self.complain(format!("expected a pointer to the {} bytes asked for, and got {size}", asked.size));
        }
        if kind != asked.kind {
            self.complain(format!("expected {} memory, and got {kind}", asked.kind));
        }
        if !offset.is_multiple_of(ALIGNMENT) {
            self.complain(format!("expected an offset that is a multiple of {ALIGNMENT}, and got {offset}"));
        }
        if memory.buffer().is_null() {
            self.complain(format!("expected a buffer for {size} bytes, and got none"));
        }
        if kind != MemoryKind::Device && memory.mapped().is_none() {
            self.complain(format!("expected the host's address of {kind} memory, and got none"));
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
            self.complain(format!(
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
pub(crate) struct Witness {
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) inner: Box<dyn MemoryManager>,
}

// SAFETY: the manager inside is a field that nothing assigns to once the witness is made.
unsafe impl Adaptor for Witness {
    type Inner = Box<dyn MemoryManager>;

    fn inner(&self) -> &Self::Inner {
        &self.inner
    }

    fn after(&self, asked: &Asked, given: Option<&MemoryPointer>) {
        if let Some(memory) = given {
            self.ledger.given(asked, memory);
        }
    }

    fn freeing(&self, memory: &MemoryPointer) {
        for span in spans_of(memory) {
            self.ledger.spans().take(span, memory.last_uses().to_vec());
        }
    }
}

/// The bytes of memory, in each space that it lies in.
fn spans_of(memory: &MemoryPointer) -> impl Iterator<Item = Span> {
    let size = memory.size().next_multiple_of(GRANULE);
    let span = |space, start: u64| Span { space, bytes: start..start.saturating_add(size) };
    let address = |mapped: NonNull<u8>| span(Space::Host, mapped.as_ptr().addr() as u64);
    let here = span(Space::Buffer(memory.buffer().as_raw()), memory.offset());
    [Some(here), memory.mapped().map(address)].into_iter().flatten()
}
