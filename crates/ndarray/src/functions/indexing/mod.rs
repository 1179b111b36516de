//! Elements by index and by mask: [`DeviceNDArray::take`], [`DeviceNDArray::put`], [`DeviceNDArray::compact`], [`DeviceNDArray::nonzero`].
//!
//! | file | has |
//! |---|---|
//! | `mod.rs` | the trait with the methods |
//! | `take.rs` | elements at indices, and how indices are checked |
//! | `put.rs` | elements written at indices |
//! | `mask.rs` | elements that a mask selects |
//!
//! This folder never computes with elements; it moves them. Read `take.rs` next.

mod mask;
mod put;
mod take;

use vkarray_kernel::{Bool, Element};
use vkarray_layout::IntoAxis;

use crate::array::DeviceNDArray;
use crate::error::Result;
pub(crate) use mask::positions_of;
pub(crate) use put::put;
pub use take::{IndexElement, IndexMode};
pub(crate) use take::{gather_axis, gather_rows};

impl<T: Element> DeviceNDArray<T> {
    /// The elements at `indices` along an axis: NumPy's `take`. The axes of `indices` replace the axis.
    ///
    /// Negative indices count from the end. The call waits until the device has compared the indices with the length of the
    /// axis; [`DeviceNDArray::take_with_mode`] with another mode does not wait.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0.0_f32, 6.0, 1.0)?.reshape([2, 3])?;
    /// let columns = ctx.slice_to_device(&[2, 0, -1])?;
    /// assert_eq!(x.take(&columns, 1)?.to_vec()?, [2.0, 0.0, 2.0, 5.0, 3.0, 5.0]);
    /// let refused = x.take(&ctx.slice_to_device(&[0, 3])?, 1).unwrap_err();
    /// assert_eq!(refused.to_string(), "take: index 3 at position 1 is out of range for an axis of length 3");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::IndexOutOfRange`](crate::Error::IndexOutOfRange) for an index outside the axis;
    /// [`Error::Layout`](crate::Error::Layout) for an axis that the array does not have; and the errors of
    /// [`DeviceNDArray::take_with_mode`].
    pub fn take<I: IndexElement>(&self, indices: &DeviceNDArray<I>, axis: impl IntoAxis) -> Result<DeviceNDArray<T>> {
        self.take_with_mode(indices, axis, IndexMode::Raise)
    }

