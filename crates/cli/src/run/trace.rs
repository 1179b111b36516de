//! The trace of a run: the path of its file, and writing it when the device's work is complete.
//!
//! The path is checked with the plan, before a device is opened. The library records and formats the trace.

use std::env;
use std::path::PathBuf;

use vkarray::Context;
use vkarray::stream::Trace;

use super::output::{check_target, write_whole};
use crate::error::Result;

/// The variable that names the file if the command line does not.
const VARIABLE: &str = "VKARRAY_TRACE";

/// The path of the trace's file: that of the flag, else of the environment.
///
/// # Errors
///
/// [`Error::OutputFolder`], [`Error::OutputIsFolder`].
pub(crate) fn path(flag: Option<&PathBuf>) -> Result<Option<PathBuf>> {
    let from_environment = || env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    let path = flag.cloned().or_else(from_environment);
    path.as_deref().map_or(Ok(()), check_target)?;
    Ok(path)
}

/// A trace that is being recorded.
#[derive(Debug)]
pub(crate) struct TraceFile {
    trace: Trace,
    path: PathBuf,
}

impl TraceFile {
    pub(crate) fn start(ctx: &Context, path: PathBuf) -> Result<Self> {
        let trace = Trace::start(ctx.device()).map_err(vkarray::Error::from)?;
        Ok(Self { trace, path })
    }

    /// Writes the whole file, or none if that fails.
    ///
    /// # Errors
    ///
    /// [`Error::Write`], [`Error::Rename`].
    pub(crate) fn finish(self) -> Result<()> {
        let Self { trace, path } = self;
        write_whole(&path, |file| Ok(trace.finish(file)?))
    }
}
