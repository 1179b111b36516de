//! Elements that ranks send from views of their arrays to views of others' arrays. **Start** at [`Transfer`].
//!
//! | file | has |
//! |---|---|
//! | `mod.rs` | the views that a rank sends and fills, and the rounds in which it does |
//! | `side.rs` | the messages of one direction, on the device and in host memory |
//! | `shared.rs` | host memory that the devices of two ranks reach |

#[cfg(target_os = "linux")]
mod shared;
mod side;

use std::cell::Cell;
use std::collections::BTreeMap;

use vkarray::ndarray::ArrayViewD;
use vkarray::{Context, DeviceNDArray, Element, Index};

use crate::decomposition::Region;
use crate::error::DistError;
use crate::transport::Transport;
use side::{AHEAD, BEHIND, Copy, Side};

/// Views in the order of their elements in a message, by the rank at the other side.
type ByRank<T> = Vec<(usize, Vec<DeviceNDArray<T>>)>;

/// The views that a rank sends, and the views that it fills with what it receives: one message for each other rank.
#[derive(Debug)]
pub(crate) struct Transfer<T: Element> {
    context: Context,
    /// What passes through pinned memory and messages.
    sends: Option<Side<T>>,
    receives: Option<Side<T>>,
    /// What passes through memory that this rank shares with others.
    shared_sends: Option<Side<T>>,
    shared_receives: Vec<Side<T>>,
    /// What stays on this rank: source and target.
    copies: Vec<(DeviceNDArray<T>, DeviceNDArray<T>)>,
    /// How often the transfer has run.
    runs: Cell<u64>,
}

impl<T: Element> Transfer<T> {
    /// The transfer of a rank that sends and receives these views, each with the rank at the other side. For each pair
    /// of ranks, both list the views of one shape in one order.
    pub(crate) fn new(
        context: &Context,
        rank: usize,
        sources: Vec<(usize, DeviceNDArray<T>)>,
        targets: Vec<(usize, DeviceNDArray<T>)>,
    ) -> Result<Self, DistError> {
        let ((own_sources, sends), (own_targets, receives)) = (split(rank, sources), split(rank, targets));
        Ok(Self {
            context: context.clone(),
            sends: Side::pinned(context, sends)?,
            receives: Side::pinned(context, receives)?,
            shared_sends: None,
            shared_receives: Vec::new(),
            copies: own_sources.into_iter().zip(own_targets).collect(),
            runs: Cell::new(0),
        })
    }

    /// A transfer that runs often: ranks of one host share memory for it, if [`Transport::shares_memory`] says so. All
    /// ranks call this function.
    pub(crate) fn lasting(
        context: &Context,
        transport: &dyn Transport,
        sources: Vec<(usize, DeviceNDArray<T>)>,
        targets: Vec<(usize, DeviceNDArray<T>)>,
    ) -> Result<Self, DistError> {
        let rank = transport.rank();
        #[cfg(target_os = "linux")]
        if transport.shares_memory()? {
            let (mut sources, mut targets) = (sources, targets);
            let others = |views: &mut Vec<(usize, _)>| split(rank, views.extract_if(.., |of| of.0 != rank).collect()).1;
            let (mut sends, mut receives) = (others(&mut sources), others(&mut targets));
            let (shared_sends, shared_receives) = shared::share(context, transport, &mut sends, &mut receives)?;
            let (sends, receives) = (Side::pinned(context, sends)?, Side::pinned(context, receives)?);
            let own = Self::new(context, rank, sources, targets)?;
            return Ok(Self { sends, receives, shared_sends, shared_receives, ..own });
        }
        Self::new(context, rank, sources, targets)
    }

    /// Sends and receives all elements. Blocks until the sources are read and all messages have arrived; the writes to
    /// the targets run before later work on them.
    pub(crate) fn run(&self, transport: &dyn Transport) -> Result<(), DistError> {
        let stream = self.context.default_stream();
        self.run_by(transport, &|target, source, regions| target.copy_regions(stream, source, regions), || Ok(()))
    }

    /// Does what [`Transfer::run`] does. What `meanwhile` records runs on the device while messages travel.
    pub(crate) fn run_beside(
        &self,
        transport: &dyn Transport,
        meanwhile: impl FnOnce() -> Result<(), DistError>,
    ) -> Result<(), DistError> {
        let stream = self.context.default_stream();
        let copy: Copy<'_> = &|target, source, regions| target.copy_regions_beside(stream, source, regions);
        self.run_by(transport, copy, meanwhile)
    }

