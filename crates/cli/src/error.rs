//! [`Error`]: why a command fails, and with which exit code.
//!
//! Most variants are wrong input: the user can correct it, and no output was written. The other variants are failures
//! of the machine; [`Error::exit_code`] lists them. Errors of the library keep their messages; [`is_machine_failure`]
//! sorts them into the two kinds. Every message contains its reason.

use std::error::Error as StdError;
use std::io;
use std::path::PathBuf;

use vkarray::DType;
use vkarray::device::{Error as DriverError, ValidationMessage};
use vkarray::io::FileError;
use vkarray::kernel::signature::Names;
use vkarray::kernel::{BadScalar, Error as KernelError, ShaderError};
use vkarray::memory::Error as MemoryError;
use vkarray_test::NotRun;

/// A result with this crate's error.
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Why a command fails.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Error {
    #[error("`{flag} {text}`: expected {}", if matches!(*.flag, "--out" | "--compare") { "NAME=FILE" } else { "NAME=VALUE" })]
    NotAPair { flag: &'static str, text: String },
    #[error("argument `{name}`: cannot read `{text}`: {reason}")]
    Value { name: String, text: String, reason: String },
    #[error("argument `{name}`: {} is neither .npy, .npz:NAME, .png, .jpg nor .jpeg", .path.display())]
    InputExtension { name: String, path: PathBuf },
    #[error("argument `{name}`: an array of {dtype}{} overflows the address space", shape_text(.shape))]
    ShapeOverflow { name: String, shape: Vec<usize>, dtype: DType },
    #[error("argument `{name}`: {reason}")]
    Number { name: String, reason: BadScalar },
    #[error("argument `{name}`: {dtype} cannot count to {last}")]
    ArangeRange { name: String, last: u64, dtype: DType },
    #[error("`{flag} {text}`: {reason}")]
    Grid { flag: &'static str, text: String, reason: &'static str },

    #[error("cannot read {}: {reason}", .path.display())]
    Read { path: PathBuf, reason: io::Error },
    #[error("{}: a shader is .wgsl, .comp, .glsl or .spv", .path.display())]
    ShaderExtension { path: PathBuf },
    #[error("{}: elements of type {dtype} cannot be read; expected bool, an integer or a float of 16 to 64 bits",
        .path.display())]
    NpyDType { path: PathBuf, dtype: DType },
    #[error(transparent)]
    File(Box<FileError>),
    #[error("{} holds neither a PNG nor a JPEG image", .path.display())]
    PictureFormat { path: PathBuf },
    #[error("cannot decode {}: {reason}", .path.display())]
    Picture { path: PathBuf, reason: Box<image::ImageError> },
    #[error("cannot decode {}: its decoder failed: {reason}", .path.display())]
    PictureDecoder { path: PathBuf, reason: String },
    #[error("{}: {width} x {height} pixels are more than the {limit} that are read", .path.display())]
    PictureTooLarge { path: PathBuf, width: u32, height: u32, limit: u64 },
    #[error("{} changed while it was read: shape {} became {}",
        .path.display(), shape_text(.before), shape_text(.after))]
    PictureChanged { path: PathBuf, before: Vec<usize>, after: Vec<usize> },

    #[error("`--const {text}`: expected a number, true or false")]
    ConstantValue { text: String },
    #[error("constant `{name}` is given twice")]
    DuplicateConstant { name: String },
    #[error(
        "argument `{name}` holds {elements} elements of {element}, but `--covering` asks for {invocations} \
        invocations; give it as many elements, or pass --allow-small if the shader writes fewer"
    )]
    TooFewElements { name: String, element: String, elements: u64, invocations: u128 },
    #[error("`--groups {text}`: a count is at most {}", u32::MAX)]
    GroupsRange { text: String },
    #[error("give either `--covering`, the invocations that are wanted, or `--groups`, the workgroups")]
    NoGrid,

    #[error("{}: {}", .path.display(), .reason.to_string().trim_end())]
    PipelineText { path: PathBuf, reason: Box<toml::de::Error> },
    #[error("{}: {place}: {reason}", .path.display())]
    Pipeline { path: PathBuf, place: String, reason: Box<Error> },
    #[error("`{flag}` is for one shader; the steps of {} have it as a key", .path.display())]
    OfOneShader { flag: &'static str, path: PathBuf },
    #[error("{reason}")]
    StepTable { reason: &'static str },
    #[error("there is no array `{name}`; there is {names}")]
    UnknownArray { name: String, names: Names },
    #[error("no step takes the array `{name}`")]
    UnusedArray { name: String },

    #[error("{}: there is no array `{name}` to read back; there is {names}", .path.display())]
    OutputUnknown { name: String, path: PathBuf, names: Names },
    #[error("result `{name}` is {dtype}, which no file holds")]
    ResultType { name: String, dtype: DType },
    #[error("{}: `{name}` is a number, not an array", .path.display())]
    OutputNotArray { name: String, path: PathBuf },
    #[error("{}: `{name}` is only read, so there is nothing to write", .path.display())]
    OutputReadOnly { name: String, path: PathBuf },
    #[error("{} is the file of two outputs", .path.display())]
    OutputTwice { path: PathBuf },
    #[error("{}: an output is .npy, .npz, .png or -", .path.display())]
    OutputExtension { path: PathBuf },
    #[error("{}: there is no folder {}", .path.display(), .folder.display())]
    OutputFolder { folder: PathBuf, path: PathBuf },
    #[error("{} is a folder", .path.display())]
    OutputIsFolder { path: PathBuf },
    #[error("{} is a file that is read, so it is not written", .path.display())]
    OutputIsInput { path: PathBuf },
    #[error("{} cannot be written: {reason}", .path.display())]
    OutputRefused { path: PathBuf, reason: io::Error },
    #[error("{}: `{name}` is {dtype}{}; a .png holds bool, u8, u16, i32, u32 or f32 of shape h x w or \
        h x w x 1, 3 or 4, a .npy any array",
        .path.display(), shape_text(.shape))]
    OutputShape { name: String, path: PathBuf, dtype: DType, shape: Vec<usize> },

    #[error("{message}")]
    Differs { message: String },
    #[error("result `{name}` is {actual}, and {expected} is expected: only elements of one type are compared")]
    ComparedTypes { name: String, actual: DType, expected: DType },
    #[error("`{flag} {value}`: expected a finite number that is not negative")]
    Tolerance { flag: &'static str, value: f64 },
    #[error("{}", .reason.to_string().replace(&.file.display().to_string(), "standard input"))]
    Stdin { file: PathBuf, reason: Box<Error> },
    #[error("{variable}: {reason}")]
    Variable { variable: &'static str, reason: Box<Error> },
    #[error("standard input is named twice, and can be read once")]
    StdinTwice,
    #[error("{kernels} did not end within {seconds} s; a driver of a CPU compiles a kernel when it first runs")]
    FirstRun { kernels: String, seconds: u64 },
    #[error("no check has `{filter}` in its name; `vkarray check --list` prints all names")]
    NoCheck { filter: String },
    #[error("{n_failed} of {n_checks} checks failed")]
    Checks { n_failed: usize, n_checks: usize },

    #[error("{}:{line}: test `{test}`: {}{reason}", .path.display(), key_text(.key))]
    TestFile { path: PathBuf, line: usize, test: String, key: String, reason: Box<Error> },
    #[error("{}: there is no `[[test]]`", .path.display())]
    NoTests { path: PathBuf },
    #[error("no test has `{filter}` in its name; --list prints all names")]
    NoTest { filter: String },
    #[error("{0}")]
    Setting(String),
    #[error("{}: there is no shader (.wgsl, .comp, .glsl, .spv)", .folder.display())]
    NoShaders { folder: PathBuf },
    #[error("{} exists, and is not replaced", .path.display())]
    Exists { path: PathBuf },
    #[error("{n_failed} of {n_trials} trials failed{}", problems_text(*.n_problems))]
    Tests { n_failed: usize, n_trials: usize, n_problems: usize },
    /// The process of the tests has printed its error.
    #[error("the process of the tests ended with {code}")]
    Reported { code: u8 },

    #[error(transparent)]
    Array(Box<vkarray::Error>),

    #[error("the validation layer objects, which is a defect of this program or of the driver: {}", joined(.messages))]
    Validation { messages: Vec<ValidationMessage> },
    #[error("out of host memory for an array of {bytes} bytes")]
    HostMemory { bytes: usize },
    #[error("cannot write {}: {reason}", .path.display())]
    Write { path: PathBuf, reason: Box<dyn StdError + Send + Sync> },
    #[error("cannot replace {}{}: {reason}", .path.display(), already(.written))]
    Replace { path: PathBuf, written: Vec<PathBuf>, reason: io::Error },
    #[error("cannot use the cache in {}: {reason}", .folder.display())]
    Cache { folder: PathBuf, reason: io::Error },
    #[error("there is no folder {}", .path.display())]
    NoFolder { path: PathBuf },
    #[error("this program has a defect: {reason}")]
    Defect { reason: String },
    #[error("cannot print the report: {reason}")]
    Report { reason: io::Error },
}

impl Error {
    /// The codes of `docs/command.md`: 4 if results differ, 3 if there is no device, 2 for wrong input, 1 for the rest,
    /// also for tests that failed.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Checks { .. } | Self::Differs { .. } => 4,
            Self::Array(error) if error.is_no_device() => 3,
            Self::Pipeline { reason, .. }
            | Self::Stdin { reason, .. }
            | Self::Variable { reason, .. }
            | Self::TestFile { reason, .. } => reason.exit_code(),
            Self::Reported { code } => *code,
            Self::Validation { .. } | Self::Defect { .. } | Self::Cache { .. } | Self::HostMemory { .. } => 1,
            Self::FirstRun { .. } | Self::Write { .. } | Self::Replace { .. } | Self::Report { .. } => 1,
            Self::Tests { .. } => 1,
            Self::Array(error) if is_machine_failure(error) => 1,
            Self::File(error) if !error.is_input() => 1,
            _ => 2,
        }
    }
}

