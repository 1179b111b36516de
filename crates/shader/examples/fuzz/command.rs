//! Gives damaged SPIR-V to `vkarray run`, in a process of its own, and judges how that process ends.
//!
//! The arguments are those that the module's own signature asks for, so that what passes every check is built by the driver
//! and run on the device, with arrays of random numbers as its indices.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use vkarray_shader::{ElementType, Module, Options, Parameter, Source};

/// A kernel may run for ever, which is its author's right.
const PATIENCE: Duration = Duration::from_secs(30);

/// How the command ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ending {
    Code(i32),
    /// It was ended for its time.
    Endless,
    /// By a signal, or with a code that is not documented.
    Finding(String),
}

/// Runs the command on a module that lies in a file, and returns its last words as well.
pub(crate) fn run(command: &Path, file: &Path, bytes: &[u8]) -> (Ending, String) {
    let mut line = Command::new(command);
    line.args(["run", "--quiet", "--groups", "2", "--allow-small"]).arg(file).args(arguments(bytes));
    let mut child = line.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let begun = Instant::now();
    while child.try_wait().expect("it is ours").is_none() {
        if begun.elapsed() > PATIENCE {
            child.kill().expect("it is ours");
            child.wait().expect("it is ours");
            return (Ending::Endless, String::new());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().expect("it ended");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let ending = match output.status.code() {
        Some(code @ 0..=2) => Ending::Code(code),
        _ => Ending::Finding(output.status.to_string()),
    };
    (ending, text)
}

/// What the first entry point asks for; nothing where there is none.
fn arguments(bytes: &[u8]) -> Vec<String> {
    let signature = Module::parse(&Source::spirv(bytes.to_vec())).and_then(|module| {
        let entry = module.entry_points().next().unwrap_or_default().to_owned();
        module.translate(Some(&entry), &BTreeMap::new(), &Options { robust_buffers: true, ..Options::default() })
    });
    let Ok(signature) = signature.map(|translated| translated.signature) else { return Vec::new() };
    let argument = |parameter: Parameter<'_>| {
        let value = match parameter {
            Parameter::Array(param) => match &param.ty {
                ElementType::Array { element, len: None, .. } if is_random(element) => format!("random:{element}[61]"),
                ElementType::Array { element, len: Some(len), .. } if is_random(element) => {
                    format!("random:{element}[{len}]")
                }
                _ => format!(
                    "zeros:u8[{}]",
                    (param.fixed_bytes + 8 * u64::from(param.stride.unwrap_or_default())).min(1 << 24)
                ),
            },
            Parameter::Scalar(member) => match &member.ty {
                ElementType::Vector { len, .. } => vec!["2"; usize::from(*len)].join(","),
                _ => "3".to_owned(),
            },
        };
        ["--arg".to_owned(), format!("{}={value}", parameter.name())]
    };
    signature.arguments().flat_map(argument).collect()
}

fn is_random(element: &ElementType) -> bool {
    ["f32", "f64", "u32", "i32", "u64", "i64", "u16", "i16", "u8", "i8"].contains(&element.to_string().as_str())
}
