//! `arange` and `linspace`: arrays of evenly spaced numbers.
//!
//! Lengths and values are decided in `ramp/number.rs`, bit for bit as NumPy's. Long ramps of which the device computes
//! the same bits ([`DeviceRamp`]) are made there by a kernel; the rest is computed on the host and sent.

mod number;

use std::fmt;

use vkarray_kernel::{Groups, ScalarValue, Source};

use crate::array::DeviceNDArray;
use crate::context::Context;
use crate::error::{Error, Result};

use number::DeviceRamp;
pub use number::Number;

/// Elements from which a kernel is worth its building.
const LONG: usize = 1 << 16;

/// Elements a dispatch makes: within the smallest limits a device may have on a binding and on workgroups.
const CHUNK: usize = 1 << 23;

/// Why a start, a stop and a step make no range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RangeProblem {
    /// The step is zero.
    ZeroStep,
    /// One of them is not a number, or the length is not.
    NotANumber,
    /// The length is infinite, or more than can be counted.
    TooLong,
}

impl fmt::Display for RangeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ZeroStep => "the step is zero",
            Self::NotANumber => "its length is not a number",
            Self::TooLong => "its length cannot be counted",
        })
    }
}

impl Context {
    /// Creates an array of the numbers from `start` to before `stop`, `step` apart, on the default stream.
    ///
    /// NumPy's rules, with all three in the array's own type: the length is the quotient of `stop - start` and `step`,
    /// rounded up, so that rounding can make a range of floats one longer than meant ([`Context::linspace`] has no such
    /// trouble); element `i` of floats is `start + i * d`, where `d` is `(start + step) - start`. Integers are exact,
    /// also where NumPy's quotient, a double, is not. A range that does not lead from `start` to `stop` is empty.
    ///
    /// Integers of 32 and 64 bits, and `f32` where no value needs rounding, are made on the device and the call returns
    /// at once; else the values are computed on the host and sent, which gives the same bits.
    ///
    /// # Errors
    ///
    /// [`Error::Range`] for a step of zero, or a length that is not a number or not countable; else as
    /// [`Context::device_array`].
    pub fn arange<T: Number>(&self, start: T, stop: T, step: T) -> Result<DeviceNDArray<T>> {
        let len = T::range_len(start, stop, step).map_err(|problem| {
            let [start, stop, step]: [ScalarValue; 3] = [start.into(), stop.into(), step.into()];
            Error::Range { start, stop, step, problem }
        })?;
        match T::on_device(start, step, len).filter(|_| len >= LONG) {
            Some(ramp) => {
                let array = self.device_array([len])?;
                self.run_ramp(&array, ramp)?;
                Ok(array)
            }
            None => {
                let array = self.device_array([len])?; // Before the values: a length without end is refused here.
                array.copy_from_host(&ndarray::Array1::from_vec(T::range(start, step, len)))?;
                Ok(array)
            }
        }
    }

    /// Creates an array of `num` numbers from `start` to `stop`, evenly apart, on the default stream. `stop` is the
    /// last of them, or with `endpoint` off the one after the last. Returns when they are sent.
    ///
    /// NumPy's rules: floats are computed in their own type, integers in `f64` and rounded down.
    ///
    /// # Errors
    ///
    /// As [`Context::device_array`].
    pub fn linspace<T: Number>(&self, start: T, stop: T, num: usize, endpoint: bool) -> Result<DeviceNDArray<T>> {
        let array = self.device_array([num])?;
        array.copy_from_host(&ndarray::Array1::from_vec(T::evenly(start, stop, num, endpoint)))?;
        Ok(array)
    }

    fn run_ramp<T: Number>(&self, array: &DeviceNDArray<T>, ramp: DeviceRamp) -> Result<()> {
        let kernel = self.kernel(Source::wgsl(vkarray_shaders::RAMP).named("ramp.wgsl")).entry(ramp.entry()).build()?;
        for (at, piece) in (0..).step_by(CHUNK).zip(array.split(CHUNK)?) {
            let groups = Groups::covering([piece.size() as u64]);
            let stream = self.default_stream();
            match ramp.advanced(at) {
                DeviceRamp::Words { start, step } => {
                    kernel.dispatch(stream, groups, (&piece.view::<u32>()?, start, step))?;
                }
                DeviceRamp::Pairs { start, step } => {
                    let pair = bytemuck::cast::<u64, [u32; 2]>;
                    kernel.dispatch(stream, groups, (&piece.view::<u32>()?, pair(start), pair(step)))?;
                }
                DeviceRamp::Floats { start, step } => {
                    kernel.dispatch(stream, groups, (&piece.view::<f32>()?, start, step))?;
                }
            }
        }
        Ok(())
    }
}
