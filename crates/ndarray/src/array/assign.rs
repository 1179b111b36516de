//! Copies between device arrays: assignment, filling, packing, and reshaping where no view can be had.
//!
//! Every one is asynchronous: it returns when the work is recorded, and later work on the arrays comes after it. What
//! moves is decided in `copy.rs` and its folder. Copies from and to the host are in `transfer.rs`.

use std::sync::Arc;

use vkarray_allocator::{Block, MemoryKind};
use vkarray_driver::Stream;
use vkarray_kernel::{DType, Element};

use super::DeviceNDArray;
use crate::context::BlockElements;
use crate::error::{Error, Result};
use crate::layout::{Layout, LayoutError, Order};

/// Bytes of the pattern that a fill repeats: the widest that a kernel stores at a time.
const PATTERN: usize = 16;

impl<T: Element> DeviceNDArray<T> {
    /// Copies a device array of the same shape into this array, on the default stream. Returns at once.
    ///
    /// # Errors
    ///
    /// As [`DeviceNDArray::copy_from_device_on`].
    pub fn copy_from_device(&self, source: &Self) -> Result<()> {
        self.copy_from_device_on(self.context().default_stream(), source)
    }

    /// Copies a device array of the same shape into this array, in the order of `stream`. Returns at once.
    ///
    /// Either side may have any strides; what lies between this array's elements is not touched. The two may be views
    /// of one array and share elements: as in NumPy, the result is as if the source were copied first.
    ///
    /// # Errors
    ///
    /// [`Error::Layout`] for shapes that differ; [`Error::ReadOnly`]; [`Error::SharedElements`] if several elements of
    /// this array share memory; [`Error::ForeignDevice`]; [`Error::Memory`], [`Error::Kernel`] or [`Error::Driver`] if the
    /// copy cannot be recorded.
    pub fn copy_from_device_on(&self, stream: &Stream, source: &Self) -> Result<()> {
        if self.shape() != source.shape() {
            let (from, to) = (source.shape().to_vec(), self.shape().to_vec());
            return Err(LayoutError::ShapeMismatch { from, to }.into());
        }
        self.check_writable_on(stream)?;
        source.context().check_stream(stream)?;
        self.context().copy_elements(stream, source.elements(), self.elements(), size_of::<T>())
    }

    /// Copies a device array that broadcasts to this array's shape into this array, on the default stream.
    ///
    /// # Errors
    ///
    /// As [`DeviceNDArray::assign_on`].
    pub fn assign(&self, source: &Self) -> Result<()> {
        self.assign_on(self.context().default_stream(), source)
    }

    /// Copies a device array that broadcasts to this array's shape into this array, in the order of `stream`.
    ///
    /// NumPy's `a[...] = b`: leading axes that `source` lacks, and its axes of length one, are repeated; leading axes of
    /// length one that this array lacks are dropped. Otherwise as [`DeviceNDArray::copy_from_device_on`].
    ///
    /// # Errors
    ///
    /// As [`DeviceNDArray::copy_from_device_on`]; [`Error::Layout`] if `source` does not broadcast.
    pub fn assign_on(&self, stream: &Stream, source: &Self) -> Result<()> {
        let n_extra = source.ndim().saturating_sub(self.ndim());
        let extra: Vec<isize> = (0..).take(n_extra).collect();
        let has_ones = source.shape()[..n_extra].iter().all(|&len| len == 1);
        let dropped = if has_ones { source.layout().squeeze(Some(&extra))? } else { source.layout().clone() };
        self.copy_from_device_on(stream, &source.with_layout(dropped.broadcast_to(self.shape())?))
    }

    /// Writes `value` to every element, on the default stream. Returns at once.
    ///
    /// # Errors
    ///
    /// As [`DeviceNDArray::fill_on`].
    pub fn fill(&self, value: T) -> Result<()> {
        self.fill_on(self.context().default_stream(), value)
    }

