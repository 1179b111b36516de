//! Elements that ranks send from views of their arrays to views of others' arrays. **Start** at [`Transfer`].
//!
//! | file | has |
//! |---|---|
//! | `mod.rs` | the views that a rank sends and fills, and the rounds in which it does |
//! | `side.rs` | the messages of one direction, on the device and in host memory |

mod side;

use std::collections::BTreeMap;
use std::sync::Arc;

use vkarray::ndarray::ArrayViewD;
use vkarray::{Context, DeviceNDArray, Element, Index};

use crate::decomposition::Region;
use crate::error::DistError;
use crate::transport::{AHEAD, Direction, Transport, TransportError, chunk_of};
use side::{Copy, Side, Turns};

/// Views in the order of their elements in a message, by the rank at the other side.
type ByRank<T> = Vec<(usize, Vec<DeviceNDArray<T>>)>;

/// The views that a rank sends, and the views that it fills with what it receives: one message for each other rank.
#[derive(Debug)]
pub(crate) struct Transfer<T: Element> {
    context: Context,
    sends: Side<T>,
    receives: Side<T>,
    /// What stays on this rank: source and target.
    copies: Vec<(DeviceNDArray<T>, DeviceNDArray<T>)>,
    /// The ranks with which this one shares memory, and the rounds of the longest message between them.
    pairs: BTreeMap<usize, u64>,
}

