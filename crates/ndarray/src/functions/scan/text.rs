//! [`ScanKernel`]: scans by an operation that is written in WGSL.

use vkarray_kernel::{Bool, DType};
use vkarray_layout::{Index, IntoAxis};

use super::operator::Operator;
use super::scan_rows;
use crate::array::DeviceNDArray;
use crate::elementwise::{ElementwiseKernel, Evaluate};
use crate::error::{Error, Result};
use crate::functions::operand::{Word, packed};
use crate::generate::Combine;

/// Scans by an associative operation that a program writes: PyCUDA's `InclusiveScanKernel` and `ExclusiveScanKernel`.
///
/// The kernels are built at the first use with a type and are kept on disk. The order of operations depends on
/// shape and device alone.
///
/// ```
/// use vkarray::prelude::*;
/// use vkarray::primitives::ScanKernel;
///
/// # fn main() -> anyhow::Result<()> {
/// let ctx = Context::open_default()?;
/// let running_max = ScanKernel::new("max(a, b)", "0u");
/// let x = ctx.slice_to_device(&[3_u32, 1, 4, 1, 5, 9, 2, 6])?;
/// assert_eq!(running_max.inclusive(&x, 0)?.to_vec()?, [3, 3, 4, 4, 5, 9, 9, 9]);
/// assert_eq!(running_max.exclusive(&x, 0)?.to_vec()?, [0, 3, 3, 4, 4, 5, 9, 9]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanKernel {
    combine: String,
    identity: String,
}

impl ScanKernel {
    /// A scan by `combine`, an associative expression of `a` and the later value `b`. `identity` is an expression
    /// without arguments, whose value changes nothing that it is combined with.
    pub fn new(combine: &str, identity: &str) -> Self {
        Self { combine: combine.to_owned(), identity: identity.to_owned() }
    }

    /// Each element, combined with the elements before it along an axis. Returns at once.
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) for an axis that the array does not have;
    /// [`Error::Text`](crate::Error::Text) for expressions that are not valid for the type;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    pub fn inclusive<T: Word>(&self, x: &DeviceNDArray<T>, axis: impl IntoAxis) -> Result<DeviceNDArray<T>> {
        self.scan(x, None, axis.into_axis())
    }

    /// Each element, combined with the elements of its segment before it along an axis. A segment starts at each element
    /// for which `starts`, an array of the same shape, is true, and at the first element: a segmented scan, like CUB's
    /// `InclusiveScanByKey` and PyOpenCL's `is_segment_start_expr`. Returns at once.
    ///
    /// ```
    /// use vkarray::prelude::*;
    /// use vkarray::primitives::ScanKernel;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.slice_to_device(&[3, 1, 4, 1, 5])?;
    /// let starts = ctx.slice_to_device(&[0, 0, 1, 0, 1])?.not_equal(0).eval()?;
    /// let sum = ScanKernel::new("a + b", "0");
    /// assert_eq!(sum.inclusive_by_segment(&x, &starts, 0)?.to_vec()?, [3, 4, 4, 5, 5]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Shapes`] for starts of another shape; and the errors of [`ScanKernel::inclusive`].
    #[doc(alias = "scan_by_key")]
    pub fn inclusive_by_segment<T: Word>(
        &self,
        x: &DeviceNDArray<T>,
        starts: &DeviceNDArray<Bool>,
        axis: impl IntoAxis,
    ) -> Result<DeviceNDArray<T>> {
        if starts.shape() != x.shape() {
            return Err(Error::shapes("inclusive_by_segment", x.shape(), starts.shape()));
        }
        self.scan(x, Some(starts), axis.into_axis())
    }

    /// An inclusive scan, of segments if their starts are given.
    fn scan<T: Word>(
        &self,
        x: &DeviceNDArray<T>,
        starts: Option<&DeviceNDArray<Bool>>,
        axis: isize,
    ) -> Result<DeviceNDArray<T>> {
        let rows = packed(&x.move_axis(axis, -1)?)?;
        let starts = starts.map(|starts| packed(&starts.on(x.stream()).move_axis(axis, -1)?)).transpose()?;
        let combine = Combine::new(&self.combine, &self.identity, DType::of::<T>())?;
        let operator = if starts.is_some() { Operator::of_segments::<T> } else { Operator::of_text::<T> }(&combine);
        let scanned = scan_rows(&rows, starts.as_ref(), x.stream(), &operator);
        scanned.map_err(|error| combine.fault().map_or(error, Error::from))?.move_axis(-1, axis)
    }

    /// For each element, the combination of the elements before it along an axis; the first result is the identity.
    /// Returns at once.
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) for an axis that the array does not have;
    /// [`Error::Text`](crate::Error::Text) for expressions that are not valid for the type; and the errors of
    /// [`ScanKernel::inclusive`].
    pub fn exclusive<T: Word>(&self, x: &DeviceNDArray<T>, axis: impl IntoAxis) -> Result<DeviceNDArray<T>> {
        let axis = axis.into_axis();
        let scanned = self.inclusive(x, axis)?;
        if scanned.size() == 0 {
            return Ok(scanned);
        }
        let out = scanned.context().device_array::<T>(scanned.shape())?;
        let identity = ElementwiseKernel::new(&self.identity).call().result::<T>()?;
        identity.on(x.stream()).assign_to(&out.slice_axis(axis, 0..1)?)?;
        let before = scanned.slice_axis(axis, Index::from(..-1))?;
        out.slice_axis(axis, Index::from(1..))?.on(x.stream()).copy_from_device(&before)?;
        Ok(out)
    }
}
