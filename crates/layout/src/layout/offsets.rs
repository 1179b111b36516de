//! [`Offsets`]: an iterator over the offsets of all elements.
//!
//! Meant for small arrays on the host and for tests. `runs.rs` is faster where elements are contiguous.

use std::iter::FusedIterator;

use super::{Layout, Shape, advance};

/// The offsets of all elements in C order, in elements. Made by [`Layout::offsets`].
#[derive(Debug, Clone)]
pub struct Offsets {
    layout: Layout,
    index: Shape,
    next: usize,
    n_left: usize,
}

impl Layout {
    /// Iterates over the offsets of all elements, in C order.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order, s};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert_eq!(x.flip(None)?.offsets().collect::<Vec<_>>(), [5, 4, 3, 2, 1, 0]);
    /// # anyhow::Ok(())
    /// ```
    #[must_use]
    pub fn offsets(&self) -> Offsets {
        Offsets {
            layout: self.clone(),
            index: Shape::from_elem(0, self.ndim()),
            next: self.offset,
            n_left: self.size(),
        }
    }
}

impl Iterator for Offsets {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.n_left = self.n_left.checked_sub(1)?;
        let offset = self.next;
        for (axis, at) in self.index.iter_mut().enumerate().rev() {
            let stride = self.layout.strides[axis];
            if *at + 1 < self.layout.shape[axis] {
                *at += 1;
                self.next = advance(self.next, stride, 1);
                break;
            }
            self.next = advance(self.next, stride.wrapping_neg(), *at);
            *at = 0;
        }
        Some(offset)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.n_left, Some(self.n_left))
    }
}

impl ExactSizeIterator for Offsets {}
impl FusedIterator for Offsets {}
