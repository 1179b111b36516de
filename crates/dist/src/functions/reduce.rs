//! Sums, extremes and means. Each rank reduces its part, and one rank of each line of the grid combines these results
//! in the order of the ranks.

use vkarray::prelude::*;
use vkarray::primitives::{Axes, Precise, Reducible};

use crate::array::DistArray;
use crate::decomposition::{Decomposition, Region};
use crate::error::DistError;

impl<'t, T: Reducible> DistArray<'t, T> {
    /// The sum of all elements, the same on each rank. Each rank adds its part, and rank 0 adds these sums in the
    /// order of the ranks, so that each run has the same result. With another number of ranks, sums of floats may
    /// round in another way: both sums, that of a part and that of the ranks, have the error of [`Reduce::sum`].
    /// [`reproducible_sum`](Self::reproducible_sum) has the same bits with each number of ranks.
    ///
    /// Blocks until all ranks have computed and exchanged their results.
    ///
    /// # Errors
    /// A rank has ended or disagrees on the call, or the reduction fails on this rank or on rank 0.
    pub fn sum(&self) -> Result<T::Sum, DistError>
    where
        T::Sum: Reducible<Sum = T::Sum>,
    {
        self.sum_along(&self.all_axes())?.only()
    }

    /// The least element, NaN if one element is NaN: the same on each rank, and with each number of ranks. Blocks as
    /// [`sum`](Self::sum) does.
    ///
    /// # Errors
    /// The array has no elements; and the errors of [`sum`](Self::sum).
    pub fn min(&self) -> Result<T, DistError> {
        self.min_along(&self.all_axes())?.only()
    }

    /// The largest element, by the rules of [`min`](Self::min).
    ///
    /// # Errors
    /// The errors of [`min`](Self::min).
    pub fn max(&self) -> Result<T, DistError> {
        self.max_along(&self.all_axes())?.only()
    }

    /// The mean of all elements, the same on each rank; NaN for no elements. The rules are those of
    /// [`sum`](Self::sum).
    ///
    /// # Errors
    /// The errors of [`sum`](Self::sum).
    pub fn mean(&self) -> Result<T, DistError>
    where
        T: Precise,
    {
        self.mean_along(&self.all_axes())?.only()
    }

    /// The sums along axes, which remain with length one. The grid of ranks remains too: along a summed axis its first
    /// ranks have the sums and the others nothing. [`map`](crate::map) broadcasts the result to the other ranks again.
    /// The rules are those of [`sum`](Self::sum).
    ///
    /// ```
    /// use vkarray::prelude::*;
    /// use vkarray_dist::{Decomposition, DistArray, DistError, ThreadRank, map};
    ///
    /// let ctx = Context::open_default()?;
    /// let parts = Decomposition::over([2, 3], 2)?;
    /// let shares = ThreadRank::run(2, |rank| {
    ///     let x = DistArray::from_fn(&ctx, rank, &parts, |at| (1 + 3 * at[0] + at[1]) as f32)?;
    ///     map((&x, &x.sum_along(&[1])?), |(x, sum)| x / sum * 30.0)?.gather()
    /// });
    /// let rows = shares.into_iter().next().unwrap()?.unwrap(); // On rank 0.
    /// assert_eq!(rows.as_slice().unwrap(), [5.0, 10.0, 15.0, 8.0, 10.0, 12.0]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    /// The array has not these axes, or one is named twice; and the errors of [`sum`](Self::sum).
    pub fn sum_along(&self, axes: &[usize]) -> Result<DistArray<'t, T::Sum>, DistError>
    where
        T::Sum: Reducible<Sum = T::Sum>,
    {
        self.reduce("sum", axes, |part, axes| part.sum(axes), |sums| sums.sum(0))
    }

    /// The least elements along axes, by the rules of [`min`](Self::min) and [`sum_along`](Self::sum_along).
    ///
    /// # Errors
    /// There are no elements along the axes; and the errors of [`sum_along`](Self::sum_along).
    pub fn min_along(&self, axes: &[usize]) -> Result<Self, DistError> {
        self.reduce("min", axes, |part, axes| part.min(axes), |least| least.min(0))
    }

    /// The largest elements along axes, by the rules of [`min`](Self::min) and [`sum_along`](Self::sum_along).
    ///
    /// # Errors
    /// The errors of [`min_along`](Self::min_along).
    pub fn max_along(&self, axes: &[usize]) -> Result<Self, DistError> {
        self.reduce("max", axes, |part, axes| part.max(axes), |largest| largest.max(0))
    }

    /// The means along axes, by the rules of [`mean`](Self::mean) and [`sum_along`](Self::sum_along).
    ///
    /// # Errors
    /// The errors of [`sum_along`](Self::sum_along).
    pub fn mean_along(&self, axes: &[usize]) -> Result<Self, DistError>
    where
        T: Precise,
    {
        let count = T::Precision::nearest(self.count_along(axes)? as f64);
        let sum = |part: &DeviceNDArray<T>, axes| part.cast::<T::Precision>().sum(axes);
        self.reduce("mean", axes, sum, |sums| (sums.sum(0)? / count).cast::<T>().eval())
    }

