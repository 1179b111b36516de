//! What can go wrong between a shader's text and its SPIR-V: [`Error`], one enum for the crate.
//!
//! What can be wrong with the SPIR-V itself, with a signature and with its limits is `vkarray-spirv`'s error, which
//! [`Error::Spirv`] carries; its `error/mod.rs` says how messages are written. Why GLSL was not compiled is in
//! `uncompiled.rs`.

use std::fmt;

use vkarray_spirv::{Error as SpirvError, Hint, Names};

mod uncompiled;

pub use uncompiled::Uncompiled;

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a shader could not be used.
///
/// ```
/// use vkarray_shader::{Error, Module, Source};
///
/// let error = Module::parse(&Source::wgsl("fn scale(")).unwrap_err();
/// assert!(matches!(error, Error::Parse { .. }));
/// assert!(error.to_string().starts_with("shader.wgsl:1:"), "{error}");
/// ```
///
/// The fields hold what the message shows. `kernel` is the entry point, `source_name` the name of the [`Source`], `param` or
/// `variable` a name in the shader, `found` the names that exist, and `hint` the nearest of them. What was asked for stands
/// beside `limit`, what the device allows; sizes are in bytes.
///
/// [`Source`]: crate::Source
#[derive(thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are those of the messages, and the enum's text says what they hold")]
pub enum Error {
    /// The SPIR-V, or a kernel with such a signature, cannot be used.
    #[error(transparent)]
    Spirv(#[from] SpirvError),
    /// The shader's text does not parse.
    #[error("{place}: {report}")]
    Parse { place: String, report: String },
    /// The shader parses, but breaks a rule of its language.
    #[error("{place}: {report}")]
    Invalid { place: String, report: String },
    /// A shader in GLSL, and nothing that compiles it.
    #[error("{source_name}: {problem}")]
    GlslCompiler { source_name: String, problem: Box<Uncompiled> },
    /// An option of the translator, for a kernel that is not translated.
    #[error("{source_name}: {option} is done while a shader is translated, and SPIR-V is taken as it is")]
    NotTranslated { source_name: String, option: &'static str },
    /// A library for a shader that is not WGSL.
    #[error("{source_name}: adding `{library}` is done while a shader is translated, and only WGSL has libraries")]
    Library { source_name: String, library: String },
    /// A macro or an include folder for a shader that is not GLSL.
    #[error("{source_name}: {what} was given, which only GLSL has")]
    OnlyGlsl { source_name: String, what: &'static str },
    /// The shader has no compute entry point.
    #[error("{source_name}: no compute entry point ({expected})")]
    NoEntryPoint { source_name: String, expected: &'static str },
    /// Several entry points, and none was named.
    #[error("{source_name}: name the entry point to use, one of {found}")]
    AmbiguousEntryPoint { source_name: String, found: Names },
    /// No entry point has that name.
    #[error("{source_name}: no compute entry point `{entry}`; there is {found}{hint}")]
    UnknownEntryPoint { source_name: String, entry: String, found: Names, hint: Hint },
    /// A constant without a default that was not set.
    #[error("kernel `{kernel}`: constant `{constant}` has no default and must be set; its constants are {found}")]
    MissingConstant { kernel: String, constant: String, found: Names },
    /// No shared variable has that name.
    #[error("kernel `{kernel}`: no shared variable `{variable}`; there is {found}{hint}")]
    UnknownShared { kernel: String, variable: String, found: Names, hint: Hint },
    /// A size that the shader does not leave open, or that was set twice.
    #[error("kernel `{kernel}`: {what} cannot be set: {problem}")]
    Size { kernel: String, what: String, problem: String },
    /// The values of the constants make the shader invalid, such as an array of no elements.
    #[error("kernel `{kernel}`: not valid with the constants {values}: {report}")]
    Constants { kernel: String, values: String, report: String },
    /// The compiler cannot express the shader in SPIR-V.
    #[error("kernel `{kernel}`: cannot be written as SPIR-V: {reason}")]
    Unwritable { kernel: String, reason: String },
    /// The shader compiler panicked, which is a defect of the compiler.
    #[error("{source_name}: the shader compiler panicked: {reason}")]
    CompilerPanicked { source_name: String, reason: String },
    /// No thread could be started to compile in.
    #[error("cannot start a thread to compile {source_name}: {reason}")]
    CompilerThread { source_name: String, reason: std::io::Error },
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_stay_small_enough_to_return() {
        assert!(size_of::<Error>() <= 112, "{}", size_of::<Error>());
    }
}
