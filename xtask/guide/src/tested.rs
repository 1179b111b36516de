//! The tables of ported tests, compared with the sources: every test that they name exists.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::markdown::Page;

/// Where the tables are.
const TABLES: &str = "docs/conformance";

/// Where tests are.
const FOLDERS: [&str; 2] = ["crates", "tests"];

/// Everything that is wrong, a line each.
pub(crate) fn objections(root: &Path, pages: &BTreeMap<PathBuf, Page>) -> Result<Vec<String>> {
    let mut known = BTreeSet::new();
    for folder in FOLDERS {
        add_names(&root.join(folder), &mut known)?;
    }
    let tables = pages.iter().filter(|(path, _)| path.starts_with(TABLES));
    let named = tables.flat_map(|(path, page)| page.code.iter().map(move |(line, code)| (path, line, code)));
    let missing = named.filter(|(.., code)| test_name(code).is_some_and(|name| !known.contains(name)));
    Ok(missing.map(|(path, line, code)| format!("{}:{line}: no such test: {code}", path.display())).collect())
}

/// The last part of `module::test`, if that is what is written: a name of several words.
fn test_name(code: &str) -> Option<&str> {
    let (_, name) = code.rsplit_once("::")?;
    let is_name = name.contains('_') && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    is_name.then_some(name)
}

/// Adds the names of all functions and files of Rust below `folder`.
fn add_names(folder: &Path, known: &mut BTreeSet<String>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            add_names(&path, known)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let functions = text.split("fn ").skip(1).filter_map(|rest| rest.split(['(', '<']).next());
            known.extend(functions.map(str::to_owned));
            known.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_told_from_other_names() {
        assert_eq!(test_name("numba_shared::a_tile_of_two_axes"), Some("a_tile_of_two_axes"));
        assert_eq!(test_name("…::a_panic_inside"), Some("a_panic_inside"));
        for other in ["Adaptor::{before, after}", "Error::Unsupported", "copies::*", "a_tile", "Stream::flush"] {
            assert_eq!(test_name(other), None, "{other}");
        }
    }
}
