//! [`Test`]: a function with a name, and what a device needs for it. Runs nothing.

use std::fmt::{self, Display};
use std::sync::Arc;

use vkarray::device::{DeviceInfo, Features};

use crate::context::TestContext;
use crate::profile::Profile;

/// What a test function returns: nothing, or a result with any error that can be printed.
pub trait Outcome {
    /// The message of the failure; `None` if the test passed.
    fn failure(self) -> Option<String>;
}

impl Outcome for () {
    fn failure(self) -> Option<String> {
        None
    }
}

impl<E: Display> Outcome for Result<(), E> {
    fn failure(self) -> Option<String> {
        // The alternate form prints the causes, for errors that have it.
        self.err().map(|error| format!("{error:#}"))
    }
}

/// The function of a test. It returns the message of its failure.
type Body = Arc<dyn Fn(&TestContext) -> Option<String> + Send + Sync>;

/// A need of a test that is not one of the [`Features`]: its name, and whether a device has it.
type Condition = (&'static str, fn(&DeviceInfo) -> bool);

/// A test of a kernel.
///
/// ```
/// use vkarray::device::Features;
/// use vkarray_test::{Profile, Test, TestContext};
///
/// fn halves(ctx: &TestContext) -> vkarray::Result<()> {
///     assert_eq!(ctx.zeros::<vkarray::half::f16>(3)?.to_vec()?.len(), 3);
///     Ok(())
/// }
///
/// let halves = Test::new("halves", halves)
///     .needs(Features { shader_float16: true, ..Features::default() })
///     .without(Profile::Sanitized);
/// # drop(halves);
/// ```
#[derive(Clone)]
#[must_use = "a test runs in a suite"]
pub struct Test {
    pub(crate) name: String,
    pub(crate) body: Body,
    pub(crate) needs: Features,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) without: Vec<Profile>,
    pub(crate) may_be_idle: bool,
    pub(crate) threads_may_panic: bool,
    /// What is tested, for the message of a trial that does not end.
    pub(crate) subject: String,
}

impl Test {
    /// A test that runs on every device, under every profile of its suite.
    pub fn new<R: Outcome>(name: impl Into<String>, body: impl Fn(&TestContext) -> R + Send + Sync + 'static) -> Self {
        Self {
            name: name.into(),
            body: Arc::new(move |ctx| body(ctx).failure()),
            needs: Features::default(),
            conditions: Vec::new(),
            without: Vec::new(),
            may_be_idle: false,
            threads_may_panic: false,
            subject: "it".to_owned(),
        }
    }

    /// Skips the test on devices that lack one of these features. The report lists the skip with the feature.
    pub fn needs(mut self, features: Features) -> Self {
        self.needs = features;
        self
    }

    /// Skips the test on devices without something that is not one of the [`Features`], such as operations of
    /// subgroups. The report lists the skip with `name`.
    ///
    /// ```
    /// use vkarray_test::Test;
    ///
    /// let sums = Test::new("sums", |_| Ok::<(), vkarray::Error>(()))
    ///     .needs_that("subgroup arithmetic", |info| info.subgroup.operations & 4 != 0);
    /// # drop(sums);
    /// ```
    pub fn needs_that(mut self, name: &'static str, has: fn(&DeviceInfo) -> bool) -> Self {
        self.conditions.push((name, has));
        self
    }

    /// What is tested, such as a kernel and its file: a trial that takes longer than its limit names it.
    ///
    /// ```
    /// use vkarray_test::Test;
    ///
    /// let sums = Test::new("sums", |_| Ok::<(), vkarray::Error>(())).of("`sum` of kernels/sum.wgsl");
    /// # drop(sums);
    /// ```
    pub fn of(mut self, subject: impl Into<String>) -> Self {
        self.subject = subject.into();
        self
    }

    /// What a device lacks for the test.
    pub(crate) fn missing_from(&self, device: &DeviceInfo) -> Option<&'static str> {
        let condition = || self.conditions.iter().find(|(_, has)| !has(device)).map(|(name, _)| *name);
        self.needs.missing_from(&device.features).or_else(condition)
    }

    /// Leaves the test out under a profile. For example, a test of graphs is left out under [`Profile::Sanitized`],
    /// because graphs refuse kernels with checks.
    pub fn without(mut self, profile: Profile) -> Self {
        self.without.push(profile);
        self
    }

    /// Allows the test to create no array and build no kernel. Without this call, such a test fails, since a test that
    /// returns early checks nothing.
    pub fn may_be_idle(mut self) -> Self {
        self.may_be_idle = true;
        self
    }

    /// Allows callbacks of streams and other threads of the test to panic. Without this call, such a panic fails the
    /// test, since an assertion on another thread does not reach the test by itself.
    ///
    /// ```
    /// use vkarray_test::Test;
    ///
    /// let survives = Test::new("survives", |ctx| {
    ///     assert!(std::thread::spawn(|| panic!("on purpose")).join().is_err());
    ///     ctx.zeros::<f32>(1)?.item().map(drop)
    /// });
    /// # drop(survives.threads_may_panic());
    /// ```
    pub fn threads_may_panic(mut self) -> Self {
        self.threads_may_panic = true;
        self
    }
}

impl fmt::Debug for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Test").field("name", &self.name).finish_non_exhaustive()
    }
}
