//! Fast Fourier transforms along an axis: [`DeviceNDArray::fft`], [`DeviceNDArray::ifft`].
//!
//! `plan.rs` decides in which passes a transform is computed, `text.rs` writes the kernel of a pass around
//! `shaders/library/fft.wgsl`. Transforms of real numbers, and of other lengths than powers of two, are not here.

mod plan;
mod text;

use vkarray_driver::Stream;
use vkarray_kernel::{Complex32, Element, Groups, Source};
use vkarray_layout::{IntoAxis, IntoReshape, Order};

use self::plan::{FftPass, MOST_BITS};
use crate::array::DeviceNDArray;
use crate::context::Context;
use crate::elementwise::Evaluate;
use crate::error::{Error, Result};
use crate::expr::Operand;
use crate::functions::operand::{axis_of, flat, longest, packed, part, to_u32};

/// Keeps the keys of kernels of transforms apart from the keys of other kernels.
const KEY: u32 = 0x6666_745f;

/// Elements that one pass after the other is over, if there are several passes: 256 MiB, which is the memory between passes.
/// 64 rows of 2^20 ran with 782, 913, 1,131, 1,188 and 1,217 GB/s for 2^20, 2^22, 2^24, 2^25 and 2^26 elements (H100, driver
/// 580.159.04, 2026-11-26): few long launches are worth more than what caches keep between short ones.
const AT_ONCE: usize = 1 << 25;

/// By what the results of a transform of n elements are multiplied: NumPy's `norm`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FftNorm {
    /// The inverse transform by 1/n.
    #[default]
    Backward,
    /// Both transforms by 1/√n.
    Ortho,
    /// The forward transform by 1/n.
    Forward,
}

/// Which way a transform goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Inverse,
}

impl FftNorm {
    #[expect(clippy::cast_possible_truncation, reason = "rounded to the nearest")]
    fn scale(self, direction: Direction, n: usize) -> f32 {
        match (self, direction) {
            (Self::Ortho, _) => (1.0 / (n as f64).sqrt()) as f32,
            (Self::Forward, Direction::Forward) | (Self::Backward, Direction::Inverse) => 1.0 / n as f32,
            (Self::Forward, Direction::Inverse) | (Self::Backward, Direction::Forward) => 1.0,
        }
    }
}

impl DeviceNDArray<Complex32> {
    /// The discrete Fourier transform along an axis: NumPy's and the array API's `fft`. Element k of the result is the sum
    /// over j of x\[j\] exp(−2πi j k / n).
    ///
    /// The length n is a power of two up to 2^24. Other axes have any length; an axis that is not the last, or an array with
    /// gaps, is copied first. Results are equal in every run on a device; their error, relative to the root of the mean
    /// square, is about that of one rounding for each doubling of n. Real numbers are cast first: `x.astype()`.
    ///
    /// ```
    /// use vkarray::array::Complex32;
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.slice_to_device(&[1.0_f32, 2.0, 3.0, 4.0])?.astype::<Complex32>()?;
    /// let [zero, one] = [0, 1].map(|k| x.fft(-1)?.get([k]));
    /// assert_eq!((zero?, one?), (Complex32 { re: 10.0, im: 0.0 }, Complex32 { re: -2.0, im: 2.0 }));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`] for an axis that the array does not have;
    /// [`Error::TransformLength`] for a length that is not a power of two, or is more than 2^24;
    /// [`Error::Memory`] if memory cannot be allocated;
    /// [`Error::Kernel`] if the device cannot run the kernel.
    pub fn fft(&self, axis: impl IntoAxis) -> Result<Self> {
        self.fft_with_norm(axis, FftNorm::Backward)
    }

    /// The inverse of [`DeviceNDArray::fft`]: NumPy's and the array API's `ifft`, divided by n.
    ///
    /// ```
    /// use vkarray::array::Complex32;
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.slice_to_device(&[3.0_f32, 1.0])?.astype::<Complex32>()?;
    /// assert_eq!(x.fft(0)?.ifft(0)?.to_vec()?, x.to_vec()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`DeviceNDArray::fft`].
    pub fn ifft(&self, axis: impl IntoAxis) -> Result<Self> {
        self.ifft_with_norm(axis, FftNorm::Backward)
    }

