//! Copies on the device: assignment, filling, contiguous copies, and reshaping where there is no view.
//!
//! All copies are asynchronous: they return when the work is recorded, and later work on the arrays is ordered after
//! the copy. The folder `copy/` decides how elements are copied. Copies between host and device are in `transfer.rs`.

use std::sync::Arc;

use vkarray_allocator::{Block, MemoryKind};
use vkarray_kernel::{DType, Element};
use vkarray_layout::{IntoReshape, Layout, LayoutError, Order};

use super::DeviceNDArray;
use crate::context::BlockElements;
use crate::error::{Error, Result};

/// Bytes of the pattern that a fill repeats: as many bytes as a kernel stores at a time.
const PATTERN: usize = 16;

impl<T: Element> DeviceNDArray<T> {
    /// Copies a device array of the same shape into this array, on the default stream. Returns at once.
    ///
    /// Either side may have any strides; memory between this array's elements is not changed. The two arrays may be
    /// views of one array and share elements: as in NumPy, the result is as if the source were copied first.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let (x, y) = (ctx.arange(0, 4, 1)?, ctx.zeros::<i32>(4)?);
    /// y.copy_from_device(&x.slice(s![..;-1])?)?;
    /// assert_eq!(y.to_vec()?, [3, 2, 1, 0]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`] if the shapes differ; [`Error::ReadOnly`]; [`Error::SharedElements`] if several elements of this
    /// array share memory; [`Error::ForeignDevice`]; [`Error::Memory`], [`Error::Kernel`] or [`Error::Driver`] if the copy
    /// cannot be recorded.
    pub fn copy_from_device(&self, source: &Self) -> Result<()> {
        if self.shape() != source.shape() {
            let (from, to) = (source.shape().to_vec(), self.shape().to_vec());
            return Err(LayoutError::ShapeMismatch { from, to }.into());
        }
        self.check_writable()?;
        source.context().check_stream(self.stream())?;
        self.context().copy_elements(self.stream(), source.elements(), self.elements(), size_of::<T>())
    }

    /// Copies a device array that broadcasts to this array's shape into this array, on the default stream. Returns at once.
    ///
    /// NumPy's `a[...] = b`: axes that `source` lacks in front, and its axes of length one, are repeated; axes of
    /// length one that `source` has in front of this array's axes are removed. Strides and shared elements are treated
    /// as in [`DeviceNDArray::copy_from_device`].
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let (row, matrix) = (ctx.slice_to_device(&[1.0_f32, 2.0])?, ctx.zeros::<f32>([3, 2])?);
    /// matrix.assign(&row)?;
    /// assert_eq!(matrix.to_vec()?, [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`] if `source` does not broadcast; and the errors of [`DeviceNDArray::copy_from_device`].
    pub fn assign(&self, source: &Self) -> Result<()> {
        if source.shape() == self.shape() {
            return self.copy_from_device(source);
        }
        let n_extra = source.ndim().saturating_sub(self.ndim());
        let extra: Vec<isize> = (0..).take(n_extra).collect();
        let has_ones = source.shape()[..n_extra].iter().all(|&len| len == 1);
        let squeezed = if has_ones { source.layout().squeeze(Some(&extra))? } else { source.layout().clone() };
        self.copy_from_device(&source.with_layout(squeezed.broadcast_to(self.shape())?))
    }

    /// Writes `value` to every element, on the default stream. Returns at once. Memory between the elements is not changed.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<i32>(5)?;
    /// x.slice(s![1..;2])?.fill(7)?;
    /// assert_eq!(x.to_vec()?, [0, 7, 0, 7, 0]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`]; [`Error::SharedElements`] if several elements share memory; [`Error::Memory`],
    /// [`Error::Kernel`] or [`Error::Driver`] if the fill cannot be recorded.
    pub fn fill(&self, value: T) -> Result<()> {
        self.check_writable()?;
        let stream = self.stream();
        if self.size() == 0 {
            return Ok(());
        }
        let bytes = bytemuck::bytes_of(&value);
        let word = repeated_word(bytes);
        if let Some(word) = word
            && self.nbytes() == self.block().size()
            && self.layout().ravel(Order::K).is_ok()
        {
            return Ok(self.block().fill(stream, word)?);
        }
        if !PATTERN.is_multiple_of(bytes.len()) {
            let one = self.pattern(bytes, None)?;
            let layout = Layout::contiguous(&[], Order::C)?.broadcast_to(self.shape())?;
            let source = BlockElements { block: &one, layout: &layout };
            return self.context().copy_elements(stream, source, self.elements(), bytes.len());
        }
        let pattern = self.pattern(&bytes.repeat(PATTERN / bytes.len()), word)?;
        self.context().repeat_pattern(stream, &pattern, self.elements(), bytes.len())
    }