    /// The elements at `indices` along an axis, as [`DeviceNDArray::take`] gives them, with a rule for indices out of range.
    ///
    /// ```
    /// use vkarray::prelude::*;
    /// use vkarray::primitives::IndexMode;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let (x, indices) = (ctx.arange(0, 4, 1)?, ctx.slice_to_device(&[-1, 5])?);
    /// assert_eq!(x.take_with_mode(&indices, 0, IndexMode::Wrap)?.to_vec()?, [3, 1]);
    /// assert_eq!(x.take_with_mode(&indices, 0, IndexMode::Clip)?.to_vec()?, [0, 3]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::EmptyAxis`](crate::Error::EmptyAxis) for indices into an axis without elements;
    /// [`Error::Layout`](crate::Error::Layout) for an axis that the array does not have;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    pub fn take_with_mode<I: IndexElement>(
        &self,
        indices: &DeviceNDArray<I>,
        axis: impl IntoAxis,
        mode: IndexMode,
    ) -> Result<DeviceNDArray<T>> {
        take::take(self, indices, axis.into_axis(), mode)
    }

    /// Element `[o, j, k]` of the result is `x[o, indices[o, j, k], k]`: NumPy's `take_along_axis`, which applies the
    /// result of `argsort` along an axis. The shapes agree in all other axes. Like [`DeviceNDArray::take`], the call waits
    /// until the device has checked the indices.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.slice_to_device(&[3, 1, 2, 9, 7, 8])?.reshape([2, 3])?;
    /// let order = x.argsort(1)?;
    /// assert_eq!(x.take_along_axis(&order, 1)?.to_vec()?, [1, 2, 3, 7, 8, 9]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Shapes`](crate::Error::Shapes) if the shapes differ in another axis;
    /// [`Error::IndexOutOfRange`](crate::Error::IndexOutOfRange) for an index outside the axis; and the errors of
    /// [`DeviceNDArray::take`].
    pub fn take_along_axis<I: IndexElement>(
        &self,
        indices: &DeviceNDArray<I>,
        axis: impl IntoAxis,
    ) -> Result<DeviceNDArray<T>> {
        take::take_along_axis(self, indices, axis.into_axis(), IndexMode::Raise)
    }

    /// Writes `values` to the elements at flat indices, in C order: NumPy's `put`. Values are repeated if they are
    /// fewer than the indices; of several values for one element the last one stays. Like [`DeviceNDArray::take`], the call
    /// waits until the device has checked the indices.
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
        put::put(self, indices, values, mode)
    }

    /// The elements whose mask is true, in C order: NumPy's `x[mask]`. The mask has the leading axes of the array; one
    /// axis replaces them.
    ///
    /// The call waits for the number of elements, which the device computes.
    ///
    /// ```
    /// use vkarray::prelude::*;
    /// use vkarray::array::Bool;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0, 4, 1)?;
    /// let mask = ctx.slice_to_device(&[true, false, false, true].map(Bool::from))?;
    /// assert_eq!(x.compact(&mask)?.to_vec()?, [0, 3]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Shapes`](crate::Error::Shapes) if the mask's shape is not the beginning of the array's;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    #[doc(alias = "compress")]
    #[doc(alias = "extract")]
    pub fn compact(&self, mask: &DeviceNDArray<Bool>) -> Result<DeviceNDArray<T>> {
        mask::compact(self, mask)
    }

    /// Writes `values` to the elements whose mask is true, in C order: NumPy's `x[mask] = values`. The mask has the leading
    /// axes of the array. There is one value for each of these elements, or one for all.
    ///
    /// The call waits for the number of elements, which the device computes.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0, 5, 1)?;
    /// x.put_mask(&x.greater(2).eval()?, &ctx.slice_to_device(&[70, 80])?)?;
    /// assert_eq!(x.to_vec()?, [0, 1, 2, 70, 80]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Shapes`](crate::Error::Shapes) if the mask's shape is not the beginning of the array's;
    /// [`Error::MaskValues`](crate::Error::MaskValues) for another number of values, with nothing written;
    /// [`Error::ReadOnly`](crate::Error::ReadOnly) for a read-only array;
    /// [`Error::SharedElements`](crate::Error::SharedElements) for an array whose elements share memory;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    #[doc(alias = "place")]
    #[doc(alias = "putmask")]
    pub fn put_mask(&self, mask: &DeviceNDArray<Bool>, values: &DeviceNDArray<T>) -> Result<()> {
        mask::put(self, mask, values)
    }

    /// Writes `value` to the elements whose mask is true: NumPy's `x[mask] = value`. The mask has the leading axes of
    /// the array.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.slice_to_device(&[1.0_f32, f32::NAN, 3.0])?;
    /// x.fill_where(&x.isnan().eval()?, 0.0)?;
    /// assert_eq!(x.to_vec()?, [1.0, 0.0, 3.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Shapes`](crate::Error::Shapes) if the mask's shape is not the beginning of the array's;
    /// [`Error::ReadOnly`](crate::Error::ReadOnly) for a read-only array; and the errors of
    /// [`DeviceNDArray::put_mask`].
    pub fn fill_where(&self, mask: &DeviceNDArray<Bool>, value: T) -> Result<()> {
        self.put_mask(mask, &mask.context().full([1], value)?)
    }

    /// The indices of the elements that are not zero, one array for each axis, in C order: NumPy's `nonzero`. NaN is not
    /// zero. An array without axes is refused, as in NumPy 2.
    ///
    /// The call waits for the number of elements, which the device computes.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.slice_to_device(&[0.0_f32, 2.0, -0.0, 3.0])?.reshape([2, 2])?;
    /// let places = x.nonzero()?;
    /// assert_eq!((places[0].to_vec()?, places[1].to_vec()?), (vec![0, 1], vec![1, 1]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoAxis`](crate::Error::NoAxis) for an array without axes;
    /// [`Error::NoConversion`](crate::Error::NoConversion) for records;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    #[doc(alias = "argwhere")]
    pub fn nonzero(&self) -> Result<Vec<DeviceNDArray<u32>>> {
        mask::nonzero(self)
    }
}
