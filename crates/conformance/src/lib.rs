//! Tests whether a memory manager keeps to the contract of [`MemoryManager`](vkarray_allocator::MemoryManager).
//!
//! **Is:** named checks that run any manager on a device, each with a new manager, and that report what they expected when
//! they fail. **Is not:** a benchmark, nor a check of the calls to the driver: run it under the validation layer, which
//! reports buffers that are destroyed in use. **Start** at [`Conformance`].
//!
//! In every check an adaptor (`checking_adaptor.rs`) around the manager records which bytes are live and which the device may
//! still use. `gate.rs` keeps work in flight for as long as a check needs, so nothing depends on timing. The checks are in
//! `checks/`, the state that they share in `context.rs`.
//!
//! ```
//! use vkarray_allocator::{ManagerFactory, PoolManager};
//! use vkarray_conformance::Conformance;
//! use vkarray_driver::{Device, Instance};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let device = Device::open_selected(&Instance::builder().build()?, None)?;
//! let factory = ManagerFactory::new(|| Ok(Box::new(PoolManager::new())));
//! let report = Conformance::new(&device, factory).only("sizes-and-kinds").run(); // Without `only`, all checks.
//! assert!(report.is_conforming(), "{report}");
//! # Ok(())
//! # }
//! ```

mod check_error;
mod checking_adaptor;
mod checks;
mod context;
mod gate;
mod live_ranges;
mod report;

use std::sync::Arc;

use vkarray_allocator::ManagerFactory;
use vkarray_driver::{Device, catch_panic};

use check_error::CheckError;
use context::CheckContext;

pub use report::{Outcome, Report};

/// Makes Vulkan calls fail, for [`Conformance::with_faults`].
pub trait Faults {
    /// From now on, `times` calls of the function `call` fail with `VK_ERROR_OUT_OF_DEVICE_MEMORY`, beginning with the
    /// `nth`, counted from one.
    fn arm(&self, call: &'static str, nth: u32, times: u32);

    /// Lets every call succeed again, and returns how many have failed.
    fn disarm(&self) -> u32;
}

/// The checks of a manager on a device. A run takes seconds and blocks.
#[must_use]
pub struct Conformance<'a> {
    device: &'a Arc<Device>,
    factory: ManagerFactory,
    faults: Option<&'a dyn Faults>,
    only: Option<&'a str>,
}

impl<'a> Conformance<'a> {
    /// Checks the managers that `factory` makes. Nothing else may use the device meanwhile.
    pub fn new(device: &'a Arc<Device>, factory: ManagerFactory) -> Self {
        Self { device, factory, faults: None, only: None }
    }

    /// Sets the object that makes calls fail. Without it, the checks of failing calls are skipped.
    pub fn with_faults(mut self, faults: &'a dyn Faults) -> Self {
        self.faults = Some(faults);
        self
    }

    /// Runs only the check of that name. An unknown name runs no check.
    pub fn only(mut self, name: &'a str) -> Self {
        self.only = Some(name);
        self
    }

    /// Runs the checks. A check that fails or panics does not keep the others from running.
    #[must_use]
    pub fn run(&self) -> Report {
        let chosen = checks::ALL.iter().filter(|(name, _)| self.only.is_none_or(|only| only == *name));
        let checks = chosen.map(|&(name, check)| {
            let context = CheckContext::new(self.device, &self.factory, self.faults);
            let ran = catch_panic(|| check(&context));
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

/// The findings of the checking adaptor come first, since they are closer to the cause.
fn outcome(ran: Result<Result<(), CheckError>, String>, context: CheckContext<'_>) -> Outcome {
    let violations = context.violations();
    // Dropping the manager may panic, too.
    let dropped = catch_panic(|| drop(context));
    match (ran, violations.first()) {
        (_, Some(violation)) => Outcome::Failed(violation.clone()),
        (Err(_), None) => Outcome::Failed("the manager panicked".to_owned()),
        (Ok(Err(CheckError::Failed(reason))), None) => Outcome::Failed(reason),
        _ if dropped.is_err() => Outcome::Failed("the manager panicked when it was dropped".to_owned()),
        (Ok(Err(CheckError::Skipped(reason))), None) => Outcome::Skipped(reason),
        (Ok(Ok(())), None) => Outcome::Passed,
    }
}
