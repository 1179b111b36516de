//! Compute shaders in GLSL: [`compile`] makes SPIR-V of them, which then goes the way of all SPIR-V (`binary/mod.rs` of
//! `vkarray-spirv`).
//!
//! `expand.rs` puts the text, its defines and the files that it includes into one text, in which each line says where it
//! comes from; `folders.rs` decides which files an `#include` reaches. `compiler.rs` has Khronos's front end compile that
//! text, in the process (`in_process.rs`, the feature `glslang`) or as a program. `messages.rs` words its refusals, and
//! `uniforms.rs` makes push constants of OpenGL's uniform variables. Why no front end of our own: `docs/decisions/068`.
//! Called by `translate/module.rs`. Read next: `expand.rs`.

#[cfg(feature = "glslang")]
mod block_names;
mod compiler;
mod expand;
mod folders;
#[cfg(feature = "glslang")]
mod in_process;
mod messages;
mod uniforms;

use std::borrow::Cow;
use std::path::PathBuf;

use crate::error::{Error, Result};
use compiler::{Compiler, Outcome, Rules};
use expand::Expanded;

/// A shader in GLSL, as its author gives it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Glsl {
    pub(crate) text: Cow<'static, str>,
    /// Names and values of macros, in the order in which they are defined.
    pub(crate) defines: Vec<(String, String)>,
    pub(crate) include_dirs: Vec<PathBuf>,
    /// The text with all that it includes, and the compiler, once they are known.
    resolved: Option<Box<Resolved>>,
}

/// What the disk and the environment add to a text. Two shaders that are equal in it compile to the same SPIR-V.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Resolved {
    expanded: Expanded,
    compiler: Compiler,
}

impl Glsl {
    pub(crate) fn new(text: Cow<'static, str>) -> Self {
        Self { text, defines: Vec::new(), include_dirs: Vec::new(), resolved: None }
    }

    pub(crate) fn define(&mut self, name: String, value: String) {
        self.resolved = None;
        self.defines.push((name, value));
    }

    pub(crate) fn include_dir(&mut self, path: PathBuf) {
        self.resolved = None;
        self.include_dirs.push(path);
    }

    /// Reads what the shader includes, and chooses the compiler. Done once: later changes of the files have no effect.
    pub(crate) fn resolve(&mut self, name: &str) {
        if self.resolved.is_none() {
            let (expanded, compiler) = (expand::expand(name, self), Compiler::of_environment());
            self.resolved = Some(Box::new(Resolved { expanded, compiler }));
        }
    }
}

/// Compiles a shader to SPIR-V.
///
/// # Errors
///
/// [`Error::Parse`] with file and line; [`Error::GlslCompiler`] if there is no compiler, or it gives no answer.
pub(crate) fn compile(name: &str, glsl: &Glsl) -> Result<Vec<u32>> {
    let mut glsl = Cow::Borrowed(glsl);
    if glsl.resolved.is_none() {
        glsl.to_mut().resolve(name);
    }
    let Some(resolved) = &glsl.resolved else { unreachable!("it was resolved above") };
    let Resolved { expanded, compiler } = &**resolved;
    let failed = |problem| Error::GlslCompiler { source_name: name.to_owned(), problem: Box::new(problem) };
    let compile = |rules| compiler.compile(&expanded.text, rules).map_err(failed);
    let refusal = |log: &str| messages::refusal(name, expanded, log);
    match compile(Rules::Vulkan)? {
        Outcome::Compiled(words) => Ok(words),
        Outcome::Refused(log) if messages::has_loose_uniforms(&log) => match compile(Rules::OpenGl)? {
            Outcome::Compiled(words) => uniforms::as_push_constants(&words).ok_or_else(|| refusal(&log)),
            Outcome::Refused(log) => Err(refusal(&log)),
        },
        Outcome::Refused(log) => Err(refusal(&log)),
    }
}

#[cfg(test)]
mod tests;