impl<T: Element> Transfer<T> {
    /// The transfer of a rank that sends and receives these views, each with the rank at the other side. For each pair
    /// of ranks, both list the views of one shape in one order. All ranks call this function: a pair that exchanges elements
    /// for the first time finds out whether it can share memory.
    pub(crate) fn new(
        context: &Context,
        transport: &dyn Transport,
        sources: Vec<(usize, DeviceNDArray<T>)>,
        targets: Vec<(usize, DeviceNDArray<T>)>,
    ) -> Result<Self, DistError> {
        let rank = transport.rank();
        let ((own_sources, sends), (own_targets, receives)) = (split(rank, sources), split(rank, targets));
        let mut ranks: Vec<usize> = sends.iter().chain(&receives).map(|(rank, _)| *rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let shared = match transport.mailboxes()? {
            Some(mailboxes) => {
                mailboxes.connect(context, transport, &ranks)?;
                mailboxes.open(context, &ranks).map_err(vkarray::Error::from)?
            }
            None => BTreeMap::new(),
        };
        let slots = |other, direction: Direction| {
            shared.get(&other).map(|memory| (Arc::clone(memory), direction.start(chunk_of(memory))))
        };
        let sends = Side::new(context, sends, |other| slots(other, Direction::between(rank, other)))?;
        let receives = Side::new(context, receives, |other| slots(other, Direction::between(other, rank)))?;
        let mut pairs = BTreeMap::new();
        for (rank, rounds) in sends.rounds().chain(receives.rounds()).filter(|(rank, _)| shared.contains_key(rank)) {
            let longest = pairs.entry(rank).or_insert(0);
            *longest = rounds.max(*longest);
        }
        let copies = own_sources.into_iter().zip(own_targets).collect();
        Ok(Self { context: context.clone(), sends, receives, copies, pairs })
    }

    /// Sends and receives all elements. Blocks until the sources are read and all messages have arrived; the writes to
    /// the targets run before later work on them.
    pub(crate) fn run(&self, transport: &dyn Transport) -> Result<(), DistError> {
        let stream = self.context.default_stream();
        self.run_by(transport, &|target, source, regions| target.copy_regions(stream, source, regions), || Ok(()))
    }

    /// Does what [`Transfer::run`] does. What `meanwhile` records runs on the device while messages travel. If it fails, the
    /// elements are exchanged all the same, since other ranks wait for them.
    pub(crate) fn run_beside(
        &self,
        transport: &dyn Transport,
        meanwhile: impl FnOnce() -> Result<(), DistError>,
    ) -> Result<(), DistError> {
        let stream = self.context.default_stream();
        let copy: Copy<'_> = &|target, source, regions| target.copy_regions_beside(stream, source, regions);
        self.run_by(transport, copy, meanwhile)
    }

    /// Messages go in rounds, each of one chunk of every message. While the host sends the chunks of a round, the device
    /// copies those of the next one to the host and those of the last one from it.
    fn run_by(
        &self,
        transport: &dyn Transport,
        copy: Copy<'_>,
        meanwhile: impl FnOnce() -> Result<(), DistError>,
    ) -> Result<(), DistError> {
        let stream = self.context.default_stream();
        let first = |turns: &Turns| (0..AHEAD).try_for_each(|round| self.sends.copy_to_host(copy, turns, round));
        let mut turns = self.turns(transport)?;
        self.sends.pack(stream)?;
        first(&turns)?;
        for (source, target) in &self.copies {
            target.copy_from_device(source)?;
        }
        // What is recorded from here on is submitted apart, so that the host need not wait for it.
        stream.flush().map_err(vkarray::Error::from)?;
        let result = meanwhile();
        let turns_after = self.turns(transport)?;
        if turns_after != turns {
            // The work had a transfer of its own, which took the turns.
            turns = turns_after;
            first(&turns)?;
        }
        let messages = self.sends.rounds().chain(self.receives.rounds()).map(|(_, rounds)| rounds);
        for round in 0..messages.max().unwrap_or(0) {
            self.exchange(transport, round)?;
            self.receives.copy_from_host(copy, &turns, round)?;
            self.sends.copy_to_host(copy, &turns, round + AHEAD)?;
            self.receives.unpack(round)?;
            stream.flush().map_err(vkarray::Error::from)?;
        }
        result
    }

    /// The ranks that read this rank's elements in memory that both reach, or write them there.
    pub(crate) fn sharing(&self) -> Vec<usize> {
        self.pairs.keys().copied().collect()
    }

    /// The turn of each pair that comes next.
    fn turns(&self, transport: &dyn Transport) -> Result<Turns, DistError> {
        let Some(mailboxes) = transport.mailboxes()? else { return Ok(Turns::new()) };
        Ok(mailboxes.turns(&self.context, self.pairs.keys().copied()).map_err(vkarray::Error::from)?)
    }

    /// Sends and receives the chunks of a round. A rank that shares memory with this one gets the length of its chunk in place
    /// of the chunk, and sends the length that it has: two ranks that disagree on a length both get an error.
    fn exchange(&self, transport: &dyn Transport, round: u64) -> Result<(), DistError> {
        let (sent, mut received) = (self.sends.read(round)?, self.receives.write(round)?);
        let pairs: Vec<usize> = self.pairs.iter().filter(|(_, rounds)| round < **rounds).map(|of| *of.0).collect();
        let lens: Vec<u64> = pairs.iter().map(|&rank| self.sends.len(rank, round)).collect();
        let mut lens_received = vec![0_u64; pairs.len()];
        let mut outgoing: Vec<_> = sent.iter().map(|(rank, bytes)| (*rank, &**bytes)).collect();
        outgoing.extend(pairs.iter().zip(&lens).map(|(&rank, len)| (rank, bytemuck::bytes_of(len))));
        let mut incoming: Vec<_> = received.iter_mut().map(|(rank, bytes)| (*rank, &mut **bytes)).collect();
        incoming.extend(pairs.iter().zip(&mut lens_received).map(|(&rank, len)| (rank, bytemuck::bytes_of_mut(len))));
        let mailboxes = transport.mailboxes()?;
        let ready = |rank| mailboxes.map_or(Ok(()), |mailboxes| mailboxes.wait(rank));
        pairs.iter().try_for_each(|&rank| ready(rank)).map_err(vkarray::Error::from)?;
        transport.exchange(&outgoing, &mut incoming)?;
        mailboxes.inspect(|mailboxes| mailboxes.advance(&pairs));
        for (&sender, sent) in pairs.iter().zip(lens_received) {
            let expected = self.receives.len(sender, round);
            if sent != expected {
                let [expected, sent] = [expected, sent].map(|len| usize::try_from(len).unwrap_or(usize::MAX));
                return Err(TransportError::Length { sender, receiver: transport.rank(), expected, sent }.into());
            }
        }
        Ok(())
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
