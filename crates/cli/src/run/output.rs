//! Files of `--out`: their format, whether it can hold the array, and writing all of them or none.
//!
//! Paths and formats are checked before a device is opened. [`write_all`] writes a draft of each file, and replaces files only
//! when all drafts are complete: a full disk leaves every file unchanged. `files/` has drafts and targets.

use std::io::{Cursor, Seek, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use vkarray::DType;
use vkarray::io::{NpzWriter, write_npy};

use super::value::{extension, split_archive, split_pair};
use crate::args::DataArgs;
use crate::array::{HostArray, picture, with_array};
use crate::error::{Error, Result};
use crate::files::{Files, Target, WriteError};
use crate::stdio::{json, print, print_bytes};

/// The format of an output file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Format {
    /// A `.npy` file, for any array.
    Npy,
    /// An `.npz` archive of several arrays, with the name of this array in it.
    Npz(String),
    /// A PNG of one, three or four channels, with 8 or 16 bits if that is given.
    Png(Option<u8>),
    /// A `.npy` file on standard output.
    Stdout,
}

/// A file that an array is written to after the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Output {
    /// The shader's name of the array.
    pub(crate) name: String,
    /// The file; `None` for standard output.
    target: Option<Target>,
    /// The format, by the path's extension.
    pub(crate) format: Format,
}

impl Output {
    /// Reads every `--out NAME=FILE`. `check` judges the name before the file is looked at, and `shape_of` gives the
    /// type and the shape of an array that are known already. `files` are the files of the call.
    ///
    /// # Errors
    ///
    /// The first of [`Error::NotAPair`], [`Error::OutputExtension`], and the errors of `check`, [`Files::target`] and
    /// [`Output::check`].
    pub(crate) fn parse_all<'a>(
        texts: &[String],
        check: impl Fn(&str, &str) -> Result<()>,
        shape_of: impl Fn(&str) -> Option<(DType, &'a [usize])>,
        files: &mut Files,
    ) -> Result<Vec<Self>> {
        let mut outputs: Vec<Self> = Vec::new();
        for text in texts {
            let (name, path) = split_pair("--out", text)?;
            check(name, path)?;
            let output = Self::new(name, path, files)?;
            if let Some((dtype, shape)) = shape_of(name) {
                output.check(dtype, shape)?;
            }
            if output.target.is_none() && outputs.iter().any(|other| other.target.is_none()) {
                return Err(Error::OutputTwice { path: path.into() });
            }
            outputs.push(output);
        }
        Ok(outputs)
    }

    /// Checks that the file can be written, in a format that its extension names.
    ///
    /// # Errors
    ///
    /// [`Error::OutputExtension`], and the errors of [`Files::target`].
    pub(crate) fn new(name: &str, text: &str, files: &mut Files) -> Result<Self> {
        let (text, bits) = match (text.strip_suffix(",bits=8"), text.strip_suffix(",bits=16")) {
            (Some(text), _) => (text, Some(8)),
            (_, Some(text)) => (text, Some(16)),
            _ => (text, None),
        };
        let path = PathBuf::from(text);
        let (path, format) = match (split_archive(text), extension(&path).as_deref(), bits) {
            _ if text == "-" && bits.is_none() => {
                return Ok(Self { name: name.to_owned(), target: None, format: Format::Stdout });
            }
            (Some((archive, array)), _, None) => (archive, Format::Npz(array)),
            (None, Some("npz"), None) => (path, Format::Npz(name.to_owned())),
            (None, Some("npy"), None) => (path, Format::Npy),
            (None, Some("png"), bits) => (path, Format::Png(bits)),
            _ => return Err(Error::OutputExtension { path }),
        };
        let member = if let Format::Npz(array) = &format { Some(array.as_str()) } else { None };
        let target = files.target_of(&path, Some(name), member)?;
        Ok(Self { name: name.to_owned(), target: Some(target), format })
    }

    /// The path of the file, as the user wrote it.
    pub(crate) fn path(&self) -> &Path {
        self.target.as_ref().map_or(Path::new("-"), Target::path)
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
        let (name, path, shape) = (self.name.clone(), self.path().to_owned(), shape.to_vec());
        Err(Error::OutputShape { name, path, dtype, shape })
    }
}

/// Writes the content of one file: an array, or the arrays of an archive. There is at least one array.
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

/// Writes every array to its file. Either all files are written or none, unless a file cannot be replaced after others
/// were. Standard output comes last.
///
/// # Errors
///
/// [`Error::Write`]; [`Error::Replace`] names the files that were already replaced; [`Error::Report`] for standard output.
pub(crate) fn write_all(outputs: &[(&Output, &HostArray)]) -> Result<()> {
    let mut targets: Vec<&Target> = Vec::new();
    outputs.iter().filter_map(|(output, _)| output.target.as_ref()).for_each(|target| {
        if !targets.iter().any(|other| other.is_same(target)) {
            targets.push(target);
        }
    });
    let is_of = |output: &Output, target: &Target| output.target.as_ref().is_some_and(|own| own.is_same(target));
    let mut drafts = Vec::with_capacity(targets.len());
    for target in targets {
        let own: Vec<_> = outputs.iter().filter(|(output, _)| is_of(output, target)).copied().collect();
        drafts.push((target, target.draft(|file| write(&own, file))?));
    }
    let mut printed = Vec::new();
    let to_print: Vec<_> = outputs.iter().filter(|(output, _)| output.target.is_none()).copied().collect();
    if !to_print.is_empty() {
        let failed = |reason| Error::Write { path: "standard output".into(), reason };
        write(&to_print, Cursor::new(&mut printed)).map_err(failed)?;
    }
    let mut written = Vec::new();
    for (target, draft) in drafts {
        let path = target.path().to_owned();
        if let Err(reason) = target.replace(draft) {
            return Err(Error::Replace { path, written, reason });
        }
        written.push(path);
    }
    print_bytes(&printed)
}

/// Prints a report as the flags ask for it: as JSON, as text or not at all. If an output took standard output, the report goes to standard error.
///
/// # Errors
///
/// [`Error::Report`].
pub(crate) fn report_beside(
    outputs: &[Output],
    args: &DataArgs,
    report: &impl Serialize,
    text: impl FnOnce() -> String,
) -> Result<()> {
    if args.quiet {
        return Ok(());
    }
    let report = if args.json { json(report) } else { text() };
    if outputs.iter().any(|output| output.format == Format::Stdout) {
        eprint!("{report}");
        return Ok(());
    }
    print(&report)
}

#[cfg(test)]
mod tests;
