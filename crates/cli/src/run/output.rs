//! Files of `--out`: their format, whether it can hold the array, and writing all of them or none.
//!
//! Paths and formats are checked before a device is opened. [`write_all`] writes each file under a temporary name in the
//! target's folder, and renames only when all are complete: a full disk leaves every target unchanged.

use std::error::Error as StdError;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use vkarray::DType;
use vkarray::io::write_npy;

use crate::array::{HostArray, picture, with_array};
use crate::error::{Error, Result};

/// The format of an output file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Any array.
    Npy,
    /// `f32` of one, three or four channels.
    Png,
}

/// A file that an array is written to after the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Output {
    /// The shader's name of the array.
    pub(crate) name: String,
    /// The path of the file.
    pub(crate) path: PathBuf,
    /// The format, by the path's extension.
    pub(crate) format: Format,
}

impl Output {
    /// Checks that `path` can be written: a known extension, in a folder that exists, not a folder itself.
    ///
    /// # Errors
    ///
    /// [`Error::OutputExtension`], [`Error::OutputFolder`], [`Error::OutputIsFolder`].
    pub(crate) fn new(name: &str, path: &str) -> Result<Self> {
        let path = PathBuf::from(path);
        let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
        let format = match extension.as_deref() {
            Some("npy") => Format::Npy,
            Some("png") => Format::Png,
            _ => return Err(Error::OutputExtension { path }),
        };
        check_target(&path)?;
        Ok(Self { name: name.to_owned(), path, format })
    }

    /// Checks that the format can hold the array.
    ///
    /// # Errors
    ///
    /// [`Error::OutputShape`].
    pub(crate) fn check(&self, dtype: DType, shape: &[usize]) -> Result<()> {
        let fits = match self.format {
            Format::Npy => true,
            Format::Png => dtype == DType::F32 && picture::png_channels(shape).is_some(),
        };
        if fits {
            return Ok(());
        }
        let (name, path, shape) = (self.name.clone(), self.path.clone(), shape.to_vec());
        Err(Error::OutputShape { name, path, dtype, shape })
    }

    fn write(&self, array: &HostArray, file: &File) -> std::result::Result<(), Box<dyn StdError + Send + Sync>> {
        let mut writer = BufWriter::new(file);
        match (self.format, array) {
            (Format::Npy, array) => with_array!(array, array => write_npy(&mut writer, array))?,
            (Format::Png, HostArray::F32(array)) => picture::write_png(array, &mut writer)?,
            (Format::Png, _) => unreachable!("`check` refuses other types"),
        }
        writer.flush()?;
        Ok(())
    }
}

/// Writes every array to its file: all of them, or none unless a rename fails after others succeeded.
///
/// # Errors
///
/// [`Error::Write`]; [`Error::Rename`] names the files that were already renamed.
pub(crate) fn write_all(outputs: &[(&Output, &HostArray)]) -> Result<()> {
    let mut files = Vec::with_capacity(outputs.len());
    for (output, array) in outputs {
        let write_error = |reason| Error::Write { path: output.path.clone(), reason };
        let file = temporary(folder(&output.path)).map_err(|reason| write_error(reason.into()))?;
        output.write(array, file.as_file()).map_err(write_error)?;
        files.push((file, &output.path));
    }
    let mut written = Vec::new();
    for (file, path) in files {
        match file.persist(path) {
            Ok(_) => written.push(path.clone()),
            Err(error) => return Err(Error::Rename { path: path.clone(), written, reason: error.error }),
        }
    }
    Ok(())
}

/// Writes one file, whole or not at all.
///
/// # Errors
///
/// [`Error::Write`], [`Error::Rename`].
pub(crate) fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> std::result::Result<(), Box<dyn StdError + Send + Sync>>,
) -> Result<()> {
    let write_error = |reason| Error::Write { path: path.to_owned(), reason };
    let file = temporary(folder(path)).map_err(|error| write_error(error.into()))?;
    let mut writer = BufWriter::new(file.as_file());
    write(&mut writer).and_then(|()| Ok(writer.flush()?)).map_err(write_error)?;
    drop(writer);
    match file.persist(path) {
        Ok(_) => Ok(()),
        Err(error) => Err(Error::Rename { path: path.to_owned(), written: Vec::new(), reason: error.error }),
    }
}

/// Checks that a file can be created at `path`: its folder exists, and it is not a folder.
///
/// # Errors
///
/// [`Error::OutputFolder`], [`Error::OutputIsFolder`].
pub(crate) fn check_target(path: &Path) -> Result<()> {
    if !folder(path).is_dir() {
        return Err(Error::OutputFolder { folder: folder(path).to_owned(), path: path.to_owned() });
    }
    if path.is_dir() {
        return Err(Error::OutputIsFolder { path: path.to_owned() });
    }
    Ok(())
}

/// A temporary file, deleted unless it is renamed. It is in the target's folder, so that renaming stays on one file system.
fn temporary(folder: &Path) -> std::io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".vkarray-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Temporary files are private by default; an output is an ordinary file, subject to the umask.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

/// The folder that `path` is in.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests;
