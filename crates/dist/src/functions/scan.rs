//! Running sums along an axis. Each rank scans its part and adds the totals of the ranks before it.

use vkarray::Index;
use vkarray::prelude::*;
use vkarray::primitives::{Reducible, Widen};

use crate::array::DistArray;
use crate::error::DistError;

impl<'t, T: Widen> DistArray<'t, T> {
    /// The sum of each element and the elements before it along an axis, in an array of the same decomposition. Types
    /// are those of [`DeviceNDArray::cumulative_sum`]. Sums of integers are the same with each number of ranks; sums
    /// of floats are the same in each run, and may round in another way with another number of ranks.
    ///
    /// A rank sends the totals of its part to the ranks behind it along the axis. Blocks until those before it have
    /// sent theirs.
    ///
    /// # Errors
    /// The array has not this axis; a rank has ended or disagrees on the call, or a kernel fails.
    pub fn cumulative_sum(&self, axis: usize) -> Result<DistArray<'t, T::Sum>, DistError>
    where
        T::Sum: Reducible<Sum = T::Sum> + vkarray::array::Numeric,
    {
        self.agree(format_args!("cumulative_sum along {axis}"))?;
        self.check_axes(&[axis])?;
        let (divided, rank) = (self.decomposition(), self.transport().rank());
        let result = DistArray::zeros(self.local().context(), self.transport(), divided)?;
        let part = divided.part(rank)?;
        if part.size() == 0 {
            return Ok(result);
        }
        // Ranks at other places along the axis that have elements.
        let mut place = divided.place(rank)?;
        let own_place = place[axis];
        let mut along = |places: std::ops::Range<usize>| -> Vec<usize> {
            let ranks = places.map(|at| {
                place[axis] = at;
                divided.rank_at(&place)
            });
            ranks.collect()
        };
        let parts = divided.grid()[axis].min(divided.shape()[axis]);
        let (before, behind) = (along(0..own_place), along(own_place + 1..parts));
        let own = self.interior().cumulative_sum(axis)?;
        let totals = own.slice_axis(axis, Index::from(part.shape[axis] - 1..part.shape[axis]))?;
        let earlier = self.stacked(&totals, &behind, &before, totals.shape())?;
        if before.is_empty() {
            result.interior().copy_from_device(&own)?;
        } else {
            (&own + &earlier.sum(0)?).assign_to(&result.interior())?;
        }
        Ok(result)
    }
}
