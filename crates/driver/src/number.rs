//! Numbers by which reports name streams.
//!
//! A stream's lanes and their timelines share its number, so that memory waiting for a copy beside is said to wait for
//! the stream. Who reads them is the allocator crate's report of memory running out.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::stream::Stream;

/// Counts the streams of a device.
#[derive(Debug, Default)]
pub(crate) struct StreamNumbers(AtomicU64);

impl StreamNumbers {
    /// A number that no stream of the device had yet: from one up.
    pub(crate) fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }
}

impl Stream {
    /// Its number on its device, from one up in the order of creation, as reports name it.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.shared.work.stream_number()
    }
}