    /// [`DeviceNDArray::fft`] with a choice of the factor: NumPy's `norm`.
    ///
    /// ```
    /// use vkarray::array::Complex32;
    /// use vkarray::prelude::*;
    /// use vkarray::primitives::FftNorm;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.ones::<f32>(4)?.astype::<Complex32>()?;
    /// assert_eq!(x.fft_with_norm(0, FftNorm::Ortho)?.get([0])?.re, 2.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`DeviceNDArray::fft`].
    pub fn fft_with_norm(&self, axis: impl IntoAxis, norm: FftNorm) -> Result<Self> {
        transform(self, axis.into_axis(), norm, Direction::Forward)
    }

    /// [`DeviceNDArray::ifft`] with a choice of the factor: NumPy's `norm`.
    ///
    /// ```
    /// use vkarray::array::Complex32;
    /// use vkarray::prelude::*;
    /// use vkarray::primitives::FftNorm;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.ones::<f32>(4)?.astype::<Complex32>()?;
    /// assert_eq!(x.ifft_with_norm(0, FftNorm::Forward)?.get([0])?.re, 4.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`DeviceNDArray::fft`].
    pub fn ifft_with_norm(&self, axis: impl IntoAxis, norm: FftNorm) -> Result<Self> {
        transform(self, axis.into_axis(), norm, Direction::Inverse)
    }

    /// The transform along each of several axes: NumPy's `fftn`, and with two axes its `fft2`.
    ///
    /// ```
    /// use vkarray::array::Complex32;
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.ones::<f32>([4, 8])?.astype::<Complex32>()?;
    /// assert_eq!(x.fftn([0, 1])?.get([0, 0])?.re, 32.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`DeviceNDArray::fft`].
    #[doc(alias = "fft2")]
    pub fn fftn(&self, axes: impl IntoReshape) -> Result<Self> {
        axes.into_reshape().into_iter().try_fold(self.clone(), |x, axis| x.fft(axis))
    }

    /// The inverse of [`DeviceNDArray::fftn`]: NumPy's `ifftn`, and with two axes its `ifft2`.
    ///
    /// ```
    /// use vkarray::array::Complex32;
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.ones::<f32>([4, 8])?.astype::<Complex32>()?;
    /// assert_eq!(x.fftn([0, 1])?.ifftn([0, 1])?.to_vec()?, x.to_vec()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`DeviceNDArray::fft`].
    #[doc(alias = "ifft2")]
    pub fn ifftn(&self, axes: impl IntoReshape) -> Result<Self> {
        axes.into_reshape().into_iter().try_fold(self.clone(), |x, axis| x.ifft(axis))
    }
}

impl<T: Element> DeviceNDArray<T> {
    /// A copy in which the element of frequency zero, the first along an axis, is in the middle: NumPy's `fftshift`.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.arange(0, 5, 1)?.fftshift(0)?.to_vec()?, [3, 4, 0, 1, 2]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`DeviceNDArray::roll`].
    pub fn fftshift(&self, axis: impl IntoAxis) -> Result<Self> {
        let axis = axis.into_axis();
        self.roll(self.shape()[axis_of(axis, self.ndim())?].cast_signed() / 2, axis)
    }

    /// The inverse of [`DeviceNDArray::fftshift`], from which it differs where the length is odd: NumPy's `ifftshift`.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.arange(0, 5, 1)?.ifftshift(0)?.to_vec()?, [2, 3, 4, 0, 1]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`DeviceNDArray::roll`].
    pub fn ifftshift(&self, axis: impl IntoAxis) -> Result<Self> {
        let axis = axis.into_axis();
        self.roll(-(self.shape()[axis_of(axis, self.ndim())?].cast_signed() / 2), axis)
    }
}

