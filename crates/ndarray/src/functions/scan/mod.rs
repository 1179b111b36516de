//! Running sums and products along an axis: [`DeviceNDArray::cumulative_sum`], [`DeviceNDArray::cumulative_prod`].
//!
//! A row is cut into blocks. The totals of the blocks are scanned in the same way, and then each block is scanned
//! behind the total of the blocks before it. The order of operations depends on the shape alone, so floats have the
//! same bits on every run. This folder does not reduce an axis. The kernels are in `shaders/library/scan.wgsl`;
//! `piece.rs` decides what one launch scans, `text.rs` scans with an operation that a program wrote.

mod piece;
mod text;

use piece::{Bound, pieces};
use vkarray_driver::Stream;
use vkarray_kernel::{Arg, Element};
use vkarray_layout::{Index, IntoAxis};
use vkarray_shaders::functions;

use crate::array::DeviceNDArray;
use crate::error::Result;
use crate::functions::operand::{Arithmetic, Widen, axis_of, converted, kernel, numbers, packed, widened};

pub use text::ScanKernel;

/// Number of elements of a row that one workgroup scans.
const BLOCK: usize = 256 * PER_LANE;

/// Number of elements that one invocation scans.
const PER_LANE: usize = 7;
const PER_LANE_TEXT: &str = "const PER_LANE = 7u;\n";

impl<T: Widen> DeviceNDArray<T> {
    /// The sum of each element and the elements before it along an axis: the array API's `cumulative_sum`, NumPy's
    /// `cumsum`.
    ///
    /// Integers are added in 64 bits and wrap around there. Floats of 16 bits are added as `f32`. Sums of floats differ
    /// from NumPy's by rounding, because NumPy adds one element after the other. `f64` needs a device that has it.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(1_u8, 7, 1)?.reshape([2, 3])?;
    /// assert_eq!(x.cumulative_sum(1)?.to_vec()?, [1_u64, 3, 6, 4, 9, 15]);
    /// assert_eq!(x.cumulative_sum(0)?.to_vec()?, [1_u64, 2, 3, 5, 7, 9]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) for an axis that the array does not have;
    /// [`Error::Kernel`](crate::Error::Kernel) for `f64` on a device without it;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    #[doc(alias = "cumsum")]
    pub fn cumulative_sum(&self, axis: impl IntoAxis) -> Result<DeviceNDArray<T::Sum>> {
        scan(self, axis.into_axis(), Operation::Sum, false)
    }

    /// The product of each element and the elements before it along an axis: the array API's `cumulative_prod`, NumPy's
    /// `cumprod`. The types are those of [`DeviceNDArray::cumulative_sum`].
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.arange(1.0_f32, 5.0, 1.0)?.cumulative_prod(0)?.to_vec()?, [1.0, 2.0, 6.0, 24.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) for an axis that the array does not have;
    /// [`Error::Kernel`](crate::Error::Kernel) for `f64` on a device without it; and the errors of
    /// [`DeviceNDArray::cumulative_sum`].
    #[doc(alias = "cumprod")]
    pub fn cumulative_prod(&self, axis: impl IntoAxis) -> Result<DeviceNDArray<T::Sum>> {
        scan(self, axis.into_axis(), Operation::Product, false)
    }

    /// [`DeviceNDArray::cumulative_sum`] with a zero in front, so that the axis is longer by one: `include_initial` of the array
    /// API.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.arange(1, 4, 1)?.cumulative_sum_from_zero(0)?.to_vec()?, [0_i64, 1, 3, 6]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) for an axis that the array does not have;
    /// [`Error::Kernel`](crate::Error::Kernel) for `f64` on a device without it; and the errors of
    /// [`DeviceNDArray::cumulative_sum`].
    pub fn cumulative_sum_from_zero(&self, axis: impl IntoAxis) -> Result<DeviceNDArray<T::Sum>> {
        scan(self, axis.into_axis(), Operation::Sum, true)
    }

