//! Functions of whole arrays: sums and extremes, which combine the results of the ranks.

use vkarray::prelude::*;
use vkarray::primitives::Reducible;

use crate::array::DistArray;
use crate::error::DistError;

impl<T: Reducible> DistArray<'_, T> {
    /// The sum of all elements, the same on each rank. Each rank adds its part, and rank 0 adds these sums in the
    /// order of the ranks, so that each run has the same result. With another number of ranks, sums of floats may
    /// round in another way: both sums, that of a part and that of the ranks, have the error of [`Reduce::sum`].
    ///
    /// Blocks until all ranks have computed and exchanged their results.
    ///
    /// # Errors
    /// A rank has ended or disagrees on the call, or the reduction fails on this rank or on rank 0.
    pub fn sum(&self) -> Result<T::Sum, DistError>
    where
        T::Sum: Reducible<Sum = T::Sum>,
    {
        self.reduce("sum", |part| part.sum(..), |sums| sums.sum(..))
    }

    /// The least element, NaN if one element is NaN: the same on each rank, and with each number of ranks. Blocks as
    /// [`sum`](Self::sum) does.
    ///
    /// # Errors
    /// The array has no elements; and the errors of [`sum`](Self::sum).
    pub fn min(&self) -> Result<T, DistError> {
        self.reduce("min", |part| part.min(..), |least| least.min(..))
    }

    /// The largest element, by the rules of [`min`](Self::min).
    ///
    /// # Errors
    /// The errors of [`min`](Self::min).
    pub fn max(&self) -> Result<T, DistError> {
        self.reduce("max", |part| part.max(..), |largest| largest.max(..))
    }

    /// Reduces the part of each rank to a number, and the numbers of all ranks that have elements to one.
    fn reduce<U: Element>(
        &self,
        function: &str,
        part: impl Fn(&DeviceNDArray<T>) -> vkarray::Result<DeviceNDArray<U>>,
        all: impl Fn(&DeviceNDArray<U>) -> vkarray::Result<DeviceNDArray<U>>,
    ) -> Result<U, DistError> {
        self.agree(function)?;
        let (rank, size, interior) = (self.transport().rank(), self.transport().size(), self.interior());
        let divided = self.decomposition();
        if divided.shape().contains(&0) {
            // All ranks get the result, or the error, of a reduction of no elements.
            return Ok(part(&interior)?.item()?);
        }
        let own = if interior.size() == 0 { None } else { Some(part(&interior)?.item()?) };
        let to_first = own.map(|own| (0, bytemuck::bytes_of(&own).to_vec())).into_iter().collect();
        let mut from_all = Vec::new();
        for sender in if rank == 0 { 0..size } else { 0..0 } {
            if divided.part(sender)?.size() > 0 {
                from_all.push((sender, size_of::<U>()));
            }
        }
        let results = self.transport().exchange(to_first, &from_all)?;
        let mut to_all = Vec::new();
        if rank == 0 {
            let results: Vec<U> = results.iter().map(|bytes| bytemuck::pod_read_unaligned(bytes)).collect();
            let total = all(&self.local().context().slice_to_device(&results)?)?.item()?;
            to_all = (0..size).map(|receiver| (receiver, bytemuck::bytes_of(&total).to_vec())).collect();
        }
        let total = self.transport().exchange(to_all, &[(0, size_of::<U>())])?;
        Ok(bytemuck::pod_read_unaligned(&total[0]))
    }
}