    /// A copy of the elements in new memory, on the default stream. Returns at once.
    ///
    /// NumPy's `copy` with order 'K': the copy is contiguous, with its axes in the order of this array's strides. A
    /// [clone](Clone::clone) is another handle of the same memory.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<i32>(3)?;
    /// let (handle, copy) = (x.clone(), x.copy()?);
    /// x.fill(7)?;
    /// assert_eq!((handle.to_vec()?, copy.to_vec()?), (vec![7; 3], vec![0; 3]));
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`DeviceNDArray::to_contiguous`].
    pub fn copy(&self) -> Result<Self> {
        let mut copy = self.copied(Order::K)?;
        copy.stream = None;
        Ok(copy)
    }

    /// This array if its elements are contiguous in the given order, otherwise a contiguous copy, on the default stream.
    /// Returns at once.
    ///
    /// `A` accepts C and F order and copies to C; `K` accepts any order of axes and copies with the order that they have.
    /// Without a copy, the result shares this array's memory; [`DeviceNDArray::copy`] always copies.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0, 6, 1)?.reshape([2, 3])?.t();
    /// assert!(!x.is_c_contiguous());
    /// let copy = x.to_contiguous(Order::C)?;
    /// assert!(copy.is_c_contiguous());
    /// assert_eq!(copy.to_vec()?, [0, 3, 1, 4, 2, 5]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Memory`], [`Error::Kernel`] or [`Error::Driver`] if there is no memory for the copy or it cannot be
    /// recorded.
    #[doc(alias = "ascontiguousarray")]
    #[doc(alias = "asfortranarray")]
    pub fn to_contiguous(&self, order: Order) -> Result<Self> {
        self.check_stream()?;
        let layout = self.layout();
        let is_contiguous = match order {
            Order::C => layout.is_c_contiguous(),
            Order::F => layout.is_f_contiguous(),
            Order::A => layout.is_c_contiguous() || layout.is_f_contiguous(),
            Order::K => layout.ravel(Order::K).is_ok(),
        };
        if is_contiguous { Ok(self.clone()) } else { self.copied(order) }
    }

    /// Gives the elements, in the given order, another shape: a view where possible, otherwise a copy on the default stream.
    /// Returns at once.
    ///
    /// NumPy's `reshape`; one length may be -1. [`DeviceNDArray::reshape`] never copies.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0, 6, 1)?.reshape([2, 3])?.t();
    /// assert!(x.reshape(-1).is_err());
    /// assert_eq!(x.reshape_copy(-1, Order::C)?.to_vec()?, [0, 3, 1, 4, 2, 5]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`] if the numbers of elements differ or for order `K`; and the errors of
    /// [`DeviceNDArray::to_contiguous`].
    pub fn reshape_copy(&self, shape: impl IntoReshape, order: Order) -> Result<Self> {
        self.check_stream()?;
        let shape = shape.into_reshape();
        match self.layout().reshape(shape.as_slice(), order) {
            Ok(layout) => Ok(self.with_layout(layout)),
            // The error names the order that `A` stands for.
            Err(LayoutError::NeedsCopy { order, .. }) => {
                self.to_contiguous(order)?.reshape_with_order(shape.as_slice(), order)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Fills a new array. The host writes a few bytes over the bus itself, which takes less time than a command on the
    /// device between kernels.
    pub(super) fn fill_new(&self, value: T) -> Result<()> {
        let (stream, start) = (self.context().default_stream(), self.byte_offset());
        let range = start..start + self.nbytes();
        if self.block().fill_in_place(stream, range, bytemuck::bytes_of(&value))? { Ok(()) } else { self.fill(value) }
    }

    pub(crate) fn elements(&self) -> BlockElements<'_> {
        BlockElements { block: self.block(), layout: self.layout() }
    }

    /// Checks that the array can be written: that it is not read-only, that each element can be written on its own, and
    /// that its stream belongs to its device.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let row = ctx.zeros::<f32>(3)?;
    /// assert!(row.check_writable().is_ok() && row.broadcast_to([2, 3])?.check_writable().is_err());
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::ForeignDevice`] for a stream of another device; [`Error::ReadOnly`]; [`Error::SharedElements`] if several
    /// elements share memory.
    pub fn check_writable(&self) -> Result<()> {
        self.check_stream()?;
        if !self.is_writable() {
            return Err(Error::ReadOnly { dtype: DType::of::<T>(), shape: self.shape().to_vec() });
        }
        if self.layout().has_internal_overlap() {
            return Err(Error::SharedElements { shape: self.shape().to_vec(), strides: self.strides().to_vec() });
        }
        Ok(())
    }

    /// A contiguous copy with the stream of this array. With [`Order::K`] its axes are in the order that they have in
    /// memory.
    pub(crate) fn copied(&self, order: Order) -> Result<Self> {
        let mut copy = match order {
            Order::K => self.context().device_array_like(self)?,
            Order::F => self.context().device_array_with_order(self.shape(), Order::F)?,
            Order::A | Order::C => self.context().device_array(self.shape())?,
        };
        copy.stream.clone_from(&self.stream);
        copy.copy_from_device(self)?;
        Ok(copy)
    }

    /// A block with these bytes. Bytes that repeat a word are written by the device; other bytes are copied from the
    /// host.
    fn pattern(&self, bytes: &[u8], word: Option<u32>) -> Result<Arc<Block>> {
        let block = self.context().allocator().allocate(bytes.len() as u64, MemoryKind::Device)?;
        match word {
            Some(word) => block.fill(self.stream(), word)?,
            None => block.copy_from_host(self.stream(), 0, bytes)?,
        }
        Ok(block)
    }
}

/// The four-byte word whose repetition gives the same bytes as repetitions of the value.
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
    fn a_value_whose_bytes_repeat_every_four_is_a_word() {
        // The bytes of the value, and the word.
        let cases: &[(&[u8], Option<[u8; 4]>)] = &[
            (&[7], Some([7; 4])),                            // One byte.
            (&[1, 2], Some([1, 2, 1, 2])),                   // Two.
            (&[1, 2, 3, 4], Some([1, 2, 3, 4])),             // A word itself.
            (&[1, 2, 3, 4, 1, 2, 3, 4], Some([1, 2, 3, 4])), // Two equal words.
            (&[1, 2, 3, 4, 1, 2, 3, 5], None),               // Two different words.
            (&[0; 12], Some([0; 4])),                        // A record of zeros.
            (&[0, 0, 0], None),                              // Three bytes do not divide a word.
            (&[9, 9, 9, 9, 9, 9], None),                     // Nor do six.
        ];
        for (value, word) in cases {
            assert_eq!(repeated_word(value), word.map(u32::from_ne_bytes), "{value:?}");
        }
    }
}
