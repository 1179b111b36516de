//! A program of another project as a process: [`Tool`], which gives it bytes and returns what it says.
//!
//! There is no shell. Input and answer are passed in temporary files, so that no pipe can fill up. A program that hangs is
//! ended after its time limit, and only the first [`MAX_ANSWER`] bytes of an answer are read.
//! Used for Khronos's validator (`binary/validator.rs`) and its compiler of GLSL (`glsl/compiler.rs` of `vkarray-shader`).

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

/// Shaders of usual size take milliseconds.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Bytes of an answer that are read.
pub(crate) const MAX_ANSWER: u64 = 16 << 10;

/// A program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tool {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) time_limit: Duration,
}

/// What a program answered.
#[derive(Debug)]
pub struct Answer {
    /// How it ended.
    pub status: ExitStatus,
    /// The beginning of what it wrote to its standard output and error.
    pub text: String,
}

/// Why a program gave no answer.
#[derive(Debug)]
pub enum ToolError {
    /// It cannot be started.
    Missing(io::Error),
    /// It did not end in time, or a file for its input or answer cannot be used.
    Failed(String),
}

impl Tool {
    /// A program with the usual time limit.
    pub fn new(program: OsString, arguments: impl IntoIterator<Item = OsString>) -> Self {
        Self { program, arguments: arguments.into_iter().collect(), time_limit: TIME_LIMIT }
    }

    /// The program that an environment variable names, else the one of that name in `PATH`.
    pub fn named_by(variable: &str, program: &str) -> OsString {
        std::env::var_os(variable).filter(|path| !path.is_empty()).unwrap_or_else(|| program.into())
    }

    /// Runs the program on an input. Blocks until it ends, for a minute at most.
    ///
    /// # Errors
    ///
    /// [`ToolError`] where it gives no answer.
    pub fn run(&self, input: &[u8]) -> Result<Answer, ToolError> {
        let failed = |reason: io::Error| ToolError::Failed(reason.to_string());
        let mut answer = tempfile::tempfile().map_err(failed)?;
        let mut child = self.start(input, &answer)?;
        let Some(status) = ended(&mut child, self.time_limit).map_err(failed)? else {
            return Err(ToolError::Failed(format!("it was ended after {} s", self.time_limit.as_secs())));
        };
        answer.rewind().map_err(failed)?;
        let mut bytes = Vec::new();
        answer.take(MAX_ANSWER).read_to_end(&mut bytes).map_err(failed)?;
        Ok(Answer { status, text: String::from_utf8_lossy(&bytes).into_owned() })
    }

    fn start(&self, input: &[u8], answer: &File) -> Result<Child, ToolError> {
        let failed = |reason: io::Error| ToolError::Failed(reason.to_string());
        let mut file = tempfile::tempfile().map_err(failed)?;
        file.write_all(input).map_err(failed)?;
        file.rewind().map_err(failed)?;
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).stdin(file);
        command.stdout(answer.try_clone().map_err(failed)?).stderr(answer.try_clone().map_err(failed)?);
        command.spawn().map_err(ToolError::Missing)
    }

    /// The program's name, for messages.
    pub fn name(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }
}

/// Waits for a process, and ends it when it takes too long.
fn ended(child: &mut Child, time_limit: Duration) -> io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begun.elapsed() > time_limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}
