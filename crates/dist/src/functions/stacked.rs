//! Arrays of one shape that ranks send to each other, for a rank that combines them.

use std::iter;

use vkarray::{DeviceNDArray, Element};

use crate::array::DistArray;
use crate::error::DistError;

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
        let message = if to.is_empty() { Vec::new() } else { own.to_vec()? };
        let outgoing: Vec<_> = to.iter().map(|&receiver| (receiver, bytemuck::cast_slice(&message))).collect();
        let len = shape.iter().product::<usize>();
        let mut values = vec![U::zeroed(); from.len() * len];
        // Without elements, all slices are empty.
        let slices =
            values.chunks_mut(len.max(1)).map(bytemuck::cast_slice_mut).chain(iter::repeat_with(|| [].as_mut_slice()));
        let mut incoming: Vec<_> = from.iter().copied().zip(slices).collect();
        self.transport().exchange(&outgoing, &mut incoming)?;
        Ok(self.local().context().shaped_to_device(&values, [&[from.len()], shape].concat())?)
    }
}
