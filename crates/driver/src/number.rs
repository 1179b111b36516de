//! Numbers by which reports name streams, and by which queues are dealt to them.
//!
//! A stream's lanes and their timelines share its number, so that memory waiting for a copy beside is said to wait for
//! the stream. Who reads them is the allocator crate's report of memory running out.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::stream::Stream;

/// Counts the streams of a device.
#[derive(Debug, Default)]
pub(crate) struct StreamNumbers {
    named: AtomicU64,
    dealt: AtomicUsize,
}

impl StreamNumbers {
    /// A number that no stream of the device had yet: from one up.
    pub(crate) fn next(&self) -> u64 {
        self.named.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// How many streams were dealt queues before, those on queues of their own not counted.
    pub(crate) fn deal(&self) -> usize {
        self.dealt.fetch_add(1, Ordering::Relaxed)
    }
}

impl Stream {
    /// Its number on its device, from one up in the order of creation, as reports name it.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.shared.work.stream_number()
    }
}
