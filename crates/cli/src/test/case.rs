//! [`Case`]: a test of a file at each of its sizes, planned, and its run on a device.

use std::path::PathBuf;
use std::sync::Arc;

use vkarray::device::Features;
use vkarray_test::{Profile, Test, TestContext};

use super::expected::Expected;
use crate::error::{Error, Result};
use crate::run::execute::compute;
use crate::run::plan::{BuildArgs, Work};

/// A test that has passed every check that needs no device.
#[derive(Debug)]
pub(crate) struct Case {
    /// The name of the file without its extension, `::`, and the name of the test.
    pub(crate) name: String,
    pub(crate) file: PathBuf,
    /// The line of the test in its file.
    pub(crate) line: usize,
    /// The shaders, as messages name them.
    pub(crate) shaders: Vec<String>,
    /// The kernels and their shaders, for the message of a trial that does not end.
    pub(crate) subject: String,
    pub(crate) needs: Features,
    pub(crate) without: Vec<Profile>,
    pub(crate) sizes: Vec<Sized>,
}

/// A test at one size.
#[derive(Debug)]
pub(crate) struct Sized {
    pub(crate) size: Option<usize>,
    pub(crate) work: Work,
    pub(crate) expected: Vec<Expected>,
}

impl Case {
    /// The test for a suite.
    pub(crate) fn test(self: &Arc<Self>, how: BuildArgs) -> Test {
        let case = Arc::clone(self);
        let test =
            Test::new(self.name.clone(), move |ctx| case.run(ctx, how)).of(self.subject.clone()).needs(self.needs);
        self.without.iter().cloned().fold(test, Test::without)
    }

    /// Runs the sizes in order. The message of a failure names the size.
    fn run(&self, ctx: &TestContext, how: BuildArgs) -> std::result::Result<(), String> {
        for at in &self.sizes {
            let named = |error: Error| at.size.map_or_else(|| error.to_string(), |n| format!("n = {n}: {error}"));
            at.run(ctx, how).map_err(named)?;
        }
        Ok(())
    }
}

impl Sized {
    fn run(&self, ctx: &TestContext, how: BuildArgs) -> Result<()> {
        let is_result =
            |name: &str| self.expected.iter().any(|expected| expected.name == name || expected.other() == Some(name));
        let results = compute(&self.work, ctx, how, is_result)?;
        let result = |name: &str| results.iter().find(|(own, _)| own == name).map(|(_, array)| array);
        self.expected.iter().try_for_each(|expected| expected.check(&self.work, (ctx, how), result))
    }
}
