//! [`Target`]: a file that is written whole or not at all, and [`Draft`], its new content until then.
//!
//! A draft is a temporary file in the folder of the target, which replaces the target when it is complete. A target that
//! cannot be replaced without a loss gets the content of the draft instead: a pipe or a device, a file with several hard
//! links, and a file whose owner or folder allows no other way.

use std::error::Error as StdError;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::Identity;
use crate::error::{Error, Result};

/// Why a writer fails.
pub(crate) type WriteError = Box<dyn StdError + Send + Sync>;

/// The most links that are followed: as many as operating systems follow.
const MAX_LINKS: usize = 40;

/// A file that can be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// The path, as the user wrote it.
    path: PathBuf,
    /// The path without links.
    resolved: PathBuf,
}

impl Target {
    /// Checks that the file can be written, without changing it.
    ///
    /// # Errors
    ///
    /// [`Error::OutputFolder`], [`Error::OutputIsFolder`], [`Error::OutputRefused`].
    pub(super) fn check(path: &Path) -> Result<Self> {
        let (resolved, path) = (resolved(path), path.to_owned());
        if !folder(&resolved).is_dir() {
            return Err(Error::OutputFolder { folder: folder(&resolved).to_owned(), path });
        }
        let tried = match fs::metadata(&resolved) {
            Ok(found) if found.is_dir() => return Err(Error::OutputIsFolder { path }),
            // Opening a file for writing does not change it. Opening a pipe would wait for its reader.
            Ok(found) if found.is_file() => OpenOptions::new().write(true).open(&resolved).map(drop),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => temporary(folder(&resolved)).map(drop),
            Err(error) => Err(error),
        };
        tried.map(|()| Self { path: path.clone(), resolved }).map_err(|reason| Error::OutputRefused { path, reason })
    }

    /// The path, as the user wrote it.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The path without links.
    pub(super) fn resolved(&self) -> &Path {
        &self.resolved
    }

    /// Whether both targets are the same file.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Identity::of(&self.resolved) == Identity::of(&other.resolved)
    }

    /// Writes the new content to a draft. The file itself does not change.
    ///
    /// # Errors
    ///
    /// [`Error::Write`].
    pub(crate) fn draft(
        &self,
        write: impl FnOnce(&mut BufWriter<&File>) -> std::result::Result<(), WriteError>,
    ) -> Result<Draft> {
        let failed = |reason| Error::Write { path: self.path.clone(), reason };
        let draft = self.empty_draft().map_err(|error| failed(error.into()))?;
        let mut writer = BufWriter::new(draft.file());
        write(&mut writer).and_then(|()| Ok(writer.flush()?)).map_err(failed)?;
        drop(writer);
        Ok(draft)
    }

    fn empty_draft(&self) -> io::Result<Draft> {
        let folder = folder(&self.resolved);
        let in_place = match fs::metadata(&self.resolved) {
            Err(_) => Some(temporary(folder)?),
            Ok(found) if found.is_file() && !has_other_names(&found) => like(folder, &found).ok(),
            Ok(_) => None,
        };
        Ok(match in_place {
            Some(file) => Draft::Beside(file),
            None => Draft::Elsewhere(tempfile::tempfile()?),
        })
    }

    /// Puts the draft in the place of the file.
    ///
    /// # Errors
    ///
    /// The errors of the system.
    pub(crate) fn replace(&self, draft: Draft) -> io::Result<()> {
        match draft {
            Draft::Beside(file) => file.persist(&self.resolved).map(drop).map_err(|error| error.error),
            Draft::Elsewhere(mut file) => {
                file.rewind()?;
                let mut target = OpenOptions::new().write(true).truncate(true).open(&self.resolved)?;
                io::copy(&mut file, &mut target).map(drop)
            }
        }
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    ///
    /// [`Error::Write`], [`Error::Replace`].
    pub(crate) fn write(
        &self,
        write: impl FnOnce(&mut BufWriter<&File>) -> std::result::Result<(), WriteError>,
    ) -> Result<()> {
        let replaced = self.replace(self.draft(write)?);
        replaced.map_err(|reason| Error::Replace { path: self.path.clone(), written: Vec::new(), reason })
    }
}

/// The new content of a file.
#[derive(Debug)]
pub(crate) enum Draft {
    /// A file in the folder of the target, with the target's mode and owner, so that renaming is enough.
    Beside(NamedTempFile),
    /// A file whose content is to be copied into the target.
    Elsewhere(File),
}

impl Draft {
    fn file(&self) -> &File {
        match self {
            Self::Beside(file) => file.as_file(),
            Self::Elsewhere(file) => file,
        }
    }
}

/// The path with its links followed, also where the file that they lead to does not exist.
pub(super) fn resolved(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(link) => path = folder(&path).join(link),
            Err(_) => break,
        }
    }
    match (fs::canonicalize(folder(&path)), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path,
    }
}

/// The folder that `path` is in.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// A temporary file, deleted unless it is renamed.
fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".vkarray-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Temporary files are private by default; an output is an ordinary file, subject to the umask.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

/// A temporary file with the mode and the owner of `found`.
fn like(folder: &Path, found: &Metadata) -> io::Result<NamedTempFile> {
    let file = temporary(folder)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let own = file.as_file().metadata()?;
        if (own.uid(), own.gid()) != (found.uid(), found.gid()) {
            fchown(file.as_file(), Some(found.uid()), Some(found.gid()))?;
        }
    }
    file.as_file().set_permissions(found.permissions())?;
    Ok(file)
}

/// Whether the file has several hard links. Renaming would replace only one.
fn has_other_names(found: &Metadata) -> bool {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::nlink(found) > 1;
    #[cfg(not(unix))]
    {
        let _ = found;
        false
    }
}