    ///
    /// Messages go in rounds, each of one chunk of every message. While the host sends the chunks of a round, the device
    /// copies those of the next one to the host and those of the last one from it.
    fn run_by(
        &self,
        transport: &dyn Transport,
        copy: Copy<'_>,
        meanwhile: impl FnOnce() -> Result<(), DistError>,
    ) -> Result<(), DistError> {
        let (stream, run) = (self.context.default_stream(), self.runs.replace(self.runs.get() + 1));
        let to_host = |round| self.all_sends().try_for_each(|side| side.copy_to_host(copy, run, round));
        self.all_sends().try_for_each(|side| side.pack(stream))?;
        (0..AHEAD).try_for_each(to_host)?;
        for (source, target) in &self.copies {
            target.copy_from_device(source)?;
        }
        // What is recorded from here on is submitted apart, so that the host need not wait for it.
        stream.flush().map_err(vkarray::Error::from)?;
        meanwhile()?;
        let pairs = self.pairs();
        let messages = self.sends.iter().chain(&self.receives).flat_map(Side::rounds).map(|(_, rounds)| rounds);
        for round in 0..messages.chain(pairs.values().copied()).max().unwrap_or(0) {
            self.await_shared(run, round)?;
            let pairs = pairs.iter().filter(|&(_, &rounds)| round < rounds).map(|(&rank, _)| rank);
            self.exchange(transport, round, &pairs.collect::<Vec<_>>())?;
            self.all_receives().try_for_each(|side| side.copy_from_host(copy, run, round))?;
            to_host(round + AHEAD)?;
            self.all_receives().try_for_each(|side| side.unpack(round))?;
            stream.flush().map_err(vkarray::Error::from)?;
        }
        Ok(())
    }

    /// The ranks that read this rank's elements in memory that both reach, or write them there.
    pub(crate) fn sharing(&self) -> Vec<usize> {
        self.pairs().into_keys().collect()
    }

    fn all_sends(&self) -> impl Iterator<Item = &Side<T>> {
        self.sends.iter().chain(&self.shared_sends)
    }

    fn all_receives(&self) -> impl Iterator<Item = &Side<T>> {
        self.receives.iter().chain(&self.shared_receives)
    }

    /// The ranks with which this one shares memory, and the rounds of the longest message between them.
    fn pairs(&self) -> BTreeMap<usize, u64> {
        let mut pairs = BTreeMap::new();
        for (rank, rounds) in self.shared_sends.iter().chain(&self.shared_receives).flat_map(Side::rounds) {
            let longest = pairs.entry(rank).or_insert(0);
            *longest = rounds.max(*longest);
        }
        pairs
    }

    /// Blocks until the chunks of a round are in shared memory, and what was sent long before was read from it.
    fn await_shared(&self, run: u64, round: u64) -> Result<(), DistError> {
        self.shared_sends.iter().try_for_each(|side| side.wait(run, round))?;
        self.shared_receives.iter().try_for_each(|side| match round.checked_sub(BEHIND) {
            Some(round) => side.wait(run, round),
            // The exchange before this one.
            None if round == 0 => side.wait_for_all(),
            None => Ok(()),
        })
    }

    /// Sends and receives the chunks of a round, and a byte to and from each of the ranks with which memory is shared.
    fn exchange(&self, transport: &dyn Transport, round: u64, pairs: &[usize]) -> Result<(), DistError> {
        let sent = self.sends.as_ref().map(|side| side.read(round)).transpose()?.unwrap_or_default();
        let mut received = self.receives.as_ref().map(|side| side.write(round)).transpose()?.unwrap_or_default();
        let mut bytes = vec![[0]; pairs.len()];
        let mut outgoing: Vec<_> = sent.iter().map(|(rank, bytes)| (*rank, &**bytes)).collect();
        outgoing.extend(pairs.iter().map(|&rank| (rank, [1].as_slice())));
        let mut incoming: Vec<_> = received.iter_mut().map(|(rank, bytes)| (*rank, &mut **bytes)).collect();
        incoming.extend(pairs.iter().zip(&mut bytes).map(|(&rank, byte)| (rank, byte.as_mut_slice())));
        Ok(transport.exchange(&outgoing, &mut incoming)?)
    }
}

/// The views for this rank itself, and the others by rank.
fn split<T: Element>(own: usize, views: Vec<(usize, DeviceNDArray<T>)>) -> (Vec<DeviceNDArray<T>>, ByRank<T>) {
    let (mut ours, mut theirs): (Vec<_>, ByRank<T>) = (Vec::new(), Vec::new());
    for (rank, view) in views.into_iter().filter(|(_, view)| view.size() > 0) {
        match theirs.iter_mut().find(|(other, _)| *other == rank) {
            _ if rank == own => ours.push(view),
            Some((_, views)) => views.push(view),
            None => theirs.push((rank, vec![view])),
        }
    }
    (ours, theirs)
}

/// An array of `shape` that has these elements in C order.
pub(crate) fn shaped<'v, T: Element>(shape: &[usize], values: &'v [T]) -> ArrayViewD<'v, T> {
    ArrayViewD::from_shape(shape, values).expect("there is one value for each element")
}

/// The elements of an array that are in a box.
pub(crate) fn view<T: Element>(array: &DeviceNDArray<T>, region: &Region) -> vkarray::Result<DeviceNDArray<T>> {
    let ranges = region.start.iter().zip(&region.shape);
    array.slice(ranges.map(|(&start, &len)| Index::from(start..start + len)).collect::<Vec<_>>())
}
