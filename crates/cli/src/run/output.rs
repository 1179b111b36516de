//! Files of `--out`: their format, whether it can hold the array, and writing all of them or none.
//!
//! Paths and formats are checked before a device is opened. [`write_all`] writes each file under a temporary name in the
//! target's folder, and renames only when all are complete: a full disk leaves every target unchanged.

use std::collections::BTreeSet;
use std::error::Error as StdError;
use std::fs::File;
use std::io::{BufWriter, Cursor, Seek, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use vkarray::DType;
use vkarray::io::{NpzWriter, write_npy};

use super::value::{extension, split_archive, split_pair};
use crate::array::{HostArray, picture, with_array};
use crate::error::{Error, Result};
use crate::stdio::{print, print_bytes};

/// Why a writer fails.
type WriteError = Box<dyn StdError + Send + Sync>;

/// The format of an output file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Format {
    /// Any array.
    Npy,
    /// Any array, under a name in an archive of several.
    Npz(String),
    /// One, three or four channels, with 8 or 16 bits if that is given.
    Png(Option<u8>),
    /// `.npy` on standard output.
    Stdout,
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
    /// Reads every `--out NAME=FILE`. `check` judges the name, before the file is looked at, and `shape_of` gives the type
    /// and the shape of an array that are known already.
    ///
    /// # Errors
    ///
    /// The first one of [`Error::NotAPair`], those of `check`, [`Output::new`] and [`Output::check`], and
    /// [`Error::OutputTwice`].
    pub(crate) fn parse_all<'a>(
        texts: &[String],
        check: impl Fn(&str, &str) -> Result<()>,
        shape_of: impl Fn(&str) -> Option<(DType, &'a [usize])>,
    ) -> Result<Vec<Self>> {
        let mut outputs: Vec<Self> = Vec::new();
        for text in texts {
            let (name, path) = split_pair("--out", text)?;
            check(name, path)?;
            let output = Self::new(name, path)?;
            if let Some((dtype, shape)) = shape_of(name) {
                output.check(dtype, shape)?;
            }
            // Arrays of an archive differ in their names.
            let is_archive = matches!(output.format, Format::Npz(_));
            if outputs.iter().any(|other| other.path == output.path && (!is_archive || other.format == output.format)) {
                return Err(Error::OutputTwice { path: output.path });
            }
            outputs.push(output);
        }
        Ok(outputs)
    }

    /// Checks that the file can be written: a known extension, in a folder that exists, not a folder itself.
    ///
    /// # Errors
    ///
    /// [`Error::OutputExtension`], [`Error::OutputFolder`], [`Error::OutputIsFolder`].
    pub(crate) fn new(name: &str, text: &str) -> Result<Self> {
        let (text, bits) = match (text.strip_suffix(",bits=8"), text.strip_suffix(",bits=16")) {
            (Some(text), _) => (text, Some(8)),
            (_, Some(text)) => (text, Some(16)),
            _ => (text, None),
        };
        let path = PathBuf::from(text);
        let (path, format) = match (split_archive(text), extension(&path).as_deref(), bits) {
            _ if text == "-" && bits.is_none() => {
                return Ok(Self { name: name.to_owned(), path, format: Format::Stdout });
            }
            (Some((archive, array)), _, None) => (archive, Format::Npz(array)),
            (None, Some("npz"), None) => (path, Format::Npz(name.to_owned())),
            (None, Some("npy"), None) => (path, Format::Npy),
            (None, Some("png"), bits) => (path, Format::Png(bits)),
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
        if !matches!(self.format, Format::Png(_)) || picture::png_holds(dtype, shape) {
            return Ok(());
        }
        let (name, path, shape) = (self.name.clone(), self.path.clone(), shape.to_vec());
        Err(Error::OutputShape { name, path, dtype, shape })
    }
}

/// Writes what one file holds: an array, or those of an archive. There is at least one.
fn write(arrays: &[(&Output, &HostArray)], mut writer: impl Write + Seek) -> std::result::Result<(), WriteError> {
    let (first, array) = arrays[0];
    match &first.format {
        Format::Npy | Format::Stdout => with_array!(array, array => write_npy(&mut writer, array))?,
        Format::Png(bits) => picture::write_png(array, *bits, &mut writer)?,
        Format::Npz(_) => {
            let mut archive = NpzWriter::new(&mut writer);
            for (output, array) in arrays {
                if let Format::Npz(name) = &output.format {
                    with_array!(array, array => archive.add(name, array))?;
                }
            }
            archive.finish()?;
        }
    }
    Ok(writer.flush()?)
}

/// Writes every array to its file: all of them, or none unless a rename fails after others succeeded. Standard output comes
/// last.
///
/// # Errors
///
/// [`Error::Write`]; [`Error::Rename`] names the files that were already renamed; [`Error::Report`] for standard output.
pub(crate) fn write_all(outputs: &[(&Output, &HostArray)]) -> Result<()> {
    let mut paths: Vec<&PathBuf> = outputs.iter().map(|(output, _)| &output.path).collect();
    let mut seen = BTreeSet::new();
    paths.retain(|path| seen.insert(*path));
    let (mut files, mut printed) = (Vec::with_capacity(paths.len()), Vec::new());
    for path in paths {
        let write_error = |reason| Error::Write { path: path.clone(), reason };
        let own: Vec<_> = outputs.iter().filter(|(output, _)| output.path == *path).copied().collect();
        if own[0].0.format == Format::Stdout {
            write(&own, Cursor::new(&mut printed)).map_err(write_error)?;
            continue;
        }
        let file = temporary(folder(path)).map_err(|reason| write_error(reason.into()))?;
        write(&own, BufWriter::new(file.as_file())).map_err(write_error)?;
        files.push((file, path));
    }
    let mut written = Vec::new();
    for (file, path) in files {
        match file.persist(path) {
            Ok(_) => written.push(path.clone()),
            Err(error) => return Err(Error::Rename { path: path.clone(), written, reason: error.error }),
        }
    }
    print_bytes(&printed)
}

/// Prints a report: on standard error if an output took standard output, so that the array alone is there.
///
/// # Errors
///
/// [`Error::Report`].
pub(crate) fn report_beside(outputs: &[Output], report: &str) -> Result<()> {
    if outputs.iter().any(|output| output.format == Format::Stdout) {
        eprint!("{report}");
        return Ok(());
    }
    print(report)
}

/// Writes one file, whole or not at all.
///
/// # Errors
///
/// [`Error::Write`], [`Error::Rename`].
pub(crate) fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> std::result::Result<(), WriteError>,
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
