//! How arrays come to be: uninitialised, filled, or from host data.

use ndarray::{ArrayBase, Data, Dimension};
use vkarray_allocator::{Holder, MemoryKind};
use vkarray_driver::Stream;
use vkarray_kernel::Element;

use crate::array::DeviceNDArray;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::layout::{Layout, Order};

impl Context {
    /// Creates an array in C order. Its contents are undefined. Returns at once.
    ///
    /// # Errors
    ///
    /// [`Error::Layout`] if the shape cannot be addressed, [`Error::Memory`] if there is no room.
    pub fn device_array<T: Element>(&self, shape: impl AsRef<[usize]>) -> Result<DeviceNDArray<T>> {
        self.device_array_with_order(shape, Order::C)
    }

    /// Creates an array in the given order. Its contents are undefined. Returns at once.
    ///
    /// # Errors
    ///
    /// As [`Context::device_array`].
    pub fn device_array_with_order<T: Element>(
        &self,
        shape: impl AsRef<[usize]>,
        order: Order,
    ) -> Result<DeviceNDArray<T>> {
        self.allocate(Layout::contiguous(shape.as_ref(), order)?)
    }

    /// Creates an array of the same shape, packed in the order of `like`'s strides. Its contents are undefined.
    ///
    /// # Errors
    ///
    /// As [`Context::device_array`].
    pub fn device_array_like<T: Element, U: Element>(&self, like: &DeviceNDArray<U>) -> Result<DeviceNDArray<T>> {
        self.allocate(like.layout().like())
    }

    /// Creates an array of zeros in C order, on the default stream. Returns at once.
    ///
    /// # Errors
    ///
    /// As [`Context::device_array`].
    pub fn zeros<T: Element>(&self, shape: impl AsRef<[usize]>) -> Result<DeviceNDArray<T>> {
        self.full(shape, T::zeroed())
    }

    /// Creates an array in C order that holds `value` everywhere, on the default stream.
    ///
    /// Returns at once for values whose bytes repeat every four; else the values are sent from the host.
    ///
    /// # Errors
    ///
    /// As [`Context::device_array`].
    pub fn full<T: Element>(&self, shape: impl AsRef<[usize]>, value: T) -> Result<DeviceNDArray<T>> {
        let array = self.device_array::<T>(shape)?;
        match repeated_word(bytemuck::bytes_of(&value)) {
            Some(word) => array.block().fill(self.default_stream(), word)?,
            None => {
                let values = vec![value; array.size()];
                array.block().copy_from_host(self.default_stream(), 0, bytemuck::cast_slice(&values))?;
            }
        }
        Ok(array)
    }

    /// Copies a host array to the device, on the default stream. Returns when the host array has been read.
    ///
    /// C and F order are kept; an array with gaps or reversed axes is packed in C order.
    ///
    /// # Errors
    ///
    /// As [`Context::device_array`], and [`Error::Driver`] if sending fails.
    pub fn to_device<T, S, D>(&self, host: &ArrayBase<S, D>) -> Result<DeviceNDArray<T>>
    where
        T: Element,
        S: Data<Elem = T>,
        D: Dimension,
    {
        self.to_device_on(self.default_stream(), host)
    }

    /// Copies a host array to the device, in the order of `stream`. Otherwise as [`Context::to_device`].
    ///
    /// # Errors
    ///
    /// As [`Context::to_device`], and [`Error::ForeignDevice`].
    pub fn to_device_on<T, S, D>(&self, stream: &Stream, host: &ArrayBase<S, D>) -> Result<DeviceNDArray<T>>
    where
        T: Element,
        S: Data<Elem = T>,
        D: Dimension,
    {
        self.check_stream(stream)?;
        let is_f_order = host.ndim() > 1 && !host.is_standard_layout() && host.t().is_standard_layout();
        let order = if is_f_order { Order::F } else { Order::C };
        let array = self.device_array_with_order::<T>(host.shape(), order)?;
        array.copy_from_host_on(stream, host)?;
        Ok(array)
    }

    /// Copies values to a one-dimensional array on the device, on the default stream.
    ///
    /// # Errors
    ///
    /// As [`Context::to_device`].
    pub fn slice_to_device<T: Element>(&self, values: &[T]) -> Result<DeviceNDArray<T>> {
        self.to_device(&ndarray::ArrayView1::from(values))
    }

    fn allocate<T: Element>(&self, layout: Layout) -> Result<DeviceNDArray<T>> {
        let bytes = layout.span_bytes(size_of::<T>())?;
        let holder = Holder::array(T::DTYPE.short_name(), layout.shape());
        let block = self.allocator().allocate_for(bytes, MemoryKind::Device, holder)?;
        Ok(DeviceNDArray::new(self, block, layout))
    }
}

/// Checks that there is one value for each element of the layout.
pub(crate) fn check_fills<T: Element>(layout: &Layout, values: &[T]) -> Result<()> {
    if layout.size() == values.len() {
        return Ok(());
    }
    let (given, expected, shape) = (values.len(), layout.size(), layout.shape().to_vec());
    Err(Error::LengthMismatch { given, expected, shape, dtype: T::DTYPE })
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
