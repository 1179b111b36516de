//! CUDA's legacy ordering: the streams that wait for the legacy default stream, and for which it waits.
//!
//! Work on the legacy stream starts after all earlier work of the device's blocking streams, and later work of a
//! blocking stream starts after it. Every such wait is on the device. Ordinary streams take no part and pay one branch
//! for each operation. A blocking stream pays two relaxed loads for each operation unless the legacy stream has worked
//! since. `mod.rs` calls this file before and after each operation; `default_streams.rs` holds the legacy stream.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use super::{Shared, Stream};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::lock::{Mutex, Rank};

/// A stream's role in the legacy ordering.
#[derive(Debug)]
pub(super) enum LegacyRole {
    /// The stream takes no part.
    Ordinary,
    /// The stream waits for the legacy stream and is waited for by it.
    Blocking(Arc<LegacyOrder>, LegacyProgress),
    /// The stream is the legacy stream.
    Legacy(Arc<LegacyOrder>),
}

/// How far a blocking stream and the legacy stream have waited for each other.
#[derive(Debug, Default)]
pub(super) struct LegacyProgress {
    /// How many operations of the legacy stream the blocking stream has waited for.
    legacy: AtomicU64,
    /// The newest batch of the blocking stream that the legacy stream has waited for.
    blocking: AtomicU64,
}

/// The streams of a device that take part in the legacy ordering.
#[derive(Debug)]
pub(super) struct LegacyOrder {
    /// How many operations the legacy stream has recorded. The count grows after each operation, so all counted
    /// operations are visible to its readers.
    n_legacy: AtomicU64,
    streams: Mutex<LegacyStreams>,
}

#[derive(Debug, Default)]
struct LegacyStreams {
    blocking: Vec<Weak<Shared>>,
    legacy: Weak<Shared>,
}

impl Stream {
    /// Creates a stream that takes part in CUDA's legacy ordering. Its work waits for earlier work of the legacy
    /// default stream ([`DefaultStreams::legacy`](crate::DefaultStreams::legacy)), whose work waits for earlier work of
    /// this stream.
    ///
    /// ```
    /// use vkarray_driver::{DefaultStreams, Device, Event, Instance, Stream};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// let stream = Stream::blocking(&device)?;
    /// Event::with_timing(&device)?.record(&stream)?;
    /// DefaultStreams::of(&device).legacy()?.synchronize()?; // Waits for the blocking stream too.
    /// assert!(stream.query()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Vulkan`](crate::Error::Vulkan) if the driver cannot make another semaphore, and the errors of
    /// [`Stream::new`].
    pub fn blocking(device: &Arc<Device>) -> Result<Self> {
        let order = device.extension::<LegacyOrder>();
        let stream = Self::with_part(device, LegacyRole::Blocking(Arc::clone(&order), LegacyProgress::default()))?;
        let mut streams = order.streams.lock();
        streams.blocking.retain(|stream| stream.strong_count() > 0);
        streams.blocking.push(Arc::downgrade(&stream.shared));
        drop(streams);
        Ok(stream)
    }

    /// Creates the legacy stream of a device. The caller makes sure that the device has no other.
    pub(super) fn legacy(device: &Arc<Device>) -> Result<Self> {
        let order = device.extension::<LegacyOrder>();
        let stream = Self::with_part(device, LegacyRole::Legacy(Arc::clone(&order)))?;
        order.streams.lock().legacy = Arc::downgrade(&stream.shared);
        Ok(stream)
    }

    /// Makes the next operation of the stream start after the work that the legacy ordering puts before it.
    #[inline]
    pub(super) fn join_legacy(&self) -> Result<()> {
        match &self.shared.part {
            LegacyRole::Ordinary => Ok(()),
            LegacyRole::Blocking(order, seen) => {
                self.device().check_lost()?; // Before any lock is taken.
                // Operations that two threads record at the same time are not ordered, so relaxed loads suffice.
                if seen.legacy.load(Ordering::Relaxed) == order.n_legacy.load(Ordering::Relaxed) {
                    return Ok(());
                }
                order.wait_for_legacy(self, seen)
            }
            LegacyRole::Legacy(order) => {
                self.device().check_lost()?; // Before any lock is taken.
                order.wait_for_blocking(self)
            }
        }
    }

    /// Records an operation after the work that the legacy ordering puts before it. An operation of the legacy stream is
    /// counted even if only a part of it is recorded.
    #[inline]
    pub(super) fn in_legacy_order<R, E: From<Error>>(&self, record: impl FnOnce() -> Result<R, E>) -> Result<R, E> {
        self.join_legacy()?;
        let recorded = record();
        if let LegacyRole::Legacy(order) = &self.shared.part {
            order.n_legacy.fetch_add(1, Ordering::Release);
        }
        recorded
    }
}

impl Default for LegacyOrder {
    fn default() -> Self {
        Self { n_legacy: AtomicU64::new(0), streams: Mutex::new(Rank::LegacyStreams, LegacyStreams::default()) }
    }
}

impl LegacyOrder {
    fn wait_for_legacy(&self, stream: &Stream, seen: &LegacyProgress) -> Result<()> {
        // The count is read before the point is taken, so the point includes all counted operations.
        let n_legacy = self.n_legacy.load(Ordering::Acquire);
        let legacy = self.streams.lock().legacy.upgrade().map(|shared| Stream { shared });
        // If the legacy stream was dropped, its drop has waited for its work.
        if let Some(legacy) = legacy {
            stream.start_after(&legacy.joined_point()?)?;
        }
        seen.legacy.fetch_max(n_legacy, Ordering::Relaxed);
        Ok(())
    }

    fn wait_for_blocking(&self, legacy: &Stream) -> Result<()> {
        for stream in self.blocking() {
            let LegacyRole::Blocking(_, seen) = &stream.shared.part else { continue };
            let point = stream.joined_point()?;
            // A wait that was requested before would only end the legacy stream's batch.
            if seen.blocking.load(Ordering::Acquire) < point.value() {
                legacy.start_after(&point)?;
                seen.blocking.fetch_max(point.value(), Ordering::AcqRel);
            }
        }
        Ok(())
    }

    /// The blocking streams.
    pub(super) fn blocking(&self) -> Vec<Stream> {
        self.streams.lock().blocking.iter().filter_map(|shared| Some(Stream { shared: shared.upgrade()? })).collect()
    }
}
