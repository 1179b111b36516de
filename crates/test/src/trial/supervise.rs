//! [`supervise`]: a suite runs in a process of its own, so that the run is judged also if that process ends too early.
//!
//! A test that calls `exit(0)` ends its process with success, and a driver that crashes ends it without a report. The
//! program therefore starts itself again, with [`VARIABLE`] set to a file. The second process notes in the file which
//! trials run, and in the end that all have ended. Without that last note the run has failed.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

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

/// Runs the suite in another process. The reports of an earlier run are removed first.
pub(crate) fn supervise(suite: &str, folder: &Path) -> ExitCode {
    let notes = folder.join(format!("{suite}.run-{}", std::process::id()));
    let judged = run(&notes, folder);
    let noted = fs::remove_file(&notes);
    match judged {
        Ok(code) => code,
        Err(problem) => {
            eprintln!("error: {suite}: {problem}");
            Results::of_problem(suite, problem).report(folder);
            drop(noted); // The file does not exist if the process did not begin.
            ExitCode::from(FAILED)
        }
    }
}

fn run(notes: &Path, folder: &Path) -> Result<ExitCode, String> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    remove_reports(folder)?;
    let program = env::current_exe().map_err(|error| format!("this program has no path: {error}"))?;
    let mut command = Command::new(program);
    let status = command.args(env::args_os().skip(1)).env(VARIABLE, notes).status();
    let status = status.map_err(|error| format!("this program cannot be started again: {error}"))?;
    let noted = fs::read_to_string(notes).unwrap_or_default();
    match noted.as_str() {
        ENDED => Ok(status.code().map_or(FAILED, |code| u8::try_from(code).unwrap_or(FAILED)).into()),
        "" => Err(format!("the process of the tests ended ({status}) before all trials had")),
        running => Err(format!("the process of the tests ended ({status}) while {running} ran")),
    }
}