    /// [`DeviceNDArray::cumulative_prod`] with a one in front, so that the axis is longer by one: `include_initial` of the array
    /// API.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.arange(2, 5, 1)?.cumulative_prod_from_one(0)?.to_vec()?, [1_i64, 2, 6, 24]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) for an axis that the array does not have;
    /// [`Error::Kernel`](crate::Error::Kernel) for `f64` on a device without it; and the errors of
    /// [`DeviceNDArray::cumulative_prod`].
    pub fn cumulative_prod_from_one(&self, axis: impl IntoAxis) -> Result<DeviceNDArray<T::Sum>> {
        scan(self, axis.into_axis(), Operation::Product, true)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Sum,
    Product,
}

impl Operation {
    /// The text that defines the type of the numbers, the operation and its identity.
    fn text<T: Widen>(self) -> String {
        let arithmetic = Arithmetic::of::<T>();
        let (function, identity) = match self {
            Self::Sum => ("add", arithmetic.zero),
            Self::Product => ("multiply", arithmetic.one),
        };
        let rest = format!(
            "{PER_LANE_TEXT}fn op(a: T, b: T) -> T {{\n    return {function}(a, b);\n}}\n\
             fn identity() -> T {{\n    return {identity};\n}}\n"
        );
        [arithmetic.text(), rest].concat()
    }
}

fn scan<T: Widen>(
    x: &DeviceNDArray<T>,
    axis: isize,
    operation: Operation,
    is_from_identity: bool,
) -> Result<DeviceNDArray<T::Sum>> {
    let (stream, ctx) = (x.stream(), x.context());
    let axis = axis_of(axis, x.ndim())?.cast_signed();
    let sums = converted::<T, T::Sum>(&x.move_axis(axis, -1)?, stream)?;
    let rows = widened(&sums.on(stream))?;
    let scanned = scan_rows(&rows, stream, &operation.text::<<T::Sum as Widen>::Wide>(), numbers)?;
    let scanned = converted::<_, T::Sum>(&scanned, stream)?.move_axis(-1, axis)?;
    if !is_from_identity {
        return Ok(scanned);
    }
    let mut shape = scanned.shape().to_vec();
    shape[axis.unsigned_abs()] += 1;
    let out = ctx.device_array::<T::Sum>(shape)?;
    let identity = ctx.full([], i32::from(operation == Operation::Product))?;
    let identity = identity.on(stream).astype::<T::Sum>()?;
    out.slice_axis(axis, 0..1)?.on(stream).assign(&identity)?;
    out.slice_axis(axis, Index::from(1..))?.on(stream).copy_from_device(&scanned)?;
    Ok(out)
}

/// Numbers the flags that are set: the inclusive sums of words of 0 and 1.
pub(crate) fn number_flags(flags: &DeviceNDArray<u32>, stream: &Stream) -> Result<DeviceNDArray<u32>> {
    scan_rows(&packed(&flags.on(stream))?, stream, &Operation::Sum.text::<u32>(), numbers)
}

/// Scans the rows of a packed array. `arg` gives the array to kernels.
fn scan_rows<T: Element>(
    rows: &DeviceNDArray<T>,
    stream: &Stream,
    text: &str,
    arg: fn(&DeviceNDArray<T>) -> Arg<'_>,
) -> Result<DeviceNDArray<T>> {
    let (ctx, count) = (rows.context(), rows.size());
    let out = ctx.device_array::<T>(rows.shape())?;
    if count == 0 {
        return Ok(out);
    }
    let n = rows.shape()[rows.ndim() - 1];
    let n_blocks = n.div_ceil(BLOCK);
    let text = [text, functions::SCAN];
    let pieces = pieces(count / n, n, &Bound::of(rows));
    let (all, all_out) = (rows.reshape([count])?, out.reshape([count])?);
    let mut before = None;
    if n_blocks > 1 {
        let totals = ctx.device_array::<T>([count / n, n_blocks])?;
        let kernel = kernel(ctx, "scan.wgsl", &text, "scan_totals")?;
        for piece in &pieces {
            let source = all.slice_axis(0, piece.bound())?;
            let [n, blocks, base, block, first] = piece.words()?;
            kernel.dispatch(stream, piece.groups(), (arg(&source), arg(&totals), n, blocks, base, block, first))?;
        }
        before = Some(scan_rows(&totals, stream, text[0], arg)?);
    }
    let kernel = kernel(ctx, "scan.wgsl", &text, "scan_blocks")?;
    for piece in &pieces {
        let [source, target] = [all.slice_axis(0, piece.bound())?, all_out.slice_axis(0, piece.bound())?];
        let before = before.as_ref().unwrap_or(&source); // Rows of one block read none.
        let [n, blocks, base, block, first] = piece.words()?;
        let args = (arg(&source), arg(&target), arg(before), n, blocks, base, block, first);
        kernel.dispatch(stream, piece.groups(), args)?;
    }
    Ok(out)
}
