//! The copies and messages that fill the ghost zones of an array.

use vkarray::{DeviceNDArray, Element};

use super::DistArray;
use crate::decomposition::{HaloMessage, HaloSchedule, Region};
use crate::error::DistError;
use crate::exchange::{Transfer, view};
use crate::transport::Transport;

/// An exchange of ghost zones, as [`HaloSchedule`] has it.
#[derive(Debug)]
pub(super) struct Halo<T: Element> {
    /// Source and target of each copy before the messages, in their order.
    own: Vec<(DeviceNDArray<T>, DeviceNDArray<T>)>,
    messages: Transfer<T>,
}

impl<T: Element> Halo<T> {
    /// The exchange of an array. All ranks call this function.
    pub(super) fn new(array: &DistArray<'_, T>) -> Result<Self, DistError> {
        let (rank, schedule) = (array.transport.rank(), HaloSchedule::new(&array.decomposition));
        let source = |message: &HaloMessage| -> Result<_, DistError> {
            let mirrored: Vec<isize> = (0..).zip(&message.mirrored).filter(|axis| *axis.1).map(|axis| axis.0).collect();
            Ok(view(&array.local, &message.source)?.flip(Some(&mirrored))?)
        };
        let target = |message: &HaloMessage| -> Result<_, DistError> {
            let region = Region { start: message.target.clone(), shape: message.source.shape.clone() };
            Ok(view(&array.local, &region)?)
        };
        let own = schedule.own(rank)?;
        let own = own.iter().map(|copy| Ok((source(copy)?, target(copy)?))).collect::<Result<_, DistError>>()?;
        let (outgoing, incoming) = (schedule.outgoing(rank)?, schedule.incoming(rank)?);
        let sources = outgoing.iter().map(|message| Ok((message.receiver, source(message)?)));
        let targets = incoming.iter().map(|message| Ok((message.sender, target(message)?)));
        let (sources, targets) =
            (sources.collect::<Result<_, DistError>>()?, targets.collect::<Result<_, DistError>>()?);
        Ok(Self { own, messages: Transfer::new(array.local.context(), array.transport, sources, targets)? })
    }

    /// Fills the ghost zones, as [`Transfer::run`] sends and receives.
    pub(super) fn run(&self, transport: &dyn Transport) -> Result<(), DistError> {
        self.copy_own()?;
        self.messages.run(transport)
    }

    /// Fills the ghost zones, as [`Transfer::run_beside`] sends and receives.
    pub(super) fn run_beside(
        &self,
        transport: &dyn Transport,
        meanwhile: impl FnOnce() -> Result<(), DistError>,
    ) -> Result<(), DistError> {
        self.copy_own()?;
        self.messages.run_beside(transport, meanwhile)
    }

    fn copy_own(&self) -> Result<(), DistError> {
        Ok(self.own.iter().try_for_each(|(source, target)| target.copy_from_device(source))?)
    }

    /// The ranks that reach the memory of this rank's messages; see [`Transfer::sharing`].
    pub(super) fn sharing(&self) -> Vec<usize> {
        self.messages.sharing()
    }
}
