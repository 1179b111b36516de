//! A transport that counts.

use std::sync::atomic::{AtomicUsize, Ordering};

use vkarray_dist::{Mailboxes, Place, ThreadRank, Transport, TransportError};

/// The messages of all ranks and their bytes, without the messages of a rank to itself.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) messages: AtomicUsize,
    pub(crate) bytes: AtomicUsize,
}

/// A transport that decides by itself whether calls are compared and memory is shared.
#[derive(Debug)]
pub(crate) struct Counted<'t> {
    pub(crate) rank: &'t ThreadRank,
    pub(crate) checks_calls: bool,
    pub(crate) shares_memory: bool,
    pub(crate) counts: &'t Counts,
}

impl Transport for Counted<'_> {
    fn rank(&self) -> usize {
        self.rank.rank()
    }

    fn size(&self) -> usize {
        self.rank.size()
    }

    fn exchange(&self, outgoing: &[(usize, &[u8])], incoming: &mut [(usize, &mut [u8])]) -> Result<(), TransportError> {
        for (_, message) in outgoing.iter().filter(|(receiver, _)| *receiver != self.rank()) {
            self.counts.messages.fetch_add(1, Ordering::SeqCst);
            self.counts.bytes.fetch_add(message.len(), Ordering::SeqCst);
        }
        self.rank.exchange(outgoing, incoming)
    }

    fn barrier(&self) -> Result<(), TransportError> {
        self.rank.barrier()
    }

    fn place(&self) -> Place {
        self.rank.place()
    }

    fn checks_calls(&self) -> Result<bool, TransportError> {
        Ok(self.checks_calls)
    }

    fn mailboxes(&self) -> Result<Option<&Mailboxes>, TransportError> {
        if self.shares_memory { self.rank.mailboxes() } else { Ok(None) }
    }
}
