//! Filters of one channel: [`DeviceNDArray::correlate`], [`DeviceNDArray::convolve`]. `text.rs` writes the kernel for each
//! shape of a filter; `shaders/library/convolve.wgsl` is the part that all have.

mod text;

use vkarray_kernel::{Arg, DType, Groups, ScalarValue, Source};
use vkarray_layout::Order;

use self::text::{Border, FilterPlan, MOST_TAPS, THREADS};
use crate::array::DeviceNDArray;
use crate::elementwise::Evaluate;
use crate::error::{Error, Result};
use crate::expr::Floating;
use crate::functions::joining::PadMode;
use crate::functions::operand::{Widen, converted, longest, numbers, widened};
use crate::generate::{DeviceLimits, dtype_code, word};

/// Keeps the keys of these kernels apart from the keys of other kernels.
const KEY: u32 = 0x636f_6e76;

impl<T: Widen + Floating> DeviceNDArray<T> {
    /// The sums of the products of a filter and the elements about each place: `scipy.ndimage.correlate`. The filter has
    /// one axis or two, and is applied along the last axes of the array; the axes before them are a stack.
    ///
    /// With a border, the result has the array's shape, and its element `i` along an axis is the sum over `j` of
    /// `filter[j] * x[i + j - n / 2]`, for a filter of length `n`. A place outside the array has the element that
    /// [`pad`](DeviceNDArray::pad) would give it. Without a border (`None`), the result has the sums of
    /// `filter[j] * x[i + j]` alone whose places are all inside, and is empty if the filter is longer than the array.
    ///
    /// The products are added row by row of the filter; those of floats of 16 bits as `f32`. A filter of up to 15 × 15
    /// takes one read of the array. A longer one is applied in parts of at most 15 × 15, which are added up. Arrays
    /// that are not contiguous are copied first. The call does not wait.
    ///
    /// ```
    /// use vkarray::prelude::*;
    /// use vkarray::primitives::PadMode;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.slice_to_device(&[1.0_f32, 2.0, 4.0, 8.0])?;
    /// let filter = ctx.slice_to_device(&[1.0, 0.0, -1.0])?;
    /// assert_eq!(x.correlate(&filter, None)?.to_vec()?, [-3.0, -6.0]);
    /// assert_eq!(x.correlate(&filter, PadMode::Edge)?.to_vec()?, [-1.0, -3.0, -6.0, -4.0]);
    /// let image = x.reshape([2, 2])?;
    /// assert_eq!(image.correlate(&ctx.ones([2, 2])?, PadMode::Constant(0.0))?.to_vec()?, [1.0, 3.0, 5.0, 15.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Shapes`](crate::Error::Shapes) if the filter has no elements, more than two axes, or more than the array;
    /// [`Error::LongOperand`](crate::Error::LongOperand) if the device does not bind the array at once;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) for `f64` on a device without it, or if it cannot run the kernel.
    #[doc(alias = "correlate2d")]
    #[doc(alias = "conv2d")]
    pub fn correlate(&self, filter: &Self, border: impl Into<Option<PadMode<T>>>) -> Result<Self> {
        Filtering { operation: "correlate", x: self, border: border.into() }.run(filter, |n_taps| n_taps / 2)
    }

    /// The sums of the products of a flipped filter and the elements about each place: `scipy.ndimage.convolve`. With a
    /// border, element `i` along an axis is the sum over `j` of `filter[j] * x[i - j + n / 2]`, for a filter of length
    /// `n`; without one, of `filter[j] * x[i - j + n - 1]`. The rest is as for [`DeviceNDArray::correlate`].
    ///
    /// ```
    /// use vkarray::prelude::*;
    /// use vkarray::primitives::PadMode;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.slice_to_device(&[0.0_f32, 0.0, 1.0, 0.0])?;
    /// let filter = ctx.slice_to_device(&[3.0, 2.0, 1.0])?;
    /// assert_eq!(x.convolve(&filter, PadMode::Wrap)?.to_vec()?, [0.0, 3.0, 2.0, 1.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`DeviceNDArray::correlate`].
    #[doc(alias = "convolve2d")]
    pub fn convolve(&self, filter: &Self, border: impl Into<Option<PadMode<T>>>) -> Result<Self> {
        let filtering = Filtering { operation: "convolve", x: self, border: border.into() };
        filtering.run(&filter.flip(None)?, |n_taps| (n_taps - 1) / 2)
    }
}

/// An array to which filters are applied.
struct Filtering<'a, T: Widen> {
    operation: &'static str,
    x: &'a DeviceNDArray<T>,
    border: Option<PadMode<T>>,
}

