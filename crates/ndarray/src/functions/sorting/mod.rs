//! Order: [`DeviceNDArray::sort`], [`DeviceNDArray::top_k`], [`DeviceNDArray::searchsorted`],
//! [`DeviceNDArray::unique_all`], [`DeviceNDArray::histogram`].
//!
//! Numbers become keys that compare as unsigned integers, so that one kernel sorts every type, including 64-bit numbers
//! on devices that cannot compute with them. The order is NumPy's: zeros of both signs are equal, and NaN comes last.
//!
//! | file | has |
//! |---|---|
//! | `mod.rs` | the methods that sort, and those of greatest, least and different elements |
//! | `keys.rs` | numbers as keys |
//! | `radix.rs`, `tile.rs` | the sort: stable, along an axis |
//! | `network.rs` | the sort of short rows |
//! | `top_k.rs`, `select.rs` | the greatest or least elements |
//! | `search.rs` | places among sorted elements |
//! | `bins.rs`, `spacing.rs` | histograms |
//! | `put.rs` | elements written at indices |
//! | `unique.rs` | values that differ, with their counts and places |

mod bins;
mod keys;
mod network;
mod put;
mod radix;
mod search;
mod select;
mod spacing;
mod tile;
mod top_k;
mod unique;

use vkarray_layout::IntoAxis;

use crate::array::DeviceNDArray;
use crate::error::Result;
use crate::functions::operand::Widen;
pub use bins::Histogram;
pub use search::Side;
pub use unique::Unique;

impl<T: Widen> DeviceNDArray<T> {
    /// A sorted copy, ascending along an axis: NumPy's `sort`. NaN comes last, and −0.0 before 0.0. The call does not
    /// wait.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.slice_to_device(&[3.0_f32, f32::NAN, 1.0, 2.0])?;
    /// assert_eq!(x.sort(-1)?.to_vec()?[..3], [1.0, 2.0, 3.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) for an axis that the array does not have;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    pub fn sort(&self, axis: impl IntoAxis) -> Result<DeviceNDArray<T>> {
        radix::sort(self, axis.into_axis(), false)
    }

    /// A sorted copy, descending along an axis. NaN comes first, and 0.0 before −0.0.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.slice_to_device(&[3, 1, 2])?.sort_descending(0)?.to_vec()?, [3, 2, 1]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) for an axis that the array does not have;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated; and the errors of
    /// [`DeviceNDArray::sort`].
    pub fn sort_descending(&self, axis: impl IntoAxis) -> Result<DeviceNDArray<T>> {
        radix::sort(self, axis.into_axis(), true)
    }

    /// The places of the elements along an axis in ascending order: NumPy's `argsort(kind="stable")`.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.slice_to_device(&[3, 1, 3, 1])?.argsort(0)?.to_vec()?, [1, 3, 0, 2]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) for an axis that the array does not have;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated; and the errors of
    /// [`DeviceNDArray::sort`].
    pub fn argsort(&self, axis: impl IntoAxis) -> Result<DeviceNDArray<u32>> {
        radix::argsort(self, axis.into_axis(), false)
    }

    /// The places of the elements along an axis in descending order. Equal elements keep their order; NaN comes first.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.slice_to_device(&[3, 1, 3, 1])?.argsort_descending(0)?.to_vec()?, [0, 2, 1, 3]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) for an axis that the array does not have;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated; and the errors of
    /// [`DeviceNDArray::sort`].
    pub fn argsort_descending(&self, axis: impl IntoAxis) -> Result<DeviceNDArray<u32>> {
        radix::argsort(self, axis.into_axis(), true)
    }

    /// The `k` greatest elements along an axis, in descending order, and their places: `top_k` of the array API's draft,
    /// and PyTorch's `topk`. They are the first `k` of [`DeviceNDArray::argsort_descending`]: of equal elements those
    /// with the smallest places, in the order of their places, and NaN before all numbers. The call does not wait.
    ///
    /// Rows are read once where `k` is at most one in 256 of their elements, and sorted otherwise.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let (values, places) = ctx.slice_to_device(&[3, 1, 7, 7])?.top_k(3, 0)?;
    /// assert_eq!((values.to_vec()?, places.to_vec()?), (vec![7, 7, 3], vec![2, 3, 0]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TooFewElements`](crate::Error::TooFewElements) if `k` is more than the length of the axis; and the errors
    /// of [`DeviceNDArray::sort`].
    #[doc(alias = "topk")]
    #[doc(alias = "partition")]
    pub fn top_k(&self, k: usize, axis: impl IntoAxis) -> Result<(DeviceNDArray<T>, DeviceNDArray<u32>)> {
        top_k::top_k(self, k, axis.into_axis(), true)
    }

    /// The `k` least elements along an axis, in ascending order, and their places: the first `k` of
    /// [`DeviceNDArray::argsort`]. NaN comes last. See [`DeviceNDArray::top_k`].
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let (values, places) = ctx.slice_to_device(&[3, 1, 7, 1])?.bottom_k(3, 0)?;
    /// assert_eq!((values.to_vec()?, places.to_vec()?), (vec![1, 1, 3], vec![1, 3, 0]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`DeviceNDArray::top_k`].
    #[doc(alias = "argpartition")]
    pub fn bottom_k(&self, k: usize, axis: impl IntoAxis) -> Result<(DeviceNDArray<T>, DeviceNDArray<u32>)> {
        top_k::top_k(self, k, axis.into_axis(), false)
    }

    /// The different values in ascending order: `unique_values` of the array API. Each NaN is a value of its own; zeros
    /// of both signs are one value.
    ///
    /// The call waits for the number of values, which the device computes.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.slice_to_device(&[3, 1, 3, 2])?.unique_values()?.to_vec()?, [1, 2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    #[doc(alias = "unique")]
    pub fn unique_values(&self) -> Result<DeviceNDArray<T>> {
        unique::sorted(self)?.values()
    }

    /// The different values and how often each occurs: `unique_counts` of the array API; see [`DeviceNDArray::unique_values`].
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let (values, counts) = ctx.slice_to_device(&[3, 1, 3, 2])?.unique_counts()?;
    /// assert_eq!((values.to_vec()?, counts.to_vec()?), (vec![1, 2, 3], vec![1, 1, 2]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    pub fn unique_counts(&self) -> Result<(DeviceNDArray<T>, DeviceNDArray<u32>)> {
        unique::sorted(self)?.values_and_counts()
    }

    /// The different values and, for each element of the array, the place of its value among them: `unique_inverse` of the
    /// array API; see [`DeviceNDArray::unique_values`].
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let (values, inverse) = ctx.slice_to_device(&[3, 1, 3, 2])?.unique_inverse()?;
    /// assert_eq!((values.to_vec()?, inverse.to_vec()?), (vec![1, 2, 3], vec![2, 0, 2, 1]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    pub fn unique_inverse(&self) -> Result<(DeviceNDArray<T>, DeviceNDArray<u32>)> {
        let runs = unique::unique(self)?;
        Ok((runs.values()?, runs.inverse()?))
    }

    /// The different values with their first places, counts and inverse: `unique_all` of the array API; see
    /// [`DeviceNDArray::unique_values`].
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let unique = ctx.slice_to_device(&[3, 1, 3, 2])?.unique_all()?;
    /// assert_eq!(unique.indices.to_vec()?, [1, 3, 0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    pub fn unique_all(&self) -> Result<Unique<T>> {
        let runs = unique::unique(self)?;
        Ok(Unique { values: runs.values()?, counts: runs.counts()?, inverse: runs.inverse()?, indices: runs.places })
    }
}
