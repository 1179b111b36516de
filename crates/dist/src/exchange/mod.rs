//! Elements that ranks send from views of their arrays to views of others' arrays. **Start** at [`Transfer`].

use std::mem::size_of;

use vkarray::ndarray::{ArrayD, ArrayViewD};
use vkarray::{DeviceNDArray, Element, Index};

use crate::decomposition::Region;
use crate::error::DistError;
use crate::transport::Transport;

/// Views in the order of their elements in a message, by the rank at the other side.
type ByRank<T> = Vec<(usize, Vec<DeviceNDArray<T>>)>;

/// The views that a rank sends, and the views that it fills with what it receives: one message for each other rank.
#[derive(Debug)]
pub(crate) struct Transfer<T: Element> {
    sends: ByRank<T>,
    receives: ByRank<T>,
    /// What stays on this rank: source and target.
    copies: Vec<(DeviceNDArray<T>, DeviceNDArray<T>)>,
}

impl<T: Element> Transfer<T> {
    /// The transfer of a rank that sends and receives these views, each with the rank at the other side. For each pair
    /// of ranks, both list the views of one shape in one order.
    pub(crate) fn new(
        rank: usize,
        sources: Vec<(usize, DeviceNDArray<T>)>,
        targets: Vec<(usize, DeviceNDArray<T>)>,
    ) -> Self {
        let (own_sources, sends) = split(rank, sources);
        let (own_targets, receives) = split(rank, targets);
        Self { sends, receives, copies: own_sources.into_iter().zip(own_targets).collect() }
    }

    /// Sends and receives all elements. Blocks until the sources are read and all messages have arrived; the writes to
    /// the targets run before later work on them. What `meanwhile` records runs on the device while messages travel.
    pub(crate) fn run(
        &self,
        transport: &dyn Transport,
        meanwhile: impl FnOnce() -> Result<(), DistError>,
    ) -> Result<(), DistError> {
        let mut outgoing = Vec::with_capacity(self.sends.len());
        for (rank, views) in &self.sends {
            let pending: Vec<_> = views.iter().map(DeviceNDArray::copy_to_host_async).collect::<Result<_, _>>()?;
            outgoing.push((*rank, pending));
        }
        for (source, target) in &self.copies {
            target.copy_from_device(source)?;
        }
        meanwhile()?;
        let outgoing = (outgoing.into_iter())
            .map(|(rank, pending)| {
                let mut message = Vec::new();
                for copy in pending {
                    append(&mut message, &copy.wait()?);
                }
                Ok((rank, message))
            })
            .collect::<Result<_, DistError>>()?;
        let incoming: Vec<_> =
            self.receives.iter().map(|(rank, views)| (*rank, views.iter().map(nbytes).sum())).collect();
        let received = transport.exchange(outgoing, &incoming)?;
        for ((_, views), message) in self.receives.iter().zip(received) {
            let mut rest = message.as_slice();
            for view in views {
                let bytes = rest.split_off(..nbytes(view)).expect("the message has the length of all views");
                let values: Vec<T> = bytemuck::pod_collect_to_vec(bytes);
                view.copy_from_host(&shaped(view.shape(), &values))?;
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

/// Appends the elements of an array in C order.
pub(crate) fn append<T: Element>(message: &mut Vec<u8>, array: &ArrayD<T>) {
    let array = array.as_standard_layout();
    message.extend_from_slice(bytemuck::cast_slice(array.as_slice().expect("the layout is the standard one")));
}

/// An array of `shape` that has these elements in C order.
pub(crate) fn shaped<'v, T: Element>(shape: &[usize], values: &'v [T]) -> ArrayViewD<'v, T> {
    ArrayViewD::from_shape(shape, values).expect("there is one value for each element")
}

fn nbytes<T: Element>(view: &DeviceNDArray<T>) -> usize {
    view.size() * size_of::<T>()
}

/// The elements of an array that are in a box.
pub(crate) fn view<T: Element>(array: &DeviceNDArray<T>, region: &Region) -> vkarray::Result<DeviceNDArray<T>> {
    let ranges = region.start.iter().zip(&region.shape);
    array.slice(ranges.map(|(&start, &len)| Index::from(start..start + len)).collect::<Vec<_>>())
}
