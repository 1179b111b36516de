//! CUDA's legacy ordering: the streams that wait for the legacy default stream, and for which it waits.
//!
//! Work on the legacy stream starts after all earlier work of the device's blocking streams, and later work of a blocking
//! stream starts after it. All of it is waiting on the device. Ordinary streams take no part and pay one branch; a blocking
//! stream pays two relaxed loads an operation unless the legacy stream has worked since. `stream.rs` calls in here
//! before and after each operation; who holds the legacy stream is `default_streams.rs`' concern.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use crate::device::Device;
use crate::error::Result;
use crate::lock::{Mutex, MutexGuard, Rank};
use crate::point::Point;
use crate::stream::{Shared, Stream};

/// What part a stream takes in the legacy ordering.
#[derive(Debug, Default)]
pub(crate) enum Part {
    /// None.
    #[default]
    Ordinary,
    /// It waits for the legacy stream and is waited for.
    Blocking(Seen),
    /// It is the legacy stream.
    Legacy,
}

/// How far each side has waited for the other.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Operations of the legacy stream that the blocking stream starts after.
    legacy: AtomicU64,
    /// The newest batch of the blocking stream that the legacy stream starts after.
    blocking: AtomicU64,
}

/// A device's streams that take part.
#[derive(Debug)]
pub(crate) struct LegacyOrder {
    /// Operations that the legacy stream has recorded. Raised after each, so that whoever sees it finds them all.
    n_legacy: AtomicU64,
    streams: Mutex<Streams>,
}

#[derive(Debug, Default)]
struct Streams {
    blocking: Vec<Weak<Shared>>,
    legacy: Weak<Shared>,
}

impl Stream {
    /// Creates a stream that takes part in CUDA's legacy ordering: it waits for earlier work of the legacy default stream
    /// ([`DefaultStreams::legacy`](crate::DefaultStreams::legacy)), which waits for earlier work of this one.
    ///
    /// # Errors
    ///
    /// As [`Stream::new`].
    pub fn blocking(device: &Arc<Device>) -> Result<Self> {
        Self::with_part(device, Part::Blocking(Seen::default()))
    }

    pub(crate) fn legacy(device: &Arc<Device>) -> Result<Self> {
        Self::with_part(device, Part::Legacy)
    }
}

impl Default for LegacyOrder {
    fn default() -> Self {
        Self { n_legacy: AtomicU64::new(0), streams: Mutex::new(Rank::LegacyStreams, Streams::default()) }
    }
}

impl LegacyOrder {
    /// Notes a stream that takes part. There is one legacy stream at a time.
    pub(crate) fn add(&self, stream: &Stream) {
        let mut streams = self.streams();
        match stream.part() {
            Part::Ordinary => {}
            Part::Blocking(_) => {
                streams.blocking.retain(|stream| stream.strong_count() > 0);
                streams.blocking.push(stream.downgrade());
            }
            Part::Legacy => streams.legacy = stream.downgrade(),
        }
    }

    /// Makes what `stream` records next start after what the legacy ordering puts before it.
    pub(crate) fn join(&self, stream: &Stream) -> Result<()> {
        if !matches!(stream.part(), Part::Ordinary) {
            stream.device().check_lost()?; // Before any lock is taken.
        }
        match stream.part() {
            Part::Ordinary => Ok(()),
            // What another thread records at this moment is neither earlier nor later.
            Part::Blocking(seen) if seen.legacy.load(Ordering::Relaxed) == self.n_legacy.load(Ordering::Relaxed) => {
                Ok(())
            }
            Part::Blocking(seen) => self.wait_for_legacy(stream, seen),
            Part::Legacy => self.wait_for_blocking(stream),
        }
    }

    /// Notes that the legacy stream has recorded an operation, perhaps in part.
    pub(crate) fn recorded(&self, stream: &Stream) {
        if matches!(stream.part(), Part::Legacy) {
            self.n_legacy.fetch_add(1, Ordering::Release);
        }
    }

    /// The points that end everything recorded so far on the blocking streams.
    pub(crate) fn blocking_points(&self) -> impl Iterator<Item = Point> {
        self.blocking().into_iter().flat_map(|stream| stream.own_points())
    }

    fn wait_for_legacy(&self, stream: &Stream, seen: &Seen) -> Result<()> {
        // Read before the point is taken, which so contains all that was counted.
        let n_legacy = self.n_legacy.load(Ordering::Acquire);
        let legacy = Stream::upgrade(&self.streams().legacy);
        // A legacy stream that is gone has waited for its work.
        if let Some(legacy) = legacy {
            stream.start_after(&legacy.joined_point()?)?;
        }
        seen.legacy.fetch_max(n_legacy, Ordering::Relaxed);
        Ok(())
    }

    fn wait_for_blocking(&self, legacy: &Stream) -> Result<()> {
        for stream in self.blocking() {
            let Part::Blocking(seen) = stream.part() else { continue };
            let point = stream.joined_point()?;
            // Waiting again for what is waited for already would end the legacy stream's batch each time.
            if seen.blocking.load(Ordering::Acquire) < point.value() {
                legacy.start_after(&point)?;
                seen.blocking.fetch_max(point.value(), Ordering::AcqRel);
            }
        }
        Ok(())
    }

    fn blocking(&self) -> Vec<Stream> {
        self.streams().blocking.iter().filter_map(Stream::upgrade).collect()
    }

    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock()
    }
}
