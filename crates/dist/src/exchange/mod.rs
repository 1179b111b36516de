//! Elements that ranks send from views of their arrays to views of others' arrays. **Start** at [`Transfer`].
//!
//! | file | has |
//! |---|---|
//! | `mod.rs` | the views that a rank sends and fills, and the rounds in which it does |
//! | `side.rs` | the messages of one direction, on the device and in pinned memory |

mod side;

use vkarray::ndarray::ArrayViewD;
use vkarray::{Context, DeviceNDArray, Element, Index};

use crate::decomposition::Region;
use crate::error::DistError;
use crate::transport::Transport;
use side::Side;

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
        let (own_sources, sends) = split(rank, sources);
        let (own_targets, receives) = split(rank, targets);
        let copies = own_sources.into_iter().zip(own_targets).collect();
        let [sends, receives] = [sends, receives].map(|views| Side::new(context, views));
        Ok(Self { context: context.clone(), sends: sends?, receives: receives?, copies })
    }

    /// Sends and receives all elements. Blocks until the sources are read and all messages have arrived; the writes to
    /// the targets run before later work on them. What `meanwhile` records runs on the device while messages travel.
    ///
    /// Messages go in rounds, each of one chunk of every message. While the host sends the chunks of a round, the device
    /// copies those of the next one to the host and those of the last one from it.
    pub(crate) fn run(
        &self,
        transport: &dyn Transport,
        meanwhile: impl FnOnce() -> Result<(), DistError>,
    ) -> Result<(), DistError> {
        let stream = self.context.default_stream();
        self.sends.pack()?;
        self.sends.copy_to_host(stream, 0)?;
        for (source, target) in &self.copies {
            target.copy_from_device(source)?;
        }
        // What is recorded from here on is submitted apart, so that the host need not wait for it.
        stream.flush().map_err(vkarray::Error::from)?;
        meanwhile()?;
        for round in 0..self.sends.rounds().max(self.receives.rounds()) {
            let sent = self.sends.chunks(round);
            let sent = sent.map(|(rank, range)| Ok((rank, self.sends.read(range)?)));
            let sent: Vec<_> = sent.collect::<Result<_, DistError>>()?;
            self.sends.copy_to_host(stream, round + 1)?;
            stream.flush().map_err(vkarray::Error::from)?;
            let received = self.receives.chunks(round);
            let received = received.map(|(rank, range)| Ok((rank, self.receives.write(range)?)));
            let mut received: Vec<_> = received.collect::<Result<_, DistError>>()?;
            let outgoing: Vec<_> = sent.iter().map(|(rank, bytes)| (*rank, &**bytes)).collect();
            let mut incoming: Vec<_> = received.iter_mut().map(|(rank, bytes)| (*rank, &mut **bytes)).collect();
            transport.exchange(&outgoing, &mut incoming)?;
            drop((sent, received));
            self.receives.copy_from_host(stream, round)?;
        }
        self.receives.unpack()
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