impl From<vkarray::Error> for Error {
    fn from(error: vkarray::Error) -> Self {
        Self::Array(Box::new(error))
    }
}

impl From<FileError> for Error {
    fn from(error: FileError) -> Self {
        Self::File(Box::new(error))
    }
}

impl From<NotRun> for Error {
    fn from(error: NotRun) -> Self {
        match error {
            NotRun::Device(error) => error.into(),
            other => Self::Setting(other.to_string()),
        }
    }
}

/// The errors of the library's crates are reported as those of the library.
macro_rules! of_library {
    ($($error:ty)*) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                vkarray::Error::from(error).into()
            }
        })*
    };
}
of_library!(KernelError ShaderError DriverError MemoryError);

/// Whether every other input would have failed too. Most errors of the library are refused input.
fn is_machine_failure(error: &vkarray::Error) -> bool {
    match error {
        vkarray::Error::Driver(error) => is_driver_failure(error),
        vkarray::Error::Memory(error) => is_memory_failure(error),
        vkarray::Error::Kernel(KernelError::BuildLimit { .. }) => true,
        vkarray::Error::Kernel(KernelError::Shader(error)) => {
            matches!(error, ShaderError::CompilerPanicked { .. } | ShaderError::CompilerThread { .. })
        }
        _ => false,
    }
}

