//! Elements written at indices: [`DeviceNDArray::put`]. The places that the indices name are sorted, which finds the last
//! of equal ones and writes neighbours together.

use vkarray_kernel::Element;

use super::radix::order_rows;
use crate::array::DeviceNDArray;
use crate::error::{Error, Result};
use crate::functions::indexing::{IndexElement, IndexMode, check_indices, places_of, scatter};
use crate::functions::operand::{flat, packed, to_u32};

impl<T: Element> DeviceNDArray<T> {
    /// Writes `values` to the elements at flat indices, in C order: NumPy's `put`. Values are repeated if they are
    /// fewer than the indices; of several values for one element the last one stays: the places are sorted with their
    /// numbers first. Like [`DeviceNDArray::take`], the call waits until the device has checked the indices.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<i32>([2, 3])?;
    /// x.put(&ctx.slice_to_device(&[4, -1, 4])?, &ctx.slice_to_device(&[7, 8, 9])?)?;
    /// assert_eq!(x.to_vec()?, [0, 0, 0, 0, 9, 8]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::IndexOutOfRange`](crate::Error::IndexOutOfRange) for an index outside the array, with nothing written;
    /// [`Error::EmptyAxis`](crate::Error::EmptyAxis) if there are indices but no values or no elements;
    /// [`Error::ReadOnly`](crate::Error::ReadOnly) for a read-only array;
    /// [`Error::SharedElements`](crate::Error::SharedElements) for an array whose elements share memory;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    pub fn put<I: IndexElement>(&self, indices: &DeviceNDArray<I>, values: &DeviceNDArray<T>) -> Result<()> {
        self.put_with_mode(indices, values, IndexMode::Raise)
    }

    /// Writes `values` at flat indices, as [`DeviceNDArray::put`] does, with a rule for indices out of range.
    ///
    /// ```
    /// use vkarray::prelude::*;
    /// use vkarray::primitives::IndexMode;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<i32>(3)?;
    /// x.put_with_mode(&ctx.slice_to_device(&[4])?, &ctx.slice_to_device(&[5])?, IndexMode::Wrap)?;
    /// assert_eq!(x.to_vec()?, [0, 5, 0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::EmptyAxis`](crate::Error::EmptyAxis) if there are indices but no values or no elements;
    /// [`Error::ReadOnly`](crate::Error::ReadOnly) for a read-only array; and the errors of
    /// [`DeviceNDArray::put`].
    pub fn put_with_mode<I: IndexElement>(
        &self,
        indices: &DeviceNDArray<I>,
        values: &DeviceNDArray<T>,
        mode: IndexMode,
    ) -> Result<()> {
        let (stream, length) = (self.stream(), self.size());
        if indices.size() == 0 {
            return Ok(());
        }
        if length == 0 || values.size() == 0 {
            return Err(Error::EmptyAxis { operation: "put", indices: indices.size() });
        }
        self.check_writable()?;
        to_u32(length)?;
        let indices = flat(&packed(&indices.on(stream))?)?;
        if mode == IndexMode::Raise {
            check_indices("put", stream, &indices, length)?;
        }
        let places = places_of(&indices, stream, length, mode)?.on(stream);
        let (order, keys) = order_rows(&places, false)?;
        scatter(self, &keys.words, Some(&order), values)
    }
}
