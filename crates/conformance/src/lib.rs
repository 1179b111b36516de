//! Judges a memory manager: does it keep what the runtime relies on?
//!
//! **Is:** named checks that run any [`MemoryManager`](vkarray_allocator::MemoryManager) on a device, each with a fresh
//! manager, and say what they expected where they fail. **Is not:** a measurement, nor a judge of what the driver sees:
//! run it under the validation layer, which notices buffers that are destroyed in use. **Start** at [`Conformance`].
//!
//! A witness (`records.rs`) stands between the runtime and the manager in every check, and knows which bytes are live and
//! which are still in use by the device; `gate.rs` keeps work in flight for as long as a check likes, so nothing here
//! depends on timing. The checks are in `checks/`.

mod check_error;
mod checking_adaptor;
mod checks;
mod context;
mod gate;
mod live_ranges;
mod report;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use vkarray_allocator::ManagerFactory;
use vkarray_driver::Device;

use check_error::CheckError;
use context::CheckContext;

pub use report::{Outcome, Report};

/// Makes calls of Vulkan fail, for [`Conformance::with_faults`].
pub trait Faults {
    /// From now on, the `nth` call of that name, from one on, fails with `VK_ERROR_OUT_OF_DEVICE_MEMORY`, and so do those
    /// after it until `times` calls have.
    fn arm(&self, call: &'static str, nth: u32, times: u32);

    /// Lets every call succeed again, and says how many were made to fail.
    fn disarm(&self) -> u32;
}

/// The judge of a manager on a device. A run takes seconds and blocks.
pub struct Conformance<'a> {
    device: &'a Arc<Device>,
    factory: ManagerFactory,
    faults: Option<&'a dyn Faults>,
    only: Option<&'a str>,
}

impl<'a> Conformance<'a> {
    /// Judges what `factory` makes. Nothing else uses the device meanwhile.
    #[must_use]
    pub fn new(device: &'a Arc<Device>, factory: ManagerFactory) -> Self {
        Self { device, factory, faults: None, only: None }
    }

    /// Makes calls fail too. The checks that need it are skipped without.
    #[must_use]
    pub fn with_faults(mut self, faults: &'a dyn Faults) -> Self {
        self.faults = Some(faults);
        self
    }

    /// Runs the check of that name alone, for who mends a manager. No check has an unknown name.
    #[must_use]
    pub fn only(mut self, name: &'a str) -> Self {
        self.only = Some(name);
        self
    }

    /// Runs every check. One that fails or panics does not keep the others from running.
    #[must_use]
    pub fn run(&self) -> Report {
        let chosen = checks::ALL.iter().filter(|(name, _)| self.only.is_none_or(|only| only == *name));
        let checks = chosen.map(|&(name, check)| {
            let context = CheckContext::new(self.device, &self.factory, self.faults);
            let ran = catch_unwind(AssertUnwindSafe(|| check(&context)));
            (name, outcome(ran, context))
        });
        Report { checks: checks.collect() }
    }
}

impl std::fmt::Debug for Conformance<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conformance").field("device", &self.device.info().name).finish_non_exhaustive()
    }
}

/// What the witness saw comes first: it is nearer to the cause.
fn outcome(ran: std::thread::Result<Result<(), CheckError>>, context: CheckContext<'_>) -> Outcome {
    let violations = context.violations();
    // A manager may fail to go, too.
    let went = catch_unwind(AssertUnwindSafe(|| drop(context)));
    match (ran, violations.first()) {
        (_, Some(violation)) => Outcome::Failed(violation.clone()),
        (Err(_), None) => Outcome::Failed("the manager panicked".to_owned()),
        (Ok(Err(CheckError::Failed(reason))), None) => Outcome::Failed(reason),
        _ if went.is_err() => Outcome::Failed("the manager panicked when it was dropped".to_owned()),
        (Ok(Err(CheckError::Skipped(reason))), None) => Outcome::Skipped(reason),
        (Ok(Ok(())), None) => Outcome::Passed,
    }
}
