//! Broadcasting: the shape that several shapes broadcast to, and the views that have it.
//!
//! A repeated axis has stride 0, so several indices mean one element. Such a view cannot be written, which is decided in
//! `overlap.rs`, the next file to read.

use smallvec::SmallVec;

use super::{Layout, LayoutError, Result, Shape, checked_size};

impl Layout {
    /// Repeats the elements along new leading axes and along axes of length one.
    ///
    /// As in NumPy, every axis of length one gets stride 0, even where its length remains one.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order, s};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert_eq!(x.broadcast_to(&[4, 2, 3])?.strides(), [0, 3, 1]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LayoutError::BroadcastMismatch`] if a length is neither one nor that of `shape`, or `shape` has fewer axes;
    /// [`LayoutError::RankTooLarge`], [`LayoutError::Overflow`].
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Self> {
        checked_size(shape)?;
        let mismatch = || LayoutError::BroadcastMismatch { from: self.shape.to_vec(), to: shape.to_vec() };
        let n_new = shape.len().checked_sub(self.ndim()).ok_or_else(mismatch)?;
        let mut strides = SmallVec::from_elem(0, n_new);
        for (axis, &len) in shape[n_new..].iter().enumerate() {
            match self.shape[axis] {
                1 => strides.push(0),
                own if own == len => strides.push(self.strides[axis]),
                _ => return Err(mismatch()),
            }
        }
        Ok(self.view(SmallVec::from_slice(shape), strides, self.offset))
    }
}

/// The shape that all these shapes broadcast to; `()` for no shapes.
///
/// ```
/// use vkarray_layout::broadcast_shapes;
///
/// assert_eq!(broadcast_shapes(&[&[2, 1], &[3]])?, [2, 3]);
/// # anyhow::Ok(())
/// ```
///
/// # Errors
///
/// [`LayoutError::NoCommonShape`], [`LayoutError::RankTooLarge`], [`LayoutError::Overflow`].
pub fn broadcast_shapes(shapes: &[&[usize]]) -> Result<Vec<usize>> {
    let mut common = Shape::new();
    for &shape in shapes {
        checked_size(shape)?;
        let so_far = common.clone();
        let n_missing = shape.len().saturating_sub(common.len());
        common.insert_many(0, std::iter::repeat_n(1, n_missing));
        let n_new = common.len() - shape.len();
        for (have, &want) in common[n_new..].iter_mut().zip(shape) {
            match (*have, want) {
                (1, _) => *have = want,
                (have, want) if have == want || want == 1 => {}
                _ => return Err(LayoutError::NoCommonShape { left: so_far.to_vec(), right: shape.to_vec() }),
            }
        }
    }
    checked_size(&common)?;
    Ok(common.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_shapes_are_those_of_numpy() {
        type Case<'a> = (&'a [&'a [usize]], Option<&'a [usize]>);
        const CASES: &[Case<'_>] = &[
            (&[], Some(&[])),                                    // No shapes.
            (&[&[2, 3]], Some(&[2, 3])),                         // A single shape.
            (&[&[2, 3], &[3]], Some(&[2, 3])),                   // Aligned at the last axis.
            (&[&[3], &[2, 1]], Some(&[2, 3])),                   // Both are repeated.
            (&[&[], &[4]], Some(&[4])),                          // A scalar broadcasts to any shape.
            (&[&[1], &[0]], Some(&[0])),                         // Length one becomes length zero.
            (&[&[5, 1, 1], &[1, 6, 1], &[7]], Some(&[5, 6, 7])), // Three at a time.
            (&[&[0], &[2]], None),                               // Length zero does not become another.
            (&[&[2, 3], &[2]], None),                            // Not aligned at the first axis.
            (&[&[usize::MAX], &[1]], None),                      // Too long to address.
            (&[&[1 << 40, 1], &[1 << 40]], None),                // Too many elements together.
        ];
        for &(shapes, expected) in CASES {
            assert_eq!(broadcast_shapes(shapes).ok().as_deref(), expected, "{shapes:?}");
        }
    }
}
