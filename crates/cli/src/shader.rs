//! Shaders from files: the file's extension says the language.
//!
//! The file is only read here. The library parses it.

use std::fs;
use std::path::Path;

use vkarray::Source;

use crate::error::{Error, Result};

/// Reads a shader, named by its path in messages.
///
/// # Errors
///
/// [`Error::ShaderExtension`]; [`Error::Read`] if there is no such file, or it should be text and is not.
pub(crate) fn read_shader(path: &Path) -> Result<Source> {
    let cannot_read = |reason| Error::Read { path: path.to_owned(), reason };
    let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
    let source = match extension.as_deref() {
        Some("wgsl") => Source::wgsl(fs::read_to_string(path).map_err(cannot_read)?),
        Some("comp" | "glsl") => Source::glsl(fs::read_to_string(path).map_err(cannot_read)?),
        Some("spv") => Source::spirv(fs::read(path).map_err(cannot_read)?),
        _ => return Err(Error::ShaderExtension { path: path.to_owned() }),
    };
    Ok(source.named(path.display().to_string()))
}
