//! Which files an `#include` reaches: [`Folders`].
//!
//! A name between quotes is looked for in the folder of the including file, then in the include folders in their order; a name
//! between brackets in the include folders alone. The text of a shader has no folder of its own: what is in no include
//! folder is not read. A name may be absolute or lead upwards, and a link may lead anywhere: where it ends, after links are
//! followed, has to be inside one of the include folders. So a shader reads no file outside of the folders that its user
//! named, whatever its author wrote.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes of an included file, at most.
const MAX_FILE: u64 = 4 << 20;

/// How an `#include` names its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `"name"`
    Quotes,
    /// `<name>`
    Brackets,
}

/// The include folders of a shader.
pub(super) struct Folders<'a> {
    named: &'a [PathBuf],
    /// The folders that exist, without links and `..`.
    real: Vec<PathBuf>,
}

/// A file that may be included.
#[derive(Debug)]
pub(super) struct Found {
    /// Without links and `..`.
    pub(super) path: PathBuf,
    /// As messages show it: the folder as it was named, and the name.
    pub(super) shown: PathBuf,
}

impl<'a> Folders<'a> {
    pub(super) fn new(named: &'a [PathBuf]) -> Self {
        Self { named, real: named.iter().filter_map(|folder| folder.canonicalize().ok()).collect() }
    }

    /// Finds a file that is included by a file of a folder. If there is none, returns the reason.
    pub(super) fn find(&self, form: Form, name: &str, folder: Option<&Path>) -> Result<Found, String> {
        let own = folder.filter(|_| form == Form::Quotes);
        let candidates = own.into_iter().chain(self.named.iter().map(PathBuf::as_path));
        let mut outside = None;
        for shown in candidates.map(|folder| folder.join(name)) {
            let Some(path) = shown.canonicalize().ok().filter(|path| path.is_file()) else { continue };
            if self.real.iter().any(|real| path.starts_with(real)) {
                return Ok(Found { path, shown });
            }
            outside.get_or_insert(path);
        }
        Err(match outside {
            Some(path) => format!(
                "`{name}` is `{}`, which is outside of the include folders: {ADVICE} for its folder",
                path.display()
            ),
            None if self.named.is_empty() => {
                format!("`{name}` is not read, since there is no include folder: {ADVICE}")
            }
            None => format!("there is no file `{name}` in {}: {ADVICE} for its folder", self.searched(own)),
        })
    }

    fn searched(&self, own: Option<&Path>) -> String {
        let folders = own.into_iter().chain(self.named.iter().map(PathBuf::as_path));
        let mut names: Vec<String> = folders.map(|folder| format!("`{}`", folder.display())).collect();
        names.dedup();
        names.join(", ")
    }
}

const ADVICE: &str = "add `Source::include_dir`, in the command `-I DIR`,";

impl Found {
    /// The text of the file.
    pub(super) fn read(&self) -> Result<String, String> {
        let shown = self.shown.display();
        let (mut text, mut n_bytes) = (Vec::new(), 0);
        let read = File::open(&self.path).and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut text));
        n_bytes += read.map_err(|reason| format!("cannot read `{shown}`: {reason}"))?;
        if n_bytes as u64 > MAX_FILE {
            return Err(format!("`{shown}` has more than {} MiB", MAX_FILE >> 20));
        }
        String::from_utf8(text).map_err(|_| format!("`{shown}` is no text in UTF-8"))
    }
}
