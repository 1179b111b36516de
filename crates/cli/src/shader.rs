//! Shaders from files. The file's extension decides the language; the content decides the language of standard input.
//!
//! The file is only read here. The library parses it.

use std::fs;
use std::path::Path;

use vkarray::Source;
use vkarray::kernel::Library;

use crate::args::SourceArgs;
use crate::error::{Error, Result};
use crate::stdio;

/// The first word of SPIR-V, in either byte order.
const SPIRV: [[u8; 4]; 2] = [0x0723_0203_u32.to_le_bytes(), 0x0723_0203_u32.to_be_bytes()];

/// Reads a shader, named by its path in messages, and what is added to it. `-` is standard input.
///
/// A shader in GLSL from a file includes files of its own folder first.
///
/// # Errors
///
/// [`Error::ShaderExtension`]; [`Error::Read`] if there is no such file, or it should be text and is not;
/// [`Error::StdinTwice`].
pub(crate) fn read_shader(path: &Path, added: &SourceArgs) -> Result<Source> {
    let cannot_read = |reason| Error::Read { path: path.to_owned(), reason };
    let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
    let source = match extension.as_deref() {
        _ if path == Path::new("-") => of_bytes(stdio::read()?)?,
        Some("wgsl") => Source::wgsl(fs::read_to_string(path).map_err(cannot_read)?),
        Some("comp" | "glsl") => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Source::glsl(fs::read_to_string(path).map_err(cannot_read)?).include_dir(folder)
        }
        Some("spv") => Source::spirv(fs::read(path).map_err(cannot_read)?),
        _ => return Err(Error::ShaderExtension { path: path.to_owned() }),
    };
    let source = added.include_dirs.iter().fold(source.named(path.display().to_string()), Source::include_dir);
    let source = added.defines.iter().fold(source, |source, define| {
        let (name, value) = define.split_once('=').unwrap_or((define, ""));
        source.define(name, value)
    });
    added.libraries.iter().try_fold(source, |source, path| {
        let text = fs::read_to_string(path).map_err(|reason| Error::Read { path: path.clone(), reason })?;
        Ok(source.with(Library::new(path.display().to_string(), text)))
    })
}

/// SPIR-V by its first word, GLSL by a line with its version, else WGSL.
fn of_bytes(bytes: Vec<u8>) -> Result<Source> {
    if SPIRV.iter().any(|word| bytes.starts_with(word)) {
        return Ok(Source::spirv(bytes));
    }
    let not_text = |error| Error::Read { path: "standard input".into(), reason: std::io::Error::other(error) };
    let text = String::from_utf8(bytes).map_err(not_text)?;
    let is_glsl = text.lines().any(|line| line.trim_start().starts_with("#version"));
    Ok(if is_glsl { Source::glsl(text) } else { Source::wgsl(text) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_says_the_language() {
        // A source without a name of its own is named after its language.
        for (bytes, name) in [
            (&b"@compute @workgroup_size(1) fn f() {}"[..], "shader.wgsl"),
            (b"// a comment\n#version 450\nvoid main() {}", "shader.comp"),
            (&SPIRV[0], "shader.spv"),
            (&SPIRV[1], "shader.spv"),
            (b"", "shader.wgsl"),
        ] {
            assert_eq!(of_bytes(bytes.to_vec()).unwrap().name(), name);
        }
        assert!(matches!(of_bytes(vec![0xff, 0xfe]), Err(Error::Read { .. })));
    }
}
