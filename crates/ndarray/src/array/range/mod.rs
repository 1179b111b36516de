//! `arange` and `linspace`: arrays of evenly spaced numbers.
//!
//! Lengths and values are computed in `number.rs`, with the same bits as NumPy's. A kernel writes long ranges for which
//! the device computes these bits ([`DeviceRange`]); all other ranges are computed on the host and copied.

mod number;

use number::DeviceRange;
use vkarray_kernel::{Groups, ScalarValue, Source};

use crate::array::{DeviceNDArray, collect_values};
use crate::context::Context;
use crate::error::{Error, Result};
pub use number::Number;

/// From this many elements on, a kernel is faster, including the time to build it.
const MIN_ON_DEVICE: usize = 1 << 16;

/// The number of elements that one dispatch writes. It is within the smallest limits that Vulkan allows for a binding
/// and for workgroups.
const CHUNK: usize = 1 << 23;

impl Context {
    /// Creates an array of the numbers from `start` to before `stop`, `step` apart, on the default stream.
    ///
    /// NumPy's rules, computed in the type of the array. The length is `(stop - start) / step`, rounded up; so rounding can
    /// make a range of floats one element longer than expected, which [`Context::linspace`] avoids. Element `i` of a range
    /// of floats is `start + i * d`, where `d` is `(start + step) - start`. Integers are exact, also where NumPy's
    /// quotient, which is a double, is not. A range whose step leads away from `stop` is empty.
    ///
    /// Long ranges of integers of 32 and 64 bits, and of `f32` where no value is rounded, are computed on the device,
    /// and the call returns at once. All other ranges are computed on the host and copied.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.arange(0, 5, 2)?.to_vec()?, [0, 2, 4]);
    /// assert_eq!(ctx.arange(1.0_f32, 0.0, -0.25)?.to_vec()?, [1.0, 0.75, 0.5, 0.25]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Range`] for a step of zero, or a length that is not a number or too large; [`Error::HostMemory`]; and
    /// the errors of [`Context::device_array`].
    pub fn arange<T: Number>(&self, start: T, stop: T, step: T) -> Result<DeviceNDArray<T>> {
        let len = T::range_len(start, stop, step).map_err(|problem| {
            let [start, stop, step]: [ScalarValue; 3] = [start.into(), stop.into(), step.into()];
            Error::Range { start, stop, step, problem }
        })?;
        let array = self.device_array([len])?; // Allocated first, because this refuses a length that is too large.
        match T::on_device(start, step, len).filter(|_| len >= MIN_ON_DEVICE) {
            Some(range) => self.run_range_kernel(&array, range)?,
            None => array.copy_from_slice(&collect_values(len, T::range(start, step, len))?)?,
        }
        Ok(array)
    }

    /// Creates an array of `num` evenly spaced numbers from `start` to `stop`, on the default stream. With `endpoint`,
    /// `stop` is the last number; without `endpoint`, it would be the number after the last. Returns when the values
    /// are copied to staging memory.
    ///
    /// As in NumPy, floats are computed in their own type, and integers are computed in `f64` and rounded down.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.linspace(0.0_f64, 1.0, 3, true)?.to_vec()?, [0.0, 0.5, 1.0]);
    /// assert_eq!(ctx.linspace(0.0_f64, 1.0, 4, false)?.to_vec()?, [0.0, 0.25, 0.5, 0.75]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::HostMemory`]; and the errors of [`Context::device_array`].
    pub fn linspace<T: Number>(&self, start: T, stop: T, num: usize, endpoint: bool) -> Result<DeviceNDArray<T>> {
        let array = self.device_array([num])?;
        array.copy_from_slice(&collect_values(num, T::evenly(start, stop, num, endpoint))?)?;
        Ok(array)
    }

    fn run_range_kernel<T: Number>(&self, array: &DeviceNDArray<T>, range: DeviceRange) -> Result<()> {
        let kernel =
            self.kernel(Source::wgsl(vkarray_shaders::RAMP).named("ramp.wgsl")).entry(range.entry()).build()?;
        for (at, piece) in (0..).step_by(CHUNK).zip(array.split(CHUNK)?) {
            let groups = Groups::covering(piece.size());
            let stream = self.default_stream();
            match range.advanced(at) {
                DeviceRange::Words { start, step } => {
                    kernel.dispatch(stream, groups, (&piece.view::<u32>()?, start, step))?;
                }
                DeviceRange::Pairs { start, step } => {
                    let pair = bytemuck::cast::<u64, [u32; 2]>;
                    kernel.dispatch(stream, groups, (&piece.view::<u32>()?, pair(start), pair(step)))?;
                }
                DeviceRange::Floats { start, step } => {
                    kernel.dispatch(stream, groups, (&piece.view::<f32>()?, start, step))?;
                }
            }
        }
        Ok(())
    }
}