    /// Reduces the part of each rank, and the results of all ranks, which are stacked along a first axis.
    pub(super) fn reduce<U: Element, V: Element>(
        &self,
        function: &str,
        axes: &[usize],
        part: impl Fn(&DeviceNDArray<T>, Axes) -> vkarray::Result<DeviceNDArray<U>>,
        all: impl Fn(&DeviceNDArray<U>) -> vkarray::Result<DeviceNDArray<V>>,
    ) -> Result<DistArray<'t, V>, DistError> {
        self.agree(format_args!("{function} along {axes:?}"))?;
        self.check_axes(axes)?;
        let (divided, rank, context) = (self.decomposition(), self.transport().rank(), self.local().context());
        let kept = || keepdims(axes);
        if divided.shape().contains(&0) {
            // Each rank gets the error of a reduction of no elements.
            part(&context.zeros(divided.shape())?, kept())?;
        }
        let mut shape = divided.shape().to_vec();
        axes.iter().for_each(|&axis| shape[axis] = 1);
        let results = DistArray::zeros(context, self.transport(), &Decomposition::with_grid(shape, divided.grid())?)?;
        let combiner = |rank| -> Result<Option<usize>, DistError> {
            let Region { mut start, shape } = divided.part(rank)?;
            axes.iter().for_each(|&axis| start[axis] = 0);
            Ok(results.decomposition().owner(&start).filter(|_| !shape.contains(&0)))
        };
        let to: Vec<usize> = combiner(rank)?.into_iter().collect();
        let own = if to.is_empty() { context.zeros([0])? } else { part(&self.interior(), kept())? };
        let target = results.interior();
        let mut from = Vec::new();
        for sender in if target.size() == 0 { 0..0 } else { 0..self.transport().size() } {
            from.extend(combiner(sender)?.filter(|&combiner| combiner == rank).map(|_| sender));
        }
        let stacked = self.stacked(&own, &to, &from, target.shape())?;
        if target.size() > 0 {
            target.copy_from_device(&all(&stacked)?)?;
        }
        Ok(results)
    }
}

impl<T: Element> DistArray<'_, T> {
    /// Refuses axes that the array does not have, or that are named twice.
    pub(super) fn check_axes(&self, axes: &[usize]) -> Result<(), DistError> {
        let ndim = self.decomposition().shape().len();
        let wrong = |(at, axis): (usize, &usize)| *axis >= ndim || axes[..at].contains(axis);
        match axes.iter().enumerate().find(|&axis| wrong(axis)) {
            Some((_, &axis)) => Err(DistError::Axis { axis, axes: axes.to_vec(), ndim }),
            None => Ok(()),
        }
    }

    /// The number of elements of each result of a reduction along these axes.
    pub(super) fn count_along(&self, axes: &[usize]) -> Result<usize, DistError> {
        self.check_axes(axes)?;
        Ok(axes.iter().map(|&axis| self.decomposition().shape()[axis]).product())
    }

    pub(super) fn all_axes(&self) -> Vec<usize> {
        (0..self.decomposition().shape().len()).collect()
    }

    /// The only element of an array that has one, on each rank.
    pub(super) fn only(&self) -> Result<T, DistError> {
        Ok(self.beside(self.decomposition())?.item()?)
    }

    /// The elements that broadcast to this rank's part of an array with the same grid, whose axes have the length of
    /// this array's axes unless that is one. The ranks that have no such elements receive them.
    pub(super) fn beside(&self, other: &Decomposition) -> Result<DeviceNDArray<T>, DistError> {
        self.agree(format_args!("broadcast to {other}"))?;
        let (size, rank, divided) = (self.transport().size(), self.transport().rank(), self.decomposition());
        let wanted = |rank| -> Result<(Vec<usize>, Vec<usize>), DistError> {
            let part = other.part(rank)?;
            let axes = divided.shape().iter().zip(part.start.into_iter().zip(part.shape));
            Ok(axes.map(|(&len, (start, own))| if len == 1 { (0, 1) } else { (start, own) }).unzip())
        };
        let (start, shape) = wanted(rank)?;
        let mut to = Vec::new();
        for receiver in 0..size {
            let (start, _) = wanted(receiver)?;
            to.extend(divided.owner(&start).filter(|&owner| owner == rank).map(|_| receiver));
        }
        let from: Vec<usize> = divided.owner(&start).into_iter().collect();
        let received = self.stacked(&self.interior(), &to, &from, &shape)?;
        if from.is_empty() { Ok(self.local().context().zeros(shape)?) } else { Ok(received.index([0])?) }
    }
}