/// The frequencies of the elements of a transform of n numbers that are `d` apart, on the default stream: NumPy's
/// `fftfreq`.
///
/// ```
/// use vkarray::prelude::*;
/// use vkarray::primitives::fftfreq;
///
/// # fn main() -> anyhow::Result<()> {
/// let ctx = Context::open_default()?;
/// assert_eq!(fftfreq(&ctx, 4, 0.5)?.to_vec()?, [0.0, 0.5, -1.0, -0.5]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`Error::TooManyElements`] for more than 2^32 − 1 frequencies, and the errors of [`Context::arange`].
pub fn fftfreq(ctx: &Context, n: usize, d: f32) -> Result<DeviceNDArray<f32>> {
    // Numbers below 2^24 are exact in `f32`, also on devices without integers of 64 bits.
    let places = ctx.arange(0, to_u32(n)?, 1)?.ifftshift(0)?;
    ((places.cast::<f32>() - (n / 2) as f32) * (1.0 / (n as f32 * d))).eval()
}

fn transform(
    x: &DeviceNDArray<Complex32>,
    axis: isize,
    norm: FftNorm,
    direction: Direction,
) -> Result<DeviceNDArray<Complex32>> {
    let axis = axis_of(axis, x.ndim())?;
    let (length, most) = (x.shape()[axis], 1 << MOST_BITS);
    if !length.is_power_of_two() || length > most {
        let operation = if direction == Direction::Forward { "fft" } else { "ifft" };
        return Err(Error::TransformLength { operation, length, most });
    }
    if length == 1 || x.size() == 0 {
        return x.copied(Order::C);
    }
    let rows = packed(&x.move_axis(axis.cast_signed(), -1)?)?;
    let transform = Transform { bits: length.ilog2(), scale: norm.scale(direction, length), direction };
    transform.of_rows(&rows)?.move_axis(-1, axis.cast_signed())
}

/// Transforms of 2^`bits` elements, whose results are multiplied by `scale`.
#[derive(Debug, Clone, Copy)]
struct Transform {
    bits: u32,
    scale: f32,
    direction: Direction,
}

impl Transform {
    /// The transforms of the rows of a packed array that is not empty. A pass writes to the result or to other memory,
    /// whichever it does not read; the last writes to the result.
    fn of_rows(self, rows: &DeviceNDArray<Complex32>) -> Result<DeviceNDArray<Complex32>> {
        let (ctx, count, length) = (rows.context(), rows.size(), 1 << self.bits);
        let out = ctx.device_array::<Complex32>(rows.shape())?;
        let passes = FftPass::all(ctx.info(), self.bits);
        let most = longest(ctx, size_of::<Complex32>(), length);
        let (at_once, n_between) = match passes.len() {
            1 => (most, 0),
            _ => (most.min(AT_ONCE.max(length)), count.min(most).min(AT_ONCE.max(length))),
        };
        let between = ctx.device_array::<Complex32>(n_between)?;
        let (source, target) = (flat(rows)?, flat(&out)?);
        for start in (0..count).step_by(at_once) {
            let range = start..count.min(start + at_once);
            let (from, to) = (part(&source, &range)?, part(&target, &range)?);
            let between = part(&between, &(0..n_between.min(range.len())))?;
            for (number, pass) in passes.iter().enumerate() {
                let n_left = passes.len() - number - 1;
                let [own, other] = if n_left.is_multiple_of(2) { [&to, &between] } else { [&between, &to] };
                let scale = if n_left == 0 { self.scale } else { 1.0 };
                Self { scale, ..self }.run(*pass, if number == 0 { &from } else { other }, own, rows.stream())?;
            }
        }
        Ok(out)
    }

    fn run(
        self,
        pass: FftPass,
        source: &DeviceNDArray<Complex32>,
        target: &DeviceNDArray<Complex32>,
        stream: &Stream,
    ) -> Result<()> {
        let (ctx, is_inverse) = (source.context(), self.direction == Direction::Inverse);
        let key = [KEY, pass.key() << 1 | u32::from(is_inverse)];
        let text = || Source::wgsl(pass.text(is_inverse)).named("fft.wgsl");
        let kernel = ctx.generated_kernel(&key, || ctx.kernel(text()).clamped())?;
        let columns = source.size() >> pass.bits;
        let n_lanes = columns.div_ceil(1 << pass.columns) << pass.lanes();
        let args = (source, target, to_u32(columns)?, self.scale);
        Ok(kernel.dispatch(stream, Groups::covering(n_lanes), args)?)
    }
}