    /// Writes `value` to every element, in the order of `stream`. Returns at once.
    ///
    /// What lies between the elements is not touched.
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`]; [`Error::SharedElements`] if several elements share memory; [`Error::ForeignDevice`];
    /// [`Error::Memory`], [`Error::Kernel`] or [`Error::Driver`] if the fill cannot be recorded.
    pub fn fill_on(&self, stream: &Stream, value: T) -> Result<()> {
        self.check_writable_on(stream)?;
        if self.size() == 0 {
            return Ok(());
        }
        let bytes = bytemuck::bytes_of(&value);
        let word = repeated_word(bytes);
        match word {
            Some(word) if self.is_whole_block() => return Ok(self.block().fill(stream, word)?),
            _ => {}
        }
        if !PATTERN.is_multiple_of(bytes.len()) {
            let one = self.pattern(stream, bytes, None)?;
            let layout = Layout::contiguous(&[], Order::C)?.broadcast_to(self.shape())?;
            let source = BlockElements { block: &one, layout: &layout };
            return self.context().copy_elements(stream, source, self.elements(), bytes.len());
        }
        let pattern = self.pattern(stream, &bytes.repeat(PATTERN / bytes.len()), word)?;
        self.context().repeat_pattern(stream, &pattern, self.elements(), bytes.len())
    }

    /// This array with its elements packed in the given order: itself if they are, else a copy. On the default stream.
    ///
    /// # Errors
    ///
    /// As [`DeviceNDArray::to_contiguous_on`].
    pub fn to_contiguous(&self, order: Order) -> Result<Self> {
        self.to_contiguous_on(self.context().default_stream(), order)
    }

    /// This array with its elements packed in the given order: itself if they are, else a copy. Returns at once.
    ///
    /// Packed in `A` means in either order, else copied to C; in `K`, in whatever order of axes, else copied with the
    /// axes in the order they have. What is returned shares this array's memory where it is no copy.
    ///
    /// # Errors
    ///
    /// [`Error::ForeignDevice`]; [`Error::Memory`], [`Error::Kernel`] or [`Error::Driver`] if there is no room for the
    /// copy or it cannot be recorded.
    pub fn to_contiguous_on(&self, stream: &Stream, order: Order) -> Result<Self> {
        self.context().check_stream(stream)?;
        let layout = self.layout();
        let is_packed = match order {
            Order::C => layout.is_c_contiguous(),
            Order::F => layout.is_f_contiguous(),
            Order::A => layout.is_c_contiguous() || layout.is_f_contiguous(),
            Order::K => layout.ravel(Order::K).is_ok(),
        };
        if is_packed {
            return Ok(self.clone());
        }
        let copy = match order {
            Order::K => self.context().device_array_like::<T, T>(self)?,
            Order::F => self.context().device_array_with_order::<T>(self.shape(), Order::F)?,
            Order::A | Order::C => self.context().device_array::<T>(self.shape())?,
        };
        copy.copy_from_device_on(stream, self)?;
        Ok(copy)
    }

    /// The elements, in the given order, as `shape`: a view where there is one, else of a copy. On the default stream.
    ///
    /// # Errors
    ///
    /// As [`DeviceNDArray::reshape_copy_on`].
    pub fn reshape_copy(&self, shape: impl AsRef<[isize]>, order: Order) -> Result<Self> {
        self.reshape_copy_on(self.context().default_stream(), shape, order)
    }

    /// The elements, in the given order, as `shape`: a view where there is one, else of a copy. Returns at once.
    ///
    /// NumPy's `reshape`; one length may be -1. [`DeviceNDArray::reshape`] is the one that never copies.
    ///
    /// # Errors
    ///
    /// [`Error::Layout`] if the element counts differ or for order `K`; else as [`DeviceNDArray::to_contiguous_on`].
    pub fn reshape_copy_on(&self, stream: &Stream, shape: impl AsRef<[isize]>, order: Order) -> Result<Self> {
        self.context().check_stream(stream)?;
        match self.layout().reshape(shape.as_ref(), order) {
            Ok(layout) => Ok(self.with_layout(layout)),
            // It says which order `A` came to.
            Err(LayoutError::NeedsCopy { order, .. }) => {
                self.to_contiguous_on(stream, order)?.reshape_with_order(shape, order)
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn elements(&self) -> BlockElements<'_> {
        BlockElements { block: self.block(), layout: self.layout() }
    }

    /// Checks that the array can be written on the stream.
    pub(crate) fn check_writable_on(&self, stream: &Stream) -> Result<()> {
        self.context().check_stream(stream)?;
        self.check_writable()
    }

    /// Checks that the array can be written, element by element.
    pub(crate) fn check_writable(&self) -> Result<()> {
        if !self.is_writable() {
            return Err(Error::ReadOnly { dtype: DType::of::<T>(), shape: self.shape().to_vec() });
        }
        if self.layout().has_internal_overlap() {
            return Err(Error::SharedElements { shape: self.shape().to_vec(), strides: self.strides().to_vec() });
        }
        Ok(())
    }

    fn is_whole_block(&self) -> bool {
        self.nbytes() == self.block().size() && self.layout().ravel(Order::K).is_ok()
    }

    /// A block of these bytes; of words that are all the same, without a word from the host.
    fn pattern(&self, stream: &Stream, bytes: &[u8], word: Option<u32>) -> Result<Arc<Block>> {
        let block = self.context().allocator().allocate(bytes.len() as u64, MemoryKind::Device)?;
        match word {
            Some(word) => block.fill(stream, word)?,
            None => block.copy_from_host(stream, 0, bytes)?,
        }
        Ok(block)
    }
}

/// The four-byte word that, repeated, gives the same bytes as the value repeated.
fn repeated_word(value: &[u8]) -> Option<u32> {
    let first = [0, 1, 2, 3].map(|i| value[i % value.len()]);
    let is_repeated = value.len().is_multiple_of(4) || 4_usize.is_multiple_of(value.len());
    let same = value.iter().enumerate().all(|(i, &byte)| byte == first[i % 4]);
    (is_repeated && same).then(|| u32::from_ne_bytes(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_a_word_when_its_bytes_repeat_every_four() {
        // Bytes of the value, word.
        let cases: &[(&[u8], Option<[u8; 4]>)] = &[
            (&[7], Some([7; 4])),                            // One byte.
            (&[1, 2], Some([1, 2, 1, 2])),                   // Two.
            (&[1, 2, 3, 4], Some([1, 2, 3, 4])),             // A word itself.
            (&[1, 2, 3, 4, 1, 2, 3, 4], Some([1, 2, 3, 4])), // Two equal words.
            (&[1, 2, 3, 4, 1, 2, 3, 5], None),               // Two words that differ.
            (&[0; 12], Some([0; 4])),                        // Zero of a record.
            (&[0, 0, 0], None),                              // Three bytes do not divide a word.
            (&[9, 9, 9, 9, 9, 9], None),                     // Six neither.
        ];
        for (value, word) in cases {
            assert_eq!(repeated_word(value), word.map(u32::from_ne_bytes), "{value:?}");
        }
    }
}
