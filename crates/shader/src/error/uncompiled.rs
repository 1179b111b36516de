//! Why a shader in GLSL was not compiled although nothing is known to be wrong with it: [`Uncompiled`], which
//! [`Error::GlslCompiler`] carries.
//!
//! `glsl/compiler.rs` makes it.
//!
//! [`Error::GlslCompiler`]: crate::Error::GlslCompiler

use std::io;

/// Why a shader in GLSL was not compiled.
///
/// ```
/// use vkarray_shader::Uncompiled;
///
/// let failed = Uncompiled::Failed { program: "glslangValidator".to_owned(), reason: "it was ended after 60 s".to_owned() };
/// assert_eq!(failed.to_string(), "glslangValidator gave no answer: it was ended after 60 s");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are those of the message above each variant; repeating them says nothing")]
pub enum Uncompiled {
    /// There is no compiler.
    #[error(
        "{program} cannot be started ({reason}), and without it no GLSL is compiled; install it (Debian, Ubuntu: \
         `glslang-tools`; Fedora, Arch, Homebrew: `glslang`; elsewhere the Vulkan SDK), name it in VKARRAY_GLSLANG, or build \
         vkarray with its feature `glslang`, which takes a C++ compiler"
    )]
    Missing { program: String, reason: io::Error },
    /// The compiler did not answer.
    #[error("{program} gave no answer: {reason}")]
    Failed { program: String, reason: String },
}
