//! Arrays of one shape that ranks send to each other, for a rank that combines them.

use std::mem::size_of;

use vkarray::{DeviceNDArray, Element};

use crate::array::DistArray;
use crate::error::DistError;
use crate::exchange::append;

impl<T: Element> DistArray<'_, T> {
    /// Sends an array to the ranks `to`, and stacks the arrays of `shape` that the ranks `from` send, in that order,
    /// along a first axis. The bytes of all of them go to the device in one copy. Blocks until they have arrived.
    pub(super) fn stacked<U: Element>(
        &self,
        own: &DeviceNDArray<U>,
        to: &[usize],
        from: &[usize],
        shape: &[usize],
    ) -> Result<DeviceNDArray<U>, DistError> {
        let mut message = Vec::new();
        if !to.is_empty() {
            append(&mut message, &own.copy_to_host()?);
        }
        let nbytes = shape.iter().product::<usize>() * size_of::<U>();
        let incoming: Vec<_> = from.iter().map(|&sender| (sender, nbytes)).collect();
        let outgoing = to.iter().map(|&receiver| (receiver, message.clone())).collect();
        let values: Vec<U> = bytemuck::pod_collect_to_vec(&self.transport().exchange(outgoing, &incoming)?.concat());
        Ok(self.local().context().shaped_to_device(&values, [&[from.len()], shape].concat())?)
    }
}
