//! Products of matrices that are divided along both axes: SUMMA, the product of panels one after the other.

use vkarray::Index;
use vkarray::array::Numeric;
use vkarray::prelude::*;
use vkarray::primitives::Widen;

use crate::array::DistArray;
use crate::decomposition::Decomposition;
use crate::error::DistError;
use crate::exchange::Transfer;

/// Views, each with the rank that sends or receives their elements.
type Views<T> = Vec<(usize, DeviceNDArray<T>)>;

impl<T: Widen + Numeric> DistArray<'_, T> {
    /// The product of two matrices. The result is divided by the grid that [`Decomposition::over`] chooses, and both
    /// matrices are redistributed to this grid.
    ///
    /// The columns of the left matrix and the rows of the right one are taken in panels, each of which one rank of a
    /// row or column of the grid has and sends to the others. Each rank adds the products of its panels, while the next
    /// ones travel, so that it needs memory for two panels of each matrix beside its parts. Integers wrap around and are
    /// the same with each number of ranks; floats are the same in each run, with the sums of a panel rounded as in
    /// [`DeviceNDArray::matmul`] and those of the panels added one after the other. Blocks until all panels have
    /// arrived.
    ///
    /// ```
    /// use vkarray::prelude::*;
    /// use vkarray_dist::{Decomposition, DistArray, DistError, ThreadRank};
    ///
    /// let ctx = Context::open_default()?;
    /// let parts = Decomposition::over([3, 3], 4)?;
    /// let squares = ThreadRank::run(4, |rank| {
    ///     let x = DistArray::from_fn(&ctx, rank, &parts, |at| (at[0] + 2 * at[1]) as i32)?;
    ///     x.matmul(&x)?.gather()
    /// });
    /// let square = squares.into_iter().next().unwrap()?.unwrap(); // On rank 0.
    /// assert_eq!(square.as_slice().unwrap(), [10, 22, 34, 13, 31, 49, 16, 40, 64]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    /// The arrays are not matrices whose shapes fit; a rank has ended or disagrees on the call; or a product fails.
    pub fn matmul(&self, other: &Self) -> Result<Self, DistError> {
        self.agree(format_args!("product with {}", other.decomposition()))?;
        let (&[rows, inner], &[others, columns]) = (self.decomposition().shape(), other.decomposition().shape()) else {
            return Err(self.no_product(other));
        };
        if inner != others {
            return Err(self.no_product(other));
        }
        let divided = Decomposition::over([rows, columns], self.transport().size())?;
        let on_grid =
            |matrix: &Self, shape: [usize; 2]| matrix.redistribute(&Decomposition::with_grid(shape, divided.grid())?);
        let (left, right) = (on_grid(self, [rows, inner])?, on_grid(other, [inner, columns])?);
        let result = Self::zeros(self.local().context(), self.transport(), &divided)?;
        let own = result.interior();
        let (left_parts, right_parts) = (left.decomposition(), right.decomposition());
        let mut bounds: Vec<usize> = left_parts.starts(1).chain(right_parts.starts(0)).collect();
        bounds.sort_unstable();
        bounds.dedup();
        let add_product = |panels: &Option<[DeviceNDArray<T>; 2]>| match panels {
            Some([from_left, from_right]) => Ok((&own + &from_left.matmul(from_right)?).assign_to(&own)?),
            None => Ok(()),
        };
        let mut panels = None;
        for (at, &start) in bounds.iter().enumerate() {
            let len = bounds.get(at + 1).unwrap_or(&inner) - start;
            let [mut sources, mut targets] = left.panel(1, start, len, own.shape())?;
            let [from_right, to_right] = right.panel(0, start, len, own.shape())?;
            sources.extend(from_right);
            targets.extend(to_right);
            let next = [targets[0].1.clone(), targets[1].1.clone()];
            // While these panels travel, the device computes the product of the panels before them.
            Transfer::new(own.context(), self.transport(), sources, targets)?
                .run_beside(self.transport(), || add_product(&panels))?;
            panels = Some(next);
        }
        add_product(&panels)?;
        Ok(result)
    }

    /// What brings a panel to this rank, as the sources and the target of a transfer: elements along an axis, from `start`
    /// on, of the rows or columns of this rank's result. One rank of the line along the axis has them and sends them to the
    /// others.
    fn panel(&self, axis: usize, start: usize, len: usize, result: &[usize]) -> Result<[Views<T>; 2], DistError> {
        let (divided, rank) = (self.decomposition(), self.transport().rank());
        let mut place = divided.place(rank)?;
        let own_place = place[axis];
        let mut index = vec![0; 2];
        index[axis] = start;
        let owner_place = divided.place(divided.owner(&index).unwrap_or(0))?[axis];
        place[axis] = owner_place;
        let from = divided.rank_at(&place);
        let (mut to, mut own) = (Vec::new(), self.interior());
        if own_place == owner_place {
            let first = start - self.offset()[axis];
            own = own.slice_axis(axis, Index::from(first..first + len))?;
            for at in 0..divided.grid()[axis] {
                place[axis] = at;
                to.push(divided.rank_at(&place));
            }
        }
        let mut shape = result.to_vec();
        shape[axis] = len;
        let panel = own.context().device_array(shape)?;
        Ok([to.into_iter().map(|receiver| (receiver, own.clone())).collect(), vec![(from, panel)]])
    }

    fn no_product(&self, other: &Self) -> DistError {
        let [left, right] = [self, other].map(|matrix| matrix.decomposition().shape().to_vec());
        DistError::Product { left, right }
    }
}
