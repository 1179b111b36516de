//! Work on the elements that need no ghost zone, while the elements for the ghost zones travel.

use vkarray::{DeviceNDArray, Element};

use super::DistArray;
use crate::decomposition::Region;
use crate::error::DistError;
use crate::exchange::view;

impl<T: Element> DistArray<'_, T> {
    /// Fills the ghost zones as [`halo`](Self::halo) does, and has the work on the interior done while the messages
    /// travel. `interior` is called once, with the box of elements that are at least the width of the ghost zones away
    /// from the edges of the part along each divided axis, unless there are none; then `boundary` is called for each box of
    /// the others. Boxes count from the first element of the part: [`window`](Self::window) views them.
    ///
    /// `interior` records its kernels when the elements to send are being copied to the host, so the device computes
    /// while the host sends and receives. It must not write to this array, and it must not read ghost zones along divided
    /// axes; those along other axes are filled before.
    ///
    /// ```
    /// use vkarray::prelude::*;
    /// use vkarray_dist::{Border, Decomposition, DistArray, DistError, Region, ThreadRank};
    ///
    /// let ctx = Context::open_default()?;
    /// let ring = Decomposition::over([10], 3)?.ghosts([(1, 1)])?.borders([Border::Periodic])?;
    /// let sums = ThreadRank::run(3, |rank| {
    ///     let x = DistArray::from_fn(&ctx, rank, &ring, |at| at[0] as i32)?;
    ///     let y = DistArray::full(&ctx, rank, &ring, 0)?;
    ///     let add = |piece: &Region| -> Result<(), DistError> {
    ///         let sum = &x.window(piece, &[-1])? + &x.window(piece, &[1])?;
    ///         Ok(sum.assign_to(&y.window(piece, &[0])?)?)
    ///     };
    ///     x.overlap(add, add)?;
    ///     y.gather()
    /// });
    /// let whole = sums.into_iter().next().unwrap()?.unwrap(); // On rank 0.
    /// assert_eq!(whole.as_slice().unwrap(), [10, 2, 4, 6, 8, 10, 12, 14, 16, 8]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    /// The errors of both functions and of [`halo`](Self::halo).
    pub fn overlap(
        &self,
        interior: impl FnOnce(&Region) -> Result<(), DistError>,
        boundary: impl FnMut(&Region) -> Result<(), DistError>,
    ) -> Result<(), DistError> {
        self.agree("overlap")?;
        let (inner, outer) = boxes(&self.part.shape, &self.decomposition.widths_from_others());
        let inside = || if inner.size() > 0 { interior(&inner) } else { Ok(()) };
        self.halo_transfer()?.run_beside(self.transport, inside)?;
        outer.iter().try_for_each(boundary)
    }

    /// A view of the elements beside those of a box of this rank's part, as [`shifted`](Self::shifted) views those
    /// beside all of them. The box counts from the first element of the part.
    ///
    /// # Errors
    /// The box goes beyond the part; and the errors of [`shifted`](Self::shifted).
    pub fn window(&self, piece: &Region, shift: &[isize]) -> Result<DeviceNDArray<T>, DistError> {
        let fits = piece.start.len() == self.part.shape.len()
            && (piece.start.iter().zip(&piece.shape).zip(&self.part.shape))
                .all(|((&start, &len), &own)| start <= own && len <= own - start);
        if !fits {
            return Err(DistError::Window { piece: piece.clone(), part: self.part.shape.clone() });
        }
        Ok(view(&self.shifted(shift)?, piece)?)
    }
}

/// The box of a part whose elements are at least these widths away from its edges, and boxes of all other elements.
fn boxes(shape: &[usize], widths: &[(usize, usize)]) -> (Region, Vec<Region>) {
    let mut rest = Region { start: vec![0; shape.len()], shape: shape.to_vec() };
    let mut outer = Vec::new();
    for (axis, (&len, &(before, after))) in shape.iter().zip(widths).enumerate() {
        let (start, inner) = (before.min(len), len.saturating_sub(before.saturating_add(after)));
        for (first, len) in [(0, start), (start + inner, len - start - inner)] {
            let mut piece = rest.clone();
            (piece.start[axis], piece.shape[axis]) = (first, len);
            outer.push(piece);
        }
        (rest.start[axis], rest.shape[axis]) = (start, inner);
    }
    outer.retain(|piece| piece.size() > 0);
    (rest, outer)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use vkarray::ndarray::{ArrayD, Slice};

    use super::*;

    proptest! {
        #[test]
        fn boxes_cover_a_part_once(axes in prop::collection::vec((0..7_usize, (0..4_usize, 0..4_usize)), 0..4)) {
            let (shape, widths): (Vec<usize>, Vec<_>) = axes.into_iter().unzip();
            let (inner, outer) = boxes(&shape, &widths);
            let mut covered = ArrayD::from_elem(shape.clone(), 0);
            for (mark, piece) in [(10, &inner)].into_iter().chain(outer.iter().map(|piece| (1, piece))) {
                let range = |axis: usize| Slice::from(piece.start[axis]..piece.start[axis] + piece.shape[axis]);
                let mut own = covered.slice_each_axis_mut(|axis| range(axis.axis.index()));
                own += mark;
            }
            for (index, mark) in covered.indexed_iter() {
                let is_inner = (0..shape.len()).all(|axis| {
                    index[axis] >= widths[axis].0 && index[axis] + widths[axis].1 < shape[axis]
                });
                prop_assert_eq!(*mark, if is_inner { 10 } else { 1 });
            }
        }
    }
}
