//! Sorting: of one axis that is divided among the ranks by samples, of other arrays along an axis that is made whole.

use vkarray::prelude::*;
use vkarray::primitives::{Side, Widen};

use super::cuts::{Count, cuts};
use crate::array::DistArray;
use crate::decomposition::{Decomposition, Region};
use crate::error::DistError;
use crate::exchange::Transfer;

/// Samples of each rank for each rank: parts differ by about one in this number from their mean.
const SAMPLES: usize = 16;

impl<T: Widen> DistArray<'_, T> {
    /// A sorted copy, ascending along an axis, in the same decomposition; its ghost zones are zeros. The order is that
    /// of [`DeviceNDArray::sort`], and the bits are the same with each number of ranks.
    ///
    /// An array of one axis is sorted by samples: each rank sorts its part, and samples of all parts divide the
    /// elements among the ranks. Equal elements are shared out among ranks, except for zeros and NaN of floats, which
    /// differ in their bits. Each element crosses twice at most, and a rank needs memory for about three times its
    /// part. In an array of several axes, each rank gets whole rows along the axis, sorts them and sends them back.
    ///
    /// Blocks until all ranks have exchanged their elements.
    ///
    /// # Errors
    /// The array has not this axis; a rank has ended or disagrees on the call, or a kernel fails.
    pub fn sort(&self, axis: usize) -> Result<Self, DistError> {
        self.agree(format_args!("sort along {axis}"))?;
        self.check_axes(&[axis])?;
        let divided = self.decomposition();
        let result = Self::zeros(self.local().context(), self.transport(), divided)?;
        match divided.shape() {
            [] | [0] => return Ok(result),
            [_] => return self.sort_by_samples(&result).map(|()| result),
            _ => {}
        }
        let rows = self.redistribute(&whole_along(divided, axis)?)?;
        let sorted = rows.interior().sort(axis)?;
        result.receive(&sorted, |rank| Ok(rows.decomposition().part(rank)?))?;
        Ok(result)
    }

    fn sort_by_samples(&self, result: &Self) -> Result<(), DistError> {
        let size = self.transport().size();
        let sorted = self.interior().sort(0)?;
        let splitters = self.splitters(&sorted)?;
        let cuts = self.all_cuts(&sorted, &splitters)?;
        // What each rank gets: the elements between two cuts of all ranks.
        let starts: Vec<usize> = (0..=size).map(|at| cuts.iter().map(|own| own[at]).sum()).collect();
        let rank = self.transport().rank();
        let bucket = self.local().context().zeros::<T>([starts[rank + 1] - starts[rank]])?;
        let piece =
            |array: &DeviceNDArray<T>, start: usize, len: usize| array.slice_axis(0, Index::from(start..start + len));
        let sources = (0..size)
            .map(|at| Ok((at, piece(&sorted, cuts[rank][at], cuts[rank][at + 1] - cuts[rank][at])?)))
            .collect::<Result<_, DistError>>()?;
        let mut place = 0;
        let targets = (cuts.iter().enumerate())
            .map(|(sender, own)| {
                let len = own[rank + 1] - own[rank];
                place += len;
                Ok((sender, piece(&bucket, place - len, len)?))
            })
            .collect::<Result<_, DistError>>()?;
        Transfer::new(bucket.context(), self.transport(), sources, targets)?.run(self.transport())?;
        let bucket = bucket.sort(0)?;
        result.receive(&bucket, |rank| {
            Ok(Region { start: vec![starts[rank]], shape: vec![starts[rank + 1] - starts[rank]] })
        })
    }

    /// One element between each two neighbouring ranks, from samples of all sorted parts.
    fn splitters(&self, sorted: &DeviceNDArray<T>) -> Result<DeviceNDArray<T>, DistError> {
        let (size, len) = (self.transport().size(), self.decomposition().shape()[0]);
        // Parts differ by one element at most. Where some are empty, the first ones have one element.
        let (from, shortest) = (size.min(len), (len / size).max(1));
        let count = (SAMPLES * size).min(shortest);
        let step = shortest / count;
        let samples = match sorted.size() {
            0 => sorted.clone(),
            _ => sorted
                .slice_axis(0, Index::stepped(step / 2.., step.cast_signed()))?
                .slice_axis(0, Index::from(..count))?,
        };
        let (all, ranks) = ((0..size).collect::<Vec<_>>(), (0..from).collect::<Vec<_>>());
        let samples = self.stacked(&samples, if sorted.size() > 0 { &all } else { &[] }, &ranks, &[count])?;
        let samples = samples.reshape([from * count])?.sort(0)?.to_vec()?;
        let at = |rank: usize| samples.get(rank * samples.len() / size).copied();
        Ok(self.local().context().slice_to_device(&(1..size).filter_map(at).collect::<Vec<_>>())?)
    }

    /// For each rank the cuts of its sorted part: its first element, one place for each splitter, and its end.
    fn all_cuts(&self, sorted: &DeviceNDArray<T>, splitters: &DeviceNDArray<T>) -> Result<Vec<Vec<usize>>, DistError> {
        let (divided, size) = (self.decomposition(), self.transport().size());
        let ranks: Vec<usize> = (0..size).collect();
        let below = sorted.searchsorted(splitters, Side::Left)?;
        let mut upto = sorted.searchsorted(splitters, Side::Right)?;
        if matches!(DType::of::<T>(), DType::F16 | DType::BF16 | DType::F32 | DType::F64) {
            // Zeros of both signs are equal here, and so are all NaN, but the sort puts them in order.
            let is_one_number = splitters.equal(splitters).logical_and(splitters.not_equal(T::zeroed()));
            upto = is_one_number.select(&upto, &below).eval()?;
        }
        let counts = vkarray::primitives::stack(&[&below, &upto], 0)?;
        let shape = counts.shape().to_vec();
        let counts: Vec<u32> = self.stacked(&counts, &ranks, &ranks, &shape)?.to_vec()?;
        let n_splitters = splitters.size();
        let count = |rank: usize, splitter: usize| {
            let at = |side: usize| counts[(rank * 2 + side) * n_splitters + splitter] as usize;
            Count { below: at(0), upto: at(1) }
        };
        let mut all = vec![vec![0]; size];
        for splitter in 0..n_splitters {
            let counts: Vec<Count> = ranks.iter().map(|&rank| count(rank, splitter)).collect();
            let ideal = divided.part(splitter + 1)?.start[0];
            all.iter_mut().zip(cuts(&counts, ideal)).for_each(|(own, cut)| own.push(cut));
        }
        for (own, &rank) in all.iter_mut().zip(&ranks) {
            own.push(divided.part(rank)?.shape[0]);
        }
        Ok(all)
    }
}

/// A decomposition for as many ranks, in which no rank has a part of a row along the axis.
fn whole_along(divided: &Decomposition, axis: usize) -> Result<Decomposition, DistError> {
    let mut shape = divided.shape().to_vec();
    shape.remove(axis);
    let mut grid = Decomposition::over(shape, divided.ranks())?.grid().to_vec();
    grid.insert(axis, 1);
    Ok(Decomposition::with_grid(divided.shape(), grid)?)
}
