//! [`Supervised`]: a suite runs in a process of its own, so that the run is judged also if that process ends too early.
//!
//! A test that calls `exit(0)` ends its process with success, and a driver that crashes ends it without a report. The
//! program therefore starts itself again, with [`VARIABLE`] set to a file. The second process notes in the file which
//! trials run, and in the end that all have ended. Without that last note the run has failed.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::report::{Results, remove_reports};

/// The variable with the file of notes, set for the process that runs the tests.
const VARIABLE: &str = "VKARRAY_TEST_RUN";

/// The note of a run that has ended by itself.
const ENDED: &str = "all trials have ended";

/// The exit code of a run with failures, which is libtest's.
pub(crate) const FAILED: u8 = 101;

/// The file of notes, in a process that runs the tests.
#[derive(Debug, Clone)]
pub(crate) struct Notes(PathBuf);

impl Notes {
    /// `None` in the process that the user started. A suite that a test of another suite starts is such a process too.
    pub(crate) fn of_environment(suite: &str) -> Option<Self> {
        let path = PathBuf::from(env::var_os(VARIABLE)?);
        let name = path.file_name()?.to_string_lossy().into_owned();
        name.strip_prefix(suite)?.starts_with(".run-").then_some(Self(path))
    }

    /// Notes which trials run.
    pub(crate) fn write_running(&self, trials: &[String]) {
        fs::write(&self.0, trials.join(", ")).ok(); // If the notes cannot be written, the run fails.
    }

    /// Notes that the run has ended by itself.
    pub(crate) fn write_end(&self) {
        fs::write(&self.0, ENDED).ok();
    }
}

/// What [`supervise`] has found.
#[derive(Debug)]
#[must_use]
pub enum Supervised {
    /// This is the process that runs the tests. It calls [`Ending::end`] when it has reported them.
    Inside(Ending),
    /// The process of the tests has reported and ended, with this exit code; `None` if a thread of a trial was left.
    Ended(Option<u8>),
    /// The process of the tests has ended too early: results with that problem alone.
    Died(Results),
}

/// The end of the process that runs the tests.
#[derive(Debug)]
pub struct Ending(Notes);

impl Ending {
    pub(crate) fn new(notes: &Notes) -> Self {
        Self(notes.clone())
    }

    /// Notes that all trials have ended and are reported. Does not return if `has_late` says that the thread of a trial
    /// still runs, because code of libraries that runs at the exit of a process may wait for that thread.
    pub fn end(self, has_late: bool) {
        self.0.write_end();
        if has_late {
            std::process::abort();
        }
    }
}

/// Starts this program again, with its arguments and the `variables`, to run the tests of a suite there. In the process
/// that is started, returns at once. A test or a driver that ends that process is a failure that names the trials that
/// ran. `folder` gets a file of notes.
pub fn supervise(suite: &str, folder: &Path, variables: &[(&str, &str)]) -> Supervised {
    if let Some(notes) = Notes::of_environment(suite) {
        return Supervised::Inside(Ending(notes));
    }
    let notes = folder.join(format!("{suite}.run-{}", std::process::id()));
    let judged = run(&notes, folder, variables);
    fs::remove_file(&notes).ok(); // The file does not exist if the process did not begin.
    match judged {
        Ok(code) => Supervised::Ended(code),
        Err(problem) => Supervised::Died(Results::of_problem(suite, problem)),
    }
}

fn run(notes: &Path, folder: &Path, variables: &[(&str, &str)]) -> Result<Option<u8>, String> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    remove_reports(folder)?;
    let program = env::current_exe().map_err(|error| format!("this program has no path: {error}"))?;
    let mut command = Command::new(program);
    command.args(env::args_os().skip(1)).env(VARIABLE, notes).envs(variables.iter().copied());
    let status = command.status();
    let status = status.map_err(|error| format!("this program cannot be started again: {error}"))?;
    let noted = fs::read_to_string(notes).unwrap_or_default();
    match noted.as_str() {
        ENDED => Ok(status.code().and_then(|code| u8::try_from(code).ok())),
        "" => Err(format!("the process of the tests ended ({status}) before all trials had")),
        running => Err(format!("the process of the tests ended ({status}) while {running} ran")),
    }
}
