//! How ranks send bytes to each other. **Start** at [`Transport`].

mod agreement;
mod error;
mod mailbox;
#[cfg(feature = "mpi")]
mod mpi;
#[cfg_attr(not(target_os = "linux"), path = "unshared.rs")]
mod shared;
mod threads;

use std::fmt::Debug;

pub(crate) use agreement::{agree, gather_texts, share_texts};
pub use error::TransportError;
pub use mailbox::Mailboxes;
pub(crate) use mailbox::{AHEAD, CHUNK, Direction, SLOTS, chunk_of};
#[cfg(feature = "mpi")]
pub use mpi::MpiRank;
pub use threads::ThreadRank;

/// One rank of a program, and the messages that it exchanges with the other ranks.
///
/// A message is bytes for one rank. Between two ranks, messages arrive in the order in which they are sent, and each
/// side knows their lengths. A rank may send messages to itself.
pub trait Transport: Debug {
    /// The number of this rank, from 0.
    fn rank(&self) -> usize;

    /// The number of ranks.
    fn size(&self) -> usize;

    /// Sends messages, each with the rank that receives it, and receives messages, each with the rank that sends it,
    /// into slices of their lengths. Blocks until all of them have arrived and been read, with all messages under way at
    /// once, so that the order of the lists cannot block two ranks.
    ///
    /// # Errors
    /// A list names a rank that does not exist, which sends nothing; a message has another length than its slice; or a
    /// rank has ended.
    fn exchange(&self, outgoing: &[(usize, &[u8])], incoming: &mut [(usize, &mut [u8])]) -> Result<(), TransportError>;

    /// Blocks until all ranks have called this method.
    ///
    /// # Errors
    /// A rank has ended.
    fn barrier(&self) -> Result<(), TransportError>;

    /// Where this rank runs. Blocks for nothing.
    fn place(&self) -> Place;

    /// Whether calls that all ranks make together, such as [`DistArray::halo`](crate::DistArray::halo), first compare
    /// what each rank calls. A disagreement is then an error on all ranks in place of ranks that wait for each other.
    /// Debug builds compare, and release builds do not; `VKARRAY_CHECK_CALLS` overrides both. All ranks need the same
    /// answer. A comparison sends four short messages between rank 0 and each rank.
    ///
    /// # Errors
    /// The variable has an unknown value.
    fn checks_calls(&self) -> Result<bool, TransportError> {
        agreement::switch(agreement::CHECK_CALLS, cfg!(debug_assertions))
    }

    /// The memory that this rank shares with other ranks of its host, through which all elements between them pass where
    /// their devices allow it, with a message of eight bytes for each chunk; see [`Link`]. Without it, the elements are
    /// messages too. Those of [`ThreadRank`] and `MpiRank` are there unless `VKARRAY_SHARE_PAGES` says no; a
    /// transport has none by default. Either all ranks have mailboxes or none.
    ///
    /// # Errors
    /// The variable has an unknown value.
    fn mailboxes(&self) -> Result<Option<&Mailboxes>, TransportError> {
        Ok(None)
    }
}

/// A switch that lets ranks of one host share memory, or not.
const SHARE_PAGES: &str = "VKARRAY_SHARE_PAGES";

/// A switch that lets processes of one device share memory of the device in place of pages of the host, or not.
#[cfg(target_os = "linux")]
const SHARE_DEVICE_MEMORY: &str = "VKARRAY_SHARE_DEVICE_MEMORY";

/// The way of elements between two ranks; the earlier ones are faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Link {
    /// Through memory of the device on which both compute, as processes: two copies on the device.
    DeviceMemory,
    /// Through pages of the host that the devices of both reach: one copy down, and one up.
    HostPages,
    /// By messages from and to pinned memory.
    Messages,
}

/// Where a rank runs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// What carries the messages, for a reader.
    pub transport: String,
    /// The name of the host.
    pub host: String,
    /// The least rank on the host, which tells hosts of one name apart.
    pub host_rank: usize,
    /// The number of this rank among the ranks of its host, from 0.
    pub local_rank: usize,
}

/// Exchanges messages as [`Transport::exchange`] does, and returns those that arrive, each named by the rank that sends
/// it and its length in bytes.
pub(crate) fn received(
    transport: &dyn Transport,
    outgoing: &[(usize, &[u8])],
    incoming: &[(usize, usize)],
) -> Result<Vec<Vec<u8>>, TransportError> {
    let mut messages: Vec<Vec<u8>> = incoming.iter().map(|&(_, len)| vec![0; len]).collect();
    let mut slices: Vec<_> =
        incoming.iter().zip(&mut messages).map(|(&(rank, _), bytes)| (rank, bytes.as_mut_slice())).collect();
    transport.exchange(outgoing, &mut slices)?;
    Ok(messages)
}

/// Refuses a list that names a rank which does not exist.
fn check_ranks(
    size: usize,
    outgoing: &[(usize, &[u8])],
    incoming: &[(usize, &mut [u8])],
) -> Result<(), TransportError> {
    let mut ranks = outgoing.iter().map(|(rank, _)| *rank).chain(incoming.iter().map(|(rank, _)| *rank));
    match ranks.find(|&rank| rank >= size) {
        Some(rank) => Err(TransportError::Rank { rank, size }),
        None => Ok(()),
    }
}