fn is_memory_failure(error: &MemoryError) -> bool {
    match error {
        MemoryError::Driver(error) => is_driver_failure(error),
        // The memory is larger than any buffer of this device: more free memory would not help.
        MemoryError::TooLarge { .. } | MemoryError::UnknownManager { .. } | MemoryError::BadSetting { .. } => false,
        _ => true,
    }
}

/// A device that does not exist, or cannot do the work, is a wrong choice of device, which is input.
fn is_driver_failure(error: &DriverError) -> bool {
    !matches!(
        error,
        DriverError::ValidationMissing { .. }
            | DriverError::UnknownDevice { .. }
            | DriverError::BadSelector { .. }
            | DriverError::BadLimits { .. }
            | DriverError::BadSetting { .. }
            | DriverError::Unsuitable { .. }
    )
}

fn joined(messages: &[ValidationMessage]) -> String {
    messages.iter().map(ValidationMessage::to_string).collect::<Vec<_>>().join("; ")
}

fn already(written: &[PathBuf]) -> String {
    if written.is_empty() {
        return String::new();
    }
    let paths: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
    format!(" (already written: {})", paths.join(", "))
}

/// The key of a test, before the reason.
fn key_text(key: &str) -> String {
    if key.is_empty() { String::new() } else { format!("`{key}`: ") }
}

