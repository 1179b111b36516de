//! Running sums and products along an axis: [`DeviceNDArray::cumulative_sum`], [`DeviceNDArray::cumulative_prod`].
//!
//! A row is cut into tiles, and one launch scans all tiles: each number is read and written once. The order of operations
//! depends on shape and device alone, so floats have the same bits on every run. The kernel is in
//! `shaders/library/scan.wgsl`. `tile.rs` decides about tiles, `piece.rs` what one launch scans; `operator.rs` writes the
//! operation, `text.rs` scans with an operation that a program wrote, also within segments.

mod operator;
mod piece;
mod text;
mod tile;

use operator::Operator;
use piece::{Bound, pieces};
use tile::ScanTile;
use vkarray_driver::Stream;
use vkarray_kernel::{Arg, Bool, Element, Groups, ScalarValue};
use vkarray_layout::{Index, IntoAxis};

use crate::array::DeviceNDArray;
use crate::error::Result;
use crate::functions::operand::{Widen, axis_of, converted, flat, packed, to_u32, widened, words, zero_or_one};

pub use text::ScanKernel;

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
        scan(self, axis.into_axis(), false, false)
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
        scan(self, axis.into_axis(), true, false)
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
        scan(self, axis.into_axis(), false, true)
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
        scan(self, axis.into_axis(), true, true)
    }
}

fn scan<T: Widen>(
    x: &DeviceNDArray<T>,
    axis: isize,
    is_product: bool,
    is_from_identity: bool,
) -> Result<DeviceNDArray<T::Sum>> {
    let (stream, ctx) = (x.stream(), x.context());
    let axis = axis_of(axis, x.ndim())?.cast_signed();
    let rows = widened(&x.move_axis(axis, -1)?.on(stream))?;
    let operator = Operator::of_numbers::<T::Wide, <T::Sum as Widen>::Wide>(is_product);
    let scanned: DeviceNDArray<<T::Sum as Widen>::Wide> = scan_rows(&rows, None, stream, &operator)?;
    let scanned = converted::<_, T::Sum>(&scanned, stream)?.move_axis(-1, axis)?;
    if !is_from_identity {
        return Ok(scanned);
    }
    let mut shape = scanned.shape().to_vec();
    shape[axis.unsigned_abs()] += 1;
    let out = ctx.device_array::<T::Sum>(shape)?;
    out.slice_axis(axis, 0..1)?.on(stream).assign(&zero_or_one(ctx, stream, is_product)?)?;
    out.slice_axis(axis, Index::from(1..))?.on(stream).copy_from_device(&scanned)?;
    Ok(out)
}

/// Numbers the flags that are set: the inclusive sums of words of 0 and 1.
pub(crate) fn number_flags(flags: &DeviceNDArray<u32>, stream: &Stream) -> Result<DeviceNDArray<u32>> {
    scan_rows(&packed(&flags.on(stream))?, None, stream, &Operator::of_numbers::<u32, u32>(false))
}

/// The text that `team_scan.wgsl` needs for sums of words.
pub(crate) fn sums_of_words() -> String {
    Operator::of_numbers::<u32, u32>(false).text
}

/// Scans the rows of a packed array. An operator with segments needs a packed array that says where they start.
fn scan_rows<S: Element, T: Element>(
    rows: &DeviceNDArray<S>,
    starts: Option<&DeviceNDArray<Bool>>,
    stream: &Stream,
    operator: &Operator,
) -> Result<DeviceNDArray<T>> {
    let (ctx, count) = (rows.context(), rows.size());
    let out = ctx.device_array::<T>(rows.shape())?;
    if count == 0 {
        return Ok(out);
    }
    let n = rows.shape()[rows.ndim() - 1];
    let tile = ScanTile::new(ctx.info(), operator.n_words, n);
    let n_tiles = n.div_ceil(tile.len());
    let (all_tiles, all_blocks) = (count / n * n_tiles, count / n * n_tiles.div_ceil(tile.block()));
    let builder = tile.teams.builder(ctx, "scan.wgsl", operator.kernel_text(tile, n), "scan_tiles");
    // Clamped, sums of 2^28 `f32` run with 3,094 and of `u32` as 64 bits with 2,195 GB/s, where the device's bounds allow 2,990
    // and 2,057; sums within segments with 1,030 and 1,397 (H200, driver 580.159.04, 2026-11-28).
    let kernel = if starts.is_none() { builder.clamped() } else { builder }.build()?;
    // Rows of one tile need no state.
    let n_slots = if n_tiles > 1 { all_tiles + all_blocks } else { 0 };
    let state = ctx.device_array::<u32>([1 + 2 * operator.n_words as usize * n_slots])?;
    if n_tiles > 1 {
        state.on(stream).fill(0)?;
    }
    let (all, all_out, starts) = (flat(rows)?, flat(&out)?, starts.map(flat).transpose()?);
    for piece in pieces(count / n, n, &Bound::of::<T>(ctx, tile.len(), count)) {
        let (source, target) = (all.slice_axis(0, piece.bound())?, all_out.slice_axis(0, piece.bound())?);
        let [n, base, first] = piece.words()?;
        let (n_tiles, all_tiles) = (to_u32(n_tiles)?, to_u32(all_tiles)?);
        let starts = starts.as_ref().map(|starts| starts.slice_axis(0, piece.bound())).transpose()?;
        let mut args = vec![words(&source), words(&target), words(&state)];
        args.extend(starts.as_ref().map(words));
        args.extend([n, n_tiles, base, first, all_tiles].map(|number| Arg::Scalar(ScalarValue::U32(number))));
        kernel.dispatch(stream, Groups::covering(piece.n_tiles() * tile.teams.n_threads()), args)?;
    }
    Ok(out)
}
