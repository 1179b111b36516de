//! How many bytes a layout means, for elements of a size.

use std::ops::Range;

use super::{Layout, LayoutError, Result};

impl Layout {
    /// Bytes of all elements. A broadcast layout counts an element as often as it repeats it, so this may exceed the size of
    /// the block.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order, s};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert_eq!(x.nbytes(4)?, 24);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LayoutError::Overflow`].
    #[inline]
    pub fn nbytes(&self, itemsize: usize) -> Result<u64> {
        self.bytes(self.size(), itemsize)
    }

    /// Bytes of [`Layout::extent`], gaps included.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order, s};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert_eq!(x.slice(&s![.., 0])?.span_bytes(4)?, 16); // Elements 0 to 3.
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LayoutError::Overflow`].
    pub fn span_bytes(&self, itemsize: usize) -> Result<u64> {
        self.bytes(self.extent().len(), itemsize)
    }

    /// [`Layout::extent`] in bytes of the memory, for a layout whose elements are inside it.
    #[doc(hidden)]
    pub fn byte_extent(&self, itemsize: usize) -> Range<u64> {
        let (extent, itemsize) = (self.extent(), itemsize as u64);
        extent.start as u64 * itemsize..extent.end as u64 * itemsize
    }

    /// The size of this many elements in bytes.
    #[doc(hidden)]
    #[inline]
    pub fn bytes(&self, elements: usize, itemsize: usize) -> Result<u64> {
        match (elements as u64).checked_mul(itemsize as u64) {
            Some(bytes) => Ok(bytes),
            None => Err(self.overflow(itemsize)),
        }
    }

    #[cold]
    fn overflow(&self, itemsize: usize) -> LayoutError {
        LayoutError::Overflow { shape: self.shape.to_vec(), itemsize }
    }
}
