//! Borders: which element each place of a padded axis has.

use vkarray_kernel::Element;

use super::take_places;
use crate::array::DeviceNDArray;
use crate::error::{Error, Result};
use crate::functions::operand::{sum_of_lengths, to_u32};

/// What is added around an array: the modes of NumPy's `pad`.
///
/// ```
/// use vkarray::prelude::*;
/// use vkarray::primitives::PadMode;
///
/// # fn main() -> anyhow::Result<()> {
/// let ctx = Context::open_default()?;
/// let x = ctx.arange(1, 4, 1)?;
/// assert_eq!(x.pad(&[(2, 2)], PadMode::Edge)?.to_vec()?, [1, 1, 1, 2, 3, 3, 3]);
/// assert_eq!(x.pad(&[(2, 2)], PadMode::Wrap)?.to_vec()?, [2, 3, 1, 2, 3, 1, 2]);
/// assert_eq!(x.pad(&[(2, 2)], PadMode::Symmetric)?.to_vec()?, [2, 1, 1, 2, 3, 3, 2]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PadMode<T> {
    /// A given value.
    Constant(T),
    /// The first element before the axis, and the last element behind it.
    Edge,
    /// The elements in reverse order, without the one at the edge.
    Reflect,
    /// The elements in reverse order, with the one at the edge.
    Symmetric,
    /// The elements from the other end.
    Wrap,
}

impl<T> PadMode<T> {
    /// The element at a place of the padded axis, counted from the first element; the axis has elements.
    fn source(&self, place: isize, length: isize) -> isize {
        let mirrored = |period: isize, last: isize| {
            let at = place.rem_euclid(period.max(1));
            if at < length { at } else { last - at }
        };
        match self {
            Self::Constant(_) | Self::Edge => place.clamp(0, length - 1),
            Self::Reflect => mirrored(2 * length - 2, 2 * length - 2),
            Self::Symmetric => mirrored(2 * length, 2 * length - 1),
            Self::Wrap => place.rem_euclid(length),
        }
    }
}

impl<T: Element> DeviceNDArray<T> {
    /// The array with elements added before and after each axis: NumPy's `pad`. `widths` has the number before and the
    /// number after each axis.
    ///
    /// ```
    /// use vkarray::prelude::*;
    /// use vkarray::primitives::PadMode;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(1, 4, 1)?;
    /// assert_eq!(x.pad(&[(1, 2)], PadMode::Constant(0))?.to_vec()?, [0, 1, 2, 3, 0, 0]);
    /// assert_eq!(x.pad(&[(2, 1)], PadMode::Reflect)?.to_vec()?, [3, 2, 1, 2, 3, 2]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Shapes`](crate::Error::Shapes) if there is not one pair for each axis;
    /// [`Error::EmptyAxis`](crate::Error::EmptyAxis) if an axis without elements is extended by copies of its elements;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    pub fn pad(&self, widths: &[(usize, usize)], mode: PadMode<T>) -> Result<DeviceNDArray<T>> {
        let (array, stream) = (self, self.stream());
        if widths.len() != array.ndim() {
            return Err(Error::shapes("pad", array.shape(), &[widths.len()]));
        }
        if let PadMode::Constant(value) = mode {
            let padded = |(&length, &(before, after)): (&usize, &(usize, usize))| {
                length.saturating_add(before).saturating_add(after)
            };
            let shape: Vec<usize> = array.shape().iter().zip(widths).map(padded).collect();
            let out = array.context().device_array(shape)?;
            out.on(stream).fill(value)?;
            let mut inner = out.clone();
            for (axis, (&length, &(before, _))) in (0..).zip(array.shape().iter().zip(widths)) {
                let start = before.cast_signed();
                inner = inner.slice_axis(axis, start..start + length.cast_signed())?;
            }
            inner.on(stream).copy_from_device(array)?;
            return Ok(out);
        }
        let mut out = None;
        for (axis, &(before, after)) in widths.iter().enumerate().filter(|(_, width)| **width != (0, 0)) {
            let length = array.shape()[axis];
            if length == 0 {
                return Err(Error::EmptyAxis { operation: "pad", indices: before.saturating_add(after) });
            }
            let n_places = sum_of_lengths([length, before, after], array.shape())?;
            to_u32(n_places)?;
            let (first, end) = (-before.cast_signed(), (length + after).cast_signed());
            let place = |at| u32::try_from(mode.source(at, length.cast_signed())).expect("a place of the axis");
            let places = (first..end).map(place);
            out = Some(take_places(&out.as_ref().unwrap_or(array).on(stream), n_places, places, axis)?);
        }
        match out {
            Some(out) => Ok(out),
            None => self.copy(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_beyond_the_edges_have_the_elements_that_numpy_gives_them() {
        // numpy.pad(numpy.arange(n), (5, 5), mode)
        let cases: [(PadMode<i32>, isize, &[isize]); 9] = [
            (PadMode::Edge, 3, &[0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2, 2]),
            (PadMode::Reflect, 3, &[1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1]),
            (PadMode::Symmetric, 3, &[1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1]),
            (PadMode::Wrap, 3, &[1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1]),
            (PadMode::Edge, 1, &[0; 11]),
            (PadMode::Reflect, 1, &[0; 11]),
            (PadMode::Symmetric, 1, &[0; 11]),
            (PadMode::Wrap, 1, &[0; 11]),
            (PadMode::Reflect, 2, &[1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0]),
        ];
        for (mode, length, expected) in cases {
            let found: Vec<isize> = (-5..length + 5).map(|place| mode.source(place, length)).collect();
            assert_eq!(found, expected, "{mode:?} {length}");
        }
    }
}
