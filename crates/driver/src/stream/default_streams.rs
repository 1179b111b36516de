//! Default streams: CUDA's legacy default stream, and one default stream for each thread.
//!
//! A device has one set of default streams. The users of the set, usually contexts, hold it. The device holds the set
//! weakly, so neither keeps the other alive. A thread's stream is dropped when the thread ends or the set is dropped.
//! `legacy.rs` orders the work of the legacy stream.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::thread::{self, ThreadId};

use super::Stream;
use crate::device::Device;
use crate::error::Result;
use crate::lock::{Mutex, Rank};

/// The place in a device for its set of default streams.
struct DefaultStreamsSlot(Mutex<Weak<DefaultStreams>>);

impl Default for DefaultStreamsSlot {
    fn default() -> Self {
        Self(Mutex::new(Rank::DefaultStreamSet, Weak::new()))
    }
}

/// A device's legacy default stream and per-thread default streams, each made when first asked for.
///
/// ```
/// use vkarray_driver::{DefaultStreams, Device, Instance};
///
/// # fn main() -> vkarray_driver::Result<()> {
/// let device = Device::open_selected(&Instance::new()?, None)?;
/// let streams = DefaultStreams::of(&device);
/// let (own, again) = (streams.per_thread()?, streams.per_thread()?);
/// assert_eq!(own.number(), again.number()); // One stream a thread.
/// assert_ne!(own.number(), streams.legacy()?.number());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct DefaultStreams {
    legacy: Mutex<Option<Stream>>,
    per_thread: Mutex<HashMap<ThreadId, Stream>>,
    device: Arc<Device>,
}

impl DefaultStreams {
    /// The set of default streams of a device. The set lives while it is held; the next call after its end makes a new
    /// one.
    #[must_use]
    pub fn of(device: &Arc<Device>) -> Arc<Self> {
        if device.is_forked() {
            return Self::new(device); // In a forked process it never gets streams.
        }
        let slot = device.extension::<DefaultStreamsSlot>();
        let mut known = slot.0.lock();
        known.upgrade().unwrap_or_else(|| {
            let set = Self::new(device);
            *known = Arc::downgrade(&set);
            set
        })
    }

    fn new(device: &Arc<Device>) -> Arc<Self> {
        let legacy = Mutex::new(Rank::DefaultStreams, None);
        let per_thread = Mutex::new(Rank::DefaultStreams, HashMap::new());
        Arc::new(Self { legacy, per_thread, device: Arc::clone(device) })
    }

    /// The legacy default stream. Its work starts after all earlier work of all blocking streams, and later work of
    /// blocking streams starts after it. See [`Stream::blocking`].
    ///
    /// # Errors
    ///
    /// [`Error::Vulkan`](crate::Error::Vulkan) if the driver cannot make another semaphore, and the errors of
    /// [`Stream::new`].
    pub fn legacy(&self) -> Result<Stream> {
        self.device.check_process()?;
        let mut legacy = self.legacy.lock();
        match &*legacy {
            Some(stream) => Ok(stream.clone()),
            None => Ok(legacy.insert(Stream::legacy(&self.device)?).clone()),
        }
    }

    /// The calling thread's own stream, a [blocking](Stream::blocking) one.
    ///
    /// When the thread ends, the set drops the stream, which waits for the stream's work.
    ///
    /// # Errors
    ///
    /// [`Error::Vulkan`](crate::Error::Vulkan) if the driver cannot make another semaphore, and the errors of
    /// [`Stream::new`].
    pub fn per_thread(self: &Arc<Self>) -> Result<Stream> {
        self.device.check_process()?;
        let mut streams = self.per_thread.lock();
        let thread = thread::current().id();
        if let Some(stream) = streams.get(&thread) {
            return Ok(stream.clone());
        }
        let stream = Stream::blocking(&self.device)?;
        // A thread that is ending has no list any more. Its new stream lives until the set is dropped.
        let _ = ENDS.try_with(|ends| {
            let sets = &mut ends.borrow_mut().sets;
            sets.retain(|set| set.strong_count() > 0);
            sets.push(Arc::downgrade(self));
        });
        streams.insert(thread, stream.clone());
        Ok(stream)
    }
}

thread_local! {
    /// Drops the thread's streams when the thread ends. It holds the sets and no stream.
    static ENDS: RefCell<ThreadEnd> = const { RefCell::new(ThreadEnd { sets: Vec::new() }) };
}

/// The sets that hold a stream for one thread.
struct ThreadEnd {
    sets: Vec<Weak<DefaultStreams>>,
}

impl Drop for ThreadEnd {
    fn drop(&mut self) {
        let thread = thread::current().id();
        for set in self.sets.iter().filter_map(Weak::upgrade).filter(|set| !set.device.is_forked()) {
            let stream = set.per_thread.lock().remove(&thread);
            drop(stream); // Waits for its work, outside the lock.
        }
    }
}
