//! Khronos's compiler of GLSL: [`Compiler`], in the process or as a program.
//!
//! With the feature `glslang` it is a part of the program, unless `VKARRAY_GLSLANG` names another one. Without the feature
//! it is the program that the variable names, else `glslangValidator` of `PATH`, run by `tool.rs`.
//! Read next: `in_process.rs`.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};

use vkarray_spirv::internal::{Tool, ToolError};

use crate::error::Uncompiled;

/// The compiler to use instead of that in `PATH`.
const VARIABLE: &str = "VKARRAY_GLSLANG";

/// The compiler's name in `PATH`.
const PROGRAM: &str = "glslangValidator";

/// Bytes of SPIR-V that are read; a module of usual size has 10 KiB.
const MAX_MODULE: u64 = 64 << 20;

/// The name of the block that OpenGL's uniform variables are put into, and so the type of their push constants.
pub(super) const UNIFORMS: &str = "Uniforms";

/// Which compiler is used.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Compiler {
    #[cfg(feature = "glslang")]
    InProcess,
    Program(OsString),
}

/// What a shader may declare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rules {
    /// What Vulkan has.
    Vulkan,
    /// Uniform variables outside of blocks too.
    OpenGl,
}

/// What a compiler made of a text.
#[derive(Debug)]
pub(super) enum Outcome {
    Compiled(Vec<u32>),
    /// What it said.
    Refused(String),
}

impl Compiler {
    pub(super) fn of_environment() -> Self {
        #[cfg(feature = "glslang")]
        if std::env::var_os(VARIABLE).is_none_or(|path| path.is_empty()) {
            return Self::InProcess;
        }
        Self::Program(Tool::named_by(VARIABLE, PROGRAM))
    }

    pub(super) fn compile(&self, text: &str, rules: Rules) -> Result<Outcome, Uncompiled> {
        match self {
            #[cfg(feature = "glslang")]
            Self::InProcess => super::in_process::compile(text, rules),
            Self::Program(program) => run(program, text, rules),
        }
    }
}

fn run(program: &OsString, text: &str, rules: Rules) -> Result<Outcome, Uncompiled> {
    let name = || program.to_string_lossy().into_owned();
    let failed = |reason: io::Error| Uncompiled::Failed { program: name(), reason: reason.to_string() };
    // The program writes to a path: messages alone go to its standard output.
    let module = tempfile::NamedTempFile::new().map_err(failed)?.into_temp_path();
    // Every device that is opened has Vulkan 1.3. `-g` adds the lines.
    let fixed = ["--stdin", "-S", "comp", "--target-env", "vulkan1.3", "-g", "--quiet", "-o"].map(OsString::from);
    let loose: &[&str] = match rules {
        Rules::Vulkan => &[],
        Rules::OpenGl => &["-R", "--set-default-uniform-block", UNIFORMS, "0", "0"],
    };
    let path = module.as_os_str().to_owned();
    let tool = Tool::new(program.clone(), fixed.into_iter().chain([path]).chain(loose.iter().map(OsString::from)));
    let answer = tool.run(text.as_bytes()).map_err(|error| match error {
        ToolError::Missing(reason) => Uncompiled::Missing { program: name(), reason },
        ToolError::Failed(reason) => Uncompiled::Failed { program: name(), reason },
    })?;
    let mut bytes = Vec::new();
    File::open(&module).and_then(|file| file.take(MAX_MODULE).read_to_end(&mut bytes)).map_err(failed)?;
    let (words, _) = bytes.as_chunks::<4>();
    match answer.status.code() {
        Some(0) if !words.is_empty() => {
            Ok(Outcome::Compiled(words.iter().map(|word| u32::from_le_bytes(*word)).collect()))
        }
        Some(1..) if answer.text.contains("ERROR:") => Ok(Outcome::Refused(answer.text)),
        _ => {
            let reason = format!("it ended with {} {}", answer.status, answer.text.trim()).trim_end().to_owned();
            Err(Uncompiled::Failed { program: name(), reason })
        }
    }
}
