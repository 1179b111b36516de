//! [`Sequence`]: several dispatches on the same arrays, compared with an oracle, and the first of them that is wrong.

use vkarray::ndarray::ArrayD;
use vkarray::{Context, DeviceNDArray};

use crate::compare::{Number, Tolerance, check_close};

/// What a step does on a device: launches kernels on the arrays.
type OnDevice<T> = Box<dyn Fn(&Context, &[DeviceNDArray<T>]) -> vkarray::Result<()>>;

/// A step on the host, in plain code.
type OnHost<T> = Box<dyn Fn(&mut [ArrayD<T>])>;

/// One step of a [`Sequence`].
struct Step<T: Number> {
    name: String,
    device: OnDevice<T>,
    host: Option<OnHost<T>>,
}

impl<T: Number> std::fmt::Debug for Step<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Step").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Steps that run one after the other on the same arrays. If the result is wrong, a comparison names the first step whose
/// output differs, which it finds by bisection: each attempt runs the first steps anew.
///
/// ```
/// use vkarray::prelude::*;
/// use vkarray_test::{Sequence, Tolerance};
///
/// # fn main() -> anyhow::Result<()> {
/// let ctx = Context::open_default()?;
/// let steps = Sequence::new([vkarray::ndarray::array![1.0_f32, 2.0, 3.0].into_dyn()])
///     .step(
///         "square",
///         |_, arrays| (&arrays[0] * &arrays[0]).assign_to(&arrays[0]),
///         |arrays| arrays[0].mapv_inplace(|x| x * x),
///     )
///     .step(
///         "halve",
///         |_, arrays| (&arrays[0] * 0.25_f32).assign_to(&arrays[0]), // Wrong.
///         |arrays| arrays[0].mapv_inplace(|x| x * 0.5),
///     );
/// let difference = steps.compare_with_host(&ctx, Tolerance::EXACT.ulp(1)).unwrap_err();
/// assert!(difference.starts_with("the first wrong step is 1, `halve`: `array 0` is not close"), "{difference}");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a sequence runs when it is compared"]
pub struct Sequence<T: Number> {
    inputs: Vec<ArrayD<T>>,
    steps: Vec<Step<T>>,
}

impl<T: Number> Sequence<T> {
    /// A sequence without steps, with these arrays before the first.
    pub fn new(inputs: impl Into<Vec<ArrayD<T>>>) -> Self {
        Self { inputs: inputs.into(), steps: Vec::new() }
    }

    /// Adds a step that is compared with the host: `device` launches kernels on the arrays, which it gets in the order
    /// of the inputs, and `host` computes the same values in plain code.
    pub fn step(
        mut self,
        name: impl Into<String>,
        device: impl Fn(&Context, &[DeviceNDArray<T>]) -> vkarray::Result<()> + 'static,
        host: impl Fn(&mut [ArrayD<T>]) + 'static,
    ) -> Self {
        self.steps.push(Step { name: name.into(), device: Box::new(device), host: Some(Box::new(host)) });
        self
    }

    /// Adds a step that is compared only with another device.
    pub fn device_step(
        mut self,
        name: impl Into<String>,
        device: impl Fn(&Context, &[DeviceNDArray<T>]) -> vkarray::Result<()> + 'static,
    ) -> Self {
        self.steps.push(Step { name: name.into(), device: Box::new(device), host: None });
        self
    }

    /// Runs the steps on the device and on the host, and compares the arrays.
    ///
    /// # Errors
    ///
    /// The error names the first wrong step and how its output differs, or a step without a part for the host, or is an
    /// error of the device.
    pub fn compare_with_host(&self, ctx: &Context, tolerance: Tolerance) -> Result<(), String> {
        if let Some(step) = self.steps.iter().find(|step| step.host.is_none()) {
            return Err(format!("step `{}` has no part for the host", step.name));
        }
        let on_host = |n: usize| {
            let mut arrays = self.inputs.clone();
            self.steps[..n].iter().filter_map(|step| step.host.as_ref()).for_each(|host| host(&mut arrays));
            Ok(arrays)
        };
        self.compare(ctx, on_host, tolerance)
    }

    /// Runs the steps on two devices and compares the arrays.
    ///
    /// # Errors
    ///
    /// The error names the first step whose output differs, and how, or is an error of a device.
    pub fn compare_with_device(&self, ctx: &Context, other: &Context, tolerance: Tolerance) -> Result<(), String> {
        self.compare(ctx, |n| self.run(other, n), tolerance)
    }

    fn compare(
        &self,
        ctx: &Context,
        oracle: impl Fn(usize) -> Result<Vec<ArrayD<T>>, String>,
        tolerance: Tolerance,
    ) -> Result<(), String> {
        let difference = |n: usize| -> Result<Option<String>, String> {
            let (actual, expected) = (self.run(ctx, n)?, oracle(n)?);
            let pairs = actual.iter().zip(&expected).enumerate();
            let mut checks = pairs.map(|(i, (a, e))| check_close(&format!("array {i}"), a, e, tolerance));
            Ok(checks.find_map(Result::err))
        };
        if self.steps.is_empty() || difference(self.steps.len())?.is_none() {
            return Ok(());
        }
        let first = first_wrong(self.steps.len(), |n| difference(n).map(|found| found.is_some()))?;
        let Some(found) = difference(first + 1)? else {
            return Err(format!("step {first}, `{}`, differs in some runs and not in others", self.steps[first].name));
        };
        Err(format!("the first wrong step is {first}, `{}`: {found}", self.steps[first].name))
    }

    /// The arrays after the first `n` steps on a device.
    fn run(&self, ctx: &Context, n: usize) -> Result<Vec<ArrayD<T>>, String> {
        let run = || -> vkarray::Result<Vec<ArrayD<T>>> {
            let arrays: Vec<_> = self.inputs.iter().map(|input| ctx.to_device(input)).collect::<Result<_, _>>()?;
            self.steps[..n].iter().try_for_each(|step| (step.device)(ctx, &arrays))?;
            arrays.iter().map(DeviceNDArray::copy_to_host).collect()
        };
        run().map_err(|error| error.to_string())
    }
}

/// The index of a step before which the results agree and after which they differ, given that they differ after all `n`,
/// of which there is at least one.
fn first_wrong(n: usize, differs_after: impl Fn(usize) -> Result<bool, String>) -> Result<usize, String> {
    let (mut agrees, mut differs) = (0, n);
    while differs - agrees > 1 {
        let middle = usize::midpoint(agrees, differs);
        if differs_after(middle)? {
            differs = middle;
        } else {
            agrees = middle;
        }
    }
    Ok(agrees)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn the_first_wrong_step_is_found_in_few_runs() {
        for n in 1..40 {
            for wrong in 0..n {
                let runs = Cell::new(0);
                let differs_after = |steps| {
                    runs.set(runs.get() + 1);
                    Ok(steps > wrong)
                };
                assert_eq!(first_wrong(n, differs_after), Ok(wrong), "of {n}");
                assert!(runs.get() <= n.ilog2() + 1, "{} runs for {n} steps", runs.get());
            }
        }
        assert_eq!(first_wrong(4, |_| Err("lost".to_owned())), Err("lost".to_owned()));
    }
}
