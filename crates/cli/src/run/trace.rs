//! The trace of a run: the path of its file, and writing it when the device's work is complete.
//!
//! The path is checked with the plan, before a device is opened. The library records and formats the trace.

use std::env;
use std::path::PathBuf;

use vkarray::Context;
use vkarray::stream::Trace;

use crate::error::{Error, Result};
use crate::files::{Files, Target};

/// The variable that names the file if the command line does not.
const VARIABLE: &str = "VKARRAY_TRACE";

/// The trace's file: the file of the flag, else of the environment. `files` are the files of the call.
///
/// # Errors
///
/// The errors of [`Files::target`], in [`Error::Variable`] if the environment names the file.
pub(crate) fn target(flag: Option<&PathBuf>, files: &mut Files) -> Result<Option<Target>> {
    if let Some(path) = flag {
        return files.target(path).map(Some);
    }
    let path = env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    let named = |reason| Error::Variable { variable: VARIABLE, reason: Box::new(reason) };
    path.map(|path| files.target(&path).map_err(named)).transpose()
}

/// A trace that is being recorded.
#[derive(Debug)]
pub(crate) struct TraceFile {
    trace: Trace,
    target: Target,
}

impl TraceFile {
    pub(crate) fn start(ctx: &Context, target: Target) -> Result<Self> {
        let trace = Trace::start(ctx.device()).map_err(vkarray::Error::from)?;
        Ok(Self { trace, target })
    }

    /// Writes the whole file, or no file if writing fails.
    ///
    /// # Errors
    ///
    /// [`Error::Write`], [`Error::Replace`].
    pub(crate) fn finish(self) -> Result<()> {
        let Self { trace, target } = self;
        target.write(|file| Ok(trace.finish(file)?))
    }
}
