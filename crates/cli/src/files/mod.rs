//! The files of one call of the command: [`Files`] knows all files that the call reads and writes, and a [`Target`] is
//! a file that it writes.
//!
//! A target is checked before anything runs: that it can be written, and that the call neither reads it nor writes it
//! twice. Files are compared by what their paths resolve to, so `./x.npy`, a link and a hard link are the file that
//! they lead to. `target.rs` writes files: links, modes and owners do not change. `run/output.rs` has the formats of
//! `--out`.

mod target;

use std::path::{Path, PathBuf};

pub(crate) use target::{Target, WriteError};

use crate::error::{Error, Result};

/// What a path leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Identity {
    /// A file that exists, by its device and its inode number.
    #[cfg(unix)]
    Inode(u64, u64),
    /// The path without links, of a file that does not exist or on a system without inode numbers.
    Path(PathBuf),
}

impl Identity {
    fn of(path: &Path) -> Self {
        #[cfg(unix)]
        if let Ok(found) = std::fs::metadata(path) {
            use std::os::unix::fs::MetadataExt;
            return Self::Inode(found.dev(), found.ino());
        }
        Self::Path(target::resolved(path))
    }
}

/// All files of a call.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// Files that are read. A file that is the value of one array alone has the name of that array.
    inputs: Vec<(Identity, Option<String>)>,
    /// Files that are written. An archive has the name of the array in it.
    outputs: Vec<(Identity, Option<String>)>,
}

impl Files {
    /// Notes a file that is read. The file may also be written as the output of `array`: the array is updated in place.
    pub(crate) fn read(&mut self, path: &Path, array: Option<&str>) {
        if path != Path::new("-") {
            self.inputs.push((Identity::of(path), array.map(str::to_owned)));
        }
    }

    /// Notes a file that is written.
    ///
    /// # Errors
    ///
    /// [`Error::OutputFolder`], [`Error::OutputIsFolder`] and [`Error::OutputRefused`] if it cannot be written;
    /// [`Error::OutputIsInput`] if the call reads it, [`Error::OutputTwice`] if the call writes something else to it.
    pub(crate) fn target(&mut self, path: &Path) -> Result<Target> {
        self.target_of(path, None, None)
    }

    /// Notes the file of an output of `array`. An archive takes several outputs that have different names in it:
    /// `member`.
    ///
    /// # Errors
    ///
    /// The errors of [`Files::target`].
    pub(crate) fn target_of(&mut self, path: &Path, array: Option<&str>, member: Option<&str>) -> Result<Target> {
        let target = Target::check(path)?;
        let path = || path.to_owned();
        let identity = Identity::of(target.resolved());
        let is_own = |name: &Option<String>| name.is_some() && member.is_none() && name.as_deref() == array;
        if self.inputs.iter().any(|(input, name)| *input == identity && !is_own(name)) {
            return Err(Error::OutputIsInput { path: path() });
        }
        let is_beside = |other: &Option<String>| other.is_some() && member.is_some() && other.as_deref() != member;
        if self.outputs.iter().any(|(output, other)| *output == identity && !is_beside(other)) {
            return Err(Error::OutputTwice { path: path() });
        }
        self.outputs.push((identity, member.map(str::to_owned)));
        Ok(target)
    }
}

#[cfg(test)]
mod tests;
