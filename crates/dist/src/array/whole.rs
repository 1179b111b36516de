//! The whole array, or a box of it, on one rank.

use std::ops::Range;

use vkarray::Element;
use vkarray::array::array_text;
use vkarray::ndarray::{ArrayD, Slice};

use super::DistArray;
use crate::decomposition::Region;
use crate::error::DistError;
use crate::exchange::shaped;
use crate::transport::received;

impl<T: Element> DistArray<'_, T> {
    /// The whole array, on rank 0; the other ranks get `None`. Blocks until the parts have been sent and received. The
    /// host of rank 0 needs memory for the array at least twice.
    ///
    /// # Errors
    /// A rank has ended or disagrees on the call, or a copy fails.
    pub fn gather(&self) -> Result<Option<ArrayD<T>>, DistError> {
        self.agree("gather")?;
        let shape = self.decomposition.shape().to_vec();
        self.on_first(&Region { start: vec![0; shape.len()], shape })
    }

    /// The whole array as NumPy prints it, on rank 0; the other ranks get `None`. Of an array with more than a thousand
    /// elements, only the first three and the last three on each axis are sent and printed. Blocks as
    /// [`gather`](Self::gather) does.
    ///
    /// ```
    /// use vkarray::prelude::*;
    /// use vkarray_dist::{Decomposition, DistArray, DistError, ThreadRank};
    ///
    /// let ctx = Context::open_default()?;
    /// let parts = Decomposition::over([2000], 3)?;
    /// let texts = ThreadRank::run(3, |rank| DistArray::from_fn(&ctx, rank, &parts, |at| at[0] as u32)?.text());
    /// let text = texts.into_iter().next().unwrap()?; // On rank 0.
    /// assert_eq!(text.unwrap(), "[   0    1    2 ... 1997 1998 1999]");
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`gather`](Self::gather).
    pub fn text(&self) -> Result<Option<String>, DistError> {
        self.agree("text")?;
        let read = |ranges: &[Range<usize>]| {
            let (start, shape): (Vec<_>, Vec<_>) = ranges.iter().map(|range| (range.start, range.len())).unzip();
            let zeros = ArrayD::from_elem(shape.as_slice(), T::zeroed());
            Ok::<_, DistError>(self.on_first(&Region { start, shape })?.unwrap_or(zeros))
        };
        let text = array_text(self.decomposition.shape(), read)?;
        Ok((self.transport.rank() == 0).then_some(text))
    }

    /// One element, on each rank: that of the rank that owns it. Blocks until it has arrived.
    ///
    /// # Errors
    /// There is no such element; a rank has ended or disagrees on the call, or a copy fails.
    pub fn get(&self, index: &[usize]) -> Result<T, DistError> {
        self.agree(format_args!("get {index:?}"))?;
        let Some(owner) = self.decomposition.owner(index) else {
            return Err(DistError::Index { index: index.to_vec(), shape: self.decomposition.shape().to_vec() });
        };
        let (mut element, mut to) = (T::zeroed(), 0..0);
        if owner == self.transport.rank() {
            let place: Vec<usize> = index.iter().zip(&self.part.start).map(|(at, first)| at - first).collect();
            (element, to) = (self.interior.get(place.as_slice())?, 0..self.transport.size());
        }
        let outgoing: Vec<_> = to.map(|rank| (rank, bytemuck::bytes_of(&element))).collect();
        let mut received = T::zeroed();
        self.transport.exchange(&outgoing, &mut [(owner, bytemuck::bytes_of_mut(&mut received))])?;
        Ok(received)
    }

    /// A box of the global array, on rank 0.
    fn on_first(&self, region: &Region) -> Result<Option<ArrayD<T>>, DistError> {
        let (rank, owners) = (self.transport.rank(), self.decomposition.owners(region));
        let mut parts = Vec::new();
        for own in owners.iter().filter(|own| own.rank == rank) {
            parts.push(self.global(&own.region)?.to_vec()?);
        }
        let outgoing: Vec<_> = parts.iter().map(|part| (0, bytemuck::cast_slice(part))).collect();
        let incoming: Vec<_> = owners.iter().map(|own| (own.rank, own.region.size() * size_of::<T>())).collect();
        let received = received(self.transport, &outgoing, if rank == 0 { &incoming } else { &[] })?;
        if rank != 0 {
            return Ok(None);
        }
        let mut whole = ArrayD::from_elem(region.shape.as_slice(), T::zeroed());
        for (own, bytes) in owners.iter().zip(received) {
            let (values, place) =
                (bytemuck::pod_collect_to_vec::<u8, T>(&bytes), own.region.counted_from(&region.start));
            let range = |axis: usize| Slice::from(place.start[axis]..place.start[axis] + place.shape[axis]);
            whole.slice_each_axis_mut(|axis| range(axis.axis.index())).assign(&shaped(&place.shape, &values));
        }
        Ok(Some(whole))
    }
}
