//! Counts of elements in bins. Each rank counts its part, and rank 0 adds the counts.

use std::ops::RangeInclusive;

use vkarray::primitives::Widen;
use vkarray::{DeviceNDArray, prelude::*};

use crate::array::DistArray;
use crate::error::DistError;

impl<T: Widen> DistArray<'_, T> {
    /// How many elements lie in each of `bins` bins of equal width, with the edges, by the rules of
    /// [`DeviceNDArray::histogram`]: the same on each rank, and with each number of ranks. Blocks until all ranks have
    /// counted and exchanged their counts.
    ///
    /// # Errors
    /// There are no bins, or the range descends or is not finite; a rank has ended or disagrees on the call; or a
    /// kernel fails.
    pub fn histogram(&self, bins: usize, range: RangeInclusive<f64>) -> Result<(Vec<u64>, Vec<T::Edge>), DistError> {
        self.agree(format_args!("histogram of {bins} bins between {range:?}"))?;
        let (own, edges): (DeviceNDArray<u32>, _) = self.interior().histogram(bins, range)?;
        let ranks: Vec<usize> = (0..self.transport().size()).collect();
        let all = if self.transport().rank() == 0 { ranks.as_slice() } else { &[] };
        let total = self.stacked(&own, &[0], all, &[bins])?.sum(0)?;
        Ok((self.stacked(&total, all, &[0], &[bins])?.to_vec()?, edges))
    }
}
