//! [`Bencher`]: the time of a kernel on the device, by its timestamps.

use std::cell::Cell;
use std::ops::Deref;
use std::time::{Duration, Instant};

use vkarray::prelude::Event;
use vkarray::{Context, Result};

use super::ratio::median;

/// How long a kernel runs before it is measured, so that the device's clocks have settled.
const WARM_UP: Duration = Duration::from_millis(50);
/// The least time of a sample, unless [`MAX_CALLS`] calls are shorter.
const SAMPLE: Duration = Duration::from_millis(2);
/// The most calls of a sample.
const MAX_CALLS: u32 = 10_000;
/// The number of samples. The time of a kernel is their median.
const N_SAMPLES: usize = 9;

/// A context that measures one kernel with [`Bencher::iter`]. It dereferences to a [`Context`], without the validation
/// layer.
#[derive(Debug)]
pub struct Bencher {
    context: Context,
    seconds: Cell<Option<f64>>,
}

impl Bencher {
    pub(super) fn new(context: &Context) -> Self {
        Self { context: context.clone(), seconds: Cell::new(None) }
    }

    /// Measures the work that `run` puts on the default stream, by the timestamps of the device, and blocks until the
    /// work is complete. `run` is called many times on the same arrays. Make arrays and kernels before, since what
    /// `run` waits for on the host counts too.
    ///
    /// ```
    /// use vkarray::prelude::*;
    /// use vkarray_test::{Bencher, Benches};
    ///
    /// fn doubling(bencher: &Bencher) -> vkarray::Result<()> {
    ///     let (x, y) = (bencher.arange(0.0_f32, 1000.0, 1.0)?, bencher.zeros::<f32>(1000)?);
    ///     bencher.iter(|| (&x * 2.0).assign_to(&y))
    /// }
    /// # drop(Benches::new("kernels").function("doubling", doubling));
    /// ```
    ///
    /// # Errors
    ///
    /// The errors that `run` returns, and an error for a device whose queue has no timestamps.
    pub fn iter<E>(&self, mut run: impl FnMut() -> std::result::Result<(), E>) -> Result<()>
    where
        vkarray::Error: From<E>,
    {
        let begun = Instant::now();
        loop {
            run()?;
            self.context.synchronize()?;
            if begun.elapsed() > WARM_UP {
                break;
            }
        }
        let n_calls = n_calls(self.time(1, &mut run)?);
        let mut samples = Vec::with_capacity(N_SAMPLES);
        for _ in 0..N_SAMPLES {
            samples.push(self.time(n_calls, &mut run)?.as_secs_f64() / f64::from(n_calls));
        }
        self.seconds.set(Some(median(&mut samples)));
        Ok(())
    }

    /// The time of some calls on the device.
    fn time<E>(&self, n_calls: u32, run: &mut impl FnMut() -> std::result::Result<(), E>) -> Result<Duration>
    where
        vkarray::Error: From<E>,
    {
        let device = self.context.device();
        let (begin, end) = (Event::with_timing(device)?, Event::with_timing(device)?);
        begin.record(self.context.default_stream())?;
        for _ in 0..n_calls {
            run()?;
        }
        end.record(self.context.default_stream())?;
        end.synchronize()?;
        Ok(begin.elapsed(&end)?)
    }

    /// The measured time in seconds.
    pub(super) fn into_time(self) -> std::result::Result<f64, String> {
        match self.seconds.get() {
            Some(seconds) if seconds > 0.0 => Ok(seconds),
            Some(_) => Err("the device's clock did not advance while the kernel ran".to_owned()),
            None => Err("nothing was measured: the function did not reach `Bencher::iter`".to_owned()),
        }
    }
}

impl Deref for Bencher {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.context
    }
}

/// How many calls a sample has, if one call takes `one`.
fn n_calls(one: Duration) -> u32 {
    let n = SAMPLE.as_nanos().div_ceil(one.as_nanos().max(1));
    u32::try_from(n).unwrap_or(MAX_CALLS).clamp(1, MAX_CALLS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_as_many_calls_as_fill_its_time() {
        for (one, n) in [
            (Duration::ZERO, MAX_CALLS), // A clock that is too coarse for one call.
            (Duration::from_nanos(100), MAX_CALLS),
            (Duration::from_micros(3), 667),
            (Duration::from_millis(2), 1),
            (Duration::from_secs(1), 1),
        ] {
            assert_eq!(n_calls(one), n, "{one:?}");
        }
    }
}