impl<T: Widen + Floating> Filtering<'_, T> {
    /// The sums for a filter. `before` is the number of taps before the place of a result, for their number along an axis.
    fn run(&self, filter: &DeviceNDArray<T>, before: fn(usize) -> usize) -> Result<DeviceNDArray<T>> {
        let (ctx, stream, shape) = (self.x.context(), self.x.stream(), self.x.shape());
        let (n_axes, longest) = (filter.ndim(), longest(ctx, size_of::<T::Wide>(), 1));
        if !(1..=2).contains(&n_axes) || n_axes > shape.len() || filter.size() == 0 {
            return Err(Error::shapes(self.operation, shape, filter.shape()));
        }
        if let Some(long) = [self.x, filter].into_iter().find(|array| array.size() > longest) {
            let nbytes = (long.size() as u64).saturating_mul(size_of::<T::Wide>() as u64);
            let limit = DeviceLimits::new(ctx.info()).max_range;
            return Err(Error::LongOperand { operation: self.operation, nbytes, limit });
        }
        // With a filter of one axis, the rows of the array are those of one image, and the filter has one row.
        let (stack, own) = shape.split_at(shape.len() - n_axes);
        let images = |lengths: &[usize]| match *lengths {
            [height, width] => [stack.iter().product(), height, width],
            _ => [1, stack.iter().product(), lengths[0]],
        };
        let reached = |(&length, &n_taps): (&usize, &usize)| match self.border {
            Some(_) => length,
            None => (length + 1).saturating_sub(n_taps),
        };
        let lengths: Vec<usize> = own.iter().zip(filter.shape()).map(reached).collect();
        let out = ctx.device_array::<T::Wide>(images(&lengths))?.on(stream);
        if out.size() > 0 {
            let image = widened(self.x)?.reshape(images(own))?;
            let filter = if n_axes == 1 { filter.expand_dims(0)? } else { filter.clone() };
            self.add_up(&filter, &image, &out, before)?;
        }
        converted(&out, stream)?.reshape([stack, &lengths].concat())
    }

    /// Writes the sums of all parts of a filter that a kernel takes.
    fn add_up(
        &self,
        filter: &DeviceNDArray<T>,
        image: &DeviceNDArray<T::Wide>,
        out: &DeviceNDArray<T::Wide>,
        before: fn(usize) -> usize,
    ) -> Result<()> {
        let [n_rows, n_columns] = [filter.shape()[0], filter.shape()[1]];
        let taps = |at: usize, n: usize| at.cast_signed()..n.min(at + MOST_TAPS).cast_signed();
        let first = |at: usize, n: usize| at.wrapping_sub(if self.border.is_some() { before(n) } else { 0 });
        for row in (0..n_rows).step_by(MOST_TAPS) {
            for column in (0..n_columns).step_by(MOST_TAPS) {
                let part = filter.slice_axis(0, taps(row, n_rows))?.slice_axis(1, taps(column, n_columns))?;
                let first = [first(row, n_rows), first(column, n_columns)];
                if (row, column) == (0, 0) {
                    self.launch(&part, image, out, first)?;
                } else {
                    let sums = image.context().device_array::<T::Wide>(out.shape())?;
                    self.launch(&part, image, &sums, first)?;
                    (out + &sums).on(out.stream()).assign_to(out)?;
                }
            }
        }
        Ok(())
    }

    /// Applies a filter that a kernel takes. `first` is the place of the first tap for the first result, and wraps around.
    fn launch(
        &self,
        filter: &DeviceNDArray<T>,
        image: &DeviceNDArray<T::Wide>,
        out: &DeviceNDArray<T::Wide>,
        first: [usize; 2],
    ) -> Result<()> {
        let (ctx, stream, dtype) = (image.context(), self.x.stream(), DType::of::<T::Wide>());
        let (border, value) = Border::of(self.border);
        let (from, to) = (image.shape(), out.shape());
        let plan = FilterPlan {
            taps: [filter.shape()[0], filter.shape()[1]],
            border,
            is_flat: filter.shape()[0] == 1 && to[1] < 8,
            has_quads: to[2].is_multiple_of(4),
            name: if dtype == DType::F64 { "f64" } else { "f32" },
            shared_bytes: ctx.info().limits.max_compute_shared_memory_size as usize,
        };
        // Constant memory begins at offsets that are multiples of more bytes than those of storage.
        let filter = converted::<T, T::Wide>(filter, stream)?.on(stream);
        let weights = if filter.offset() == 0 { filter.to_contiguous(Order::C)? } else { filter.copied(Order::C)? };
        let [key, form] = plan.key();
        let kernel = ctx.generated_kernel(&[KEY, dtype_code(dtype), key, form], || {
            ctx.kernel(Source::wgsl(plan.text()).named("convolve.wgsl"))
        })?;
        let mut args = vec![numbers(image), numbers(&weights), numbers(out)];
        args.extend([from[1], from[2], to[1], to[2], first[0], first[1]].map(|n| Arg::Scalar(word(n as u64))));
        args.extend(wide_scalar(value).map(Arg::Scalar));
        let tile = plan.tile();
        let n_tiles = to[0] * to[1].div_ceil(tile[0]) * to[2].div_ceil(tile[1]);
        Ok(kernel.dispatch(stream, Groups::covering(n_tiles * THREADS), args.as_slice())?)
    }
}

/// A float as the kernel takes it.
fn wide_scalar<T: Widen>(value: T) -> Option<ScalarValue> {
    Some(if DType::of::<T>() == DType::F64 { value.to_f64()?.into() } else { value.to_f32()?.into() })
}
