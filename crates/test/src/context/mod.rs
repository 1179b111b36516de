//! Contexts for tests: a device under the validation layer, and the checks when it is closed.
//!
//! Each trial loads Vulkan and opens its device anew, so that messages, leaks and a lost device belong to one test.
//! [`CheckedContext`] (`checked.rs`, which to read first) is for plain test functions too; [`TestContext`] adds the
//! properties of trials: a profile, a size, and the list of arrays that are left.

mod checked;

use std::cell::RefCell;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Weak};

use vkarray::Context;
use vkarray::device::{Device, DeviceType, Instance};
use vkarray::memory::Allocator;
use vkarray::memory::managers::{AllocationStatistics, ManagerFactory, MemoryManager, Tracking};

use crate::matrix::Target;
use crate::profile::Profile;

pub use checked::{CheckedContext, Problem, becomes_true, is_false_report};

/// The memory manager that the process has chosen.
type Chosen = Box<dyn MemoryManager>;

/// The context of one trial: a [`Context`] whose device was opened for it, under the validation layer.
///
/// ```no_run
/// use std::process::ExitCode;
///
/// use vkarray_test::{TestContext, assert_close, suite};
///
/// fn counts(ctx: &TestContext) -> vkarray::Result<()> {
///     let n = ctx.scaled(1 << 20); // Fewer elements on CPU drivers.
///     let ones = ctx.ones::<u32>(n)?; // `ctx` is a `Context` too.
///     assert_close!(ones, vec![1; n]);
///     Ok(())
/// }
///
/// fn main() -> ExitCode {
///     suite![counts].cpu_scale(0.1).run()
/// }
/// ```
pub struct TestContext {
    context: CheckedContext,
    others: RefCell<Vec<CheckedContext>>,
    /// A weak reference, since memory managers may hold the device.
    tracking: Weak<Tracking<Arc<AllocationStatistics<Chosen>>>>,
    statistics: Weak<AllocationStatistics<Chosen>>,
    profile: Profile,
    scale: f64,
}

/// How the devices of a run are opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    /// The part of a size that tests keep on CPU drivers.
    pub(crate) cpu_scale: f64,
    /// Whether the device is under the validation layer; otherwise `VKARRAY_VALIDATION` decides.
    pub(crate) is_validated: bool,
}

impl TestContext {
    /// Opens the device under a profile.
    ///
    /// # Errors
    ///
    /// The error names what the device, the layer or the profile lacks.
    pub(crate) fn open(target: &Target, profile: &Profile, settings: Settings) -> vkarray::Result<Self> {
        let mut builder = Instance::builder();
        if settings.is_validated {
            builder = builder.validation(true);
        }
        if *profile == Profile::GpuAv {
            builder = builder.instrument_shaders();
        }
        if let Some(limits) = profile.limits()? {
            builder = builder.limits(limits);
        }
        let instance = builder.build()?;
        let device = Device::open_selected(&instance, Some(&format!("uuid:{}", target.info.uuid)))?;
        let statistics = Arc::new(AllocationStatistics::new(ManagerFactory::chosen()?.make()?));
        let tracking = Arc::new(Tracking::new(Arc::clone(&statistics)));
        let (weak_statistics, weak_tracking) = (Arc::downgrade(&statistics), Arc::downgrade(&tracking));
        let context = Context::with_allocator(&Allocator::with_manager(&device, Box::new(tracking))?)?;
        if *profile == Profile::Sanitized {
            context.kernel_cache().set_sanitize(true);
        }
        let is_cpu = device.info().device_type == DeviceType::Cpu;
        Ok(Self {
            context: CheckedContext::new(context, device),
            others: RefCell::default(),
            tracking: weak_tracking,
            statistics: weak_statistics,
            profile: profile.clone(),
            scale: if is_cpu { settings.cpu_scale } else { 1.0 },
        })
    }

    /// The number of elements to test: `n`, and on a CPU driver the part of `n` that
    /// [`Suite::cpu_scale`](crate::Suite::cpu_scale) sets, at least one unless `n` is 0.
    #[must_use]
    pub fn scaled(&self, n: usize) -> usize {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the scale is in (0, 1]")]
        let scaled = (n as f64 * self.scale) as usize;
        scaled.clamp(n.min(1), n)
    }

    /// The profile of the trial.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Opens another device of the machine, to compare results with. Messages and leaks of that device fail the test
    /// too.
    ///
    /// # Errors
    ///
    /// The errors of [`Device::open_selected`]: a selector that matches nothing is an error.
    pub fn other_device(&self, selector: &str) -> vkarray::Result<Context> {
        let device = Device::open_selected(self.context.instance(), Some(selector))?;
        let context = Context::on(&device)?;
        self.others.borrow_mut().push(CheckedContext::new(context.clone(), device));
        Ok(context)
    }

    /// Whether the test has created an array or built a kernel.
    pub(crate) fn was_used(&self) -> bool {
        let n_allocations = self.statistics.upgrade().map_or(0, |statistics| statistics.counted().allocations.total);
        n_allocations > 0 || !self.context.kernel_cache().is_empty() || !self.others.borrow().is_empty()
    }

    /// Why the first kernel that cannot have the sanitizer's checks was refused.
    pub(crate) fn refused_checks(&self) -> Option<String> {
        self.context.kernel_cache().refused_checks().map(str::to_owned)
    }

    /// Closes the devices, and returns the problems found; a correct test has none.
    pub(crate) fn close(mut self) -> Vec<String> {
        let mut problems = Vec::new();
        if let Err(error) = self.context.synchronize() {
            problems.push(format!("the device failed: {error}"));
        }
        for mut other in self.others.take() {
            problems.extend(other.close().iter().map(ToString::to_string));
        }
        problems.extend(self.context.close().iter().map(|problem| match (problem, self.tracking.upgrade()) {
            (Problem::Leak { .. }, Some(tracking)) => format!("{problem}\n{}", tracking.report().trim_end()),
            (problem, _) => problem.to_string(),
        }));
        problems
    }
}

impl Deref for TestContext {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.context
    }
}

impl fmt::Debug for TestContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestContext").field("profile", &self.profile).finish_non_exhaustive()
    }
}