fn problems_text(n: usize) -> String {
    if n == 0 { String::new() } else { format!(", and the run has {n} problems") }
}

/// Formats a shape as the command line takes it: `[3,4]`.
pub(crate) fn shape_text(shape: &[usize]) -> String {
    let lens: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("[{}]", lens.join(","))
}

#[cfg(test)]
mod tests {
    use vkarray::memory::{MemoryKind, OutOfMemory, Shortage};

    use super::*;

    fn io_error() -> io::Error {
        io::Error::other("the reason")
    }

    #[test]
    fn exit_codes_tell_wrong_input_from_a_failing_machine() {
        let lost = || DriverError::DeviceLost { call: "vkQueueSubmit2", labels: Vec::new() };
        let report = OutOfMemory::new(1, MemoryKind::Device, Shortage::DeviceMemory);
        let group_count = KernelError::GroupCount { axis: 'x', wanted: 70000, limit: 65535, advice: "" };
        let unknown =
            DriverError::UnknownDevice { selector: "x".into(), origin: "the device argument", available: vec![] };
        let cases: Vec<(Error, u8)> = vec![
            (Error::Read { path: "x".into(), reason: io_error() }, 2), // A file that the user named.
            (FileError::Elements { name: "x".into(), reason: io_error() }.into(), 2),
            (FileError::WriteElements { reason: io_error() }.into(), 1),
            (Error::Write { path: "x".into(), reason: io_error().into() }, 1),
            (Error::Report { reason: io_error() }, 1),
            (Error::Validation { messages: Vec::new() }, 1),
            (Error::Defect { reason: String::new() }, 1),
            (Error::PictureDecoder { path: "x".into(), reason: String::new() }, 2),
            (lost().into(), 1),
            (KernelError::from(lost()).into(), 1), // At any depth.
            (vkarray::Error::from(MemoryError::from(lost())).into(), 1),
            (KernelError::from(MemoryError::from(lost())).into(), 1),
            (unknown.into(), 2),
            (DriverError::NoDevice { hint: "" }.into(), 3),
            (DriverError::LoaderMissing { reason: String::new(), hint: "" }.into(), 3),
            (vkarray::Error::from(MemoryError::from(DriverError::NoDevice { hint: "" })).into(), 3),
            (DriverError::ValidationMissing { hint: "" }.into(), 2),
            (vkarray::Error::from(MemoryError::OutOfMemory(Box::new(report))).into(), 1),
            (vkarray::Error::from(MemoryError::TooLarge { bytes: 2, limit: 1 }).into(), 2), // Memory would not help.
            (group_count.into(), 2),
            (Error::NoCheck { filter: "x".to_owned() }, 2),
            (Error::Cache { folder: "x".into(), reason: io_error() }, 1),
            (Error::NoFolder { path: "x".into() }, 2),
            (Error::Differs { message: String::new() }, 4),
            (Error::Pipeline { path: "x".into(), place: "step 1".to_owned(), reason: Box::new(lost().into()) }, 1),
            (Error::Checks { n_failed: 1, n_checks: 2 }, 4),
            (Error::Tests { n_failed: 1, n_trials: 2, n_problems: 0 }, 1),
            (Error::NoTests { path: "x".into() }, 2),
        ];
        for (error, code) in cases {
            assert_eq!(error.exit_code(), code, "{error:?}");
        }
    }

    #[test]
    fn a_message_contains_its_reason() {
        let error = Error::Read { path: "x.npy".into(), reason: io_error() };
        assert_eq!(error.to_string(), "cannot read x.npy: the reason");
        let written = vec!["a".into(), "b".into()];
        let error = Error::Replace { path: "c".into(), written, reason: io_error() };
        assert_eq!(error.to_string(), "cannot replace c (already written: a, b): the reason");
        let error: Error = FileError::Elements { name: "x.npy".into(), reason: io_error() }.into();
        assert_eq!(error.to_string(), "x.npy: the elements are damaged: the reason"); // One level deeper.
    }
}
