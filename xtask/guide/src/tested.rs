//! Checks that the tests which the tables of ported tests and the decisions name exist in the sources.
//!
//! A test is written `module::name` or, where a module has many, `module::*`; a sentence as a name may stand alone.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::markdown::{Page, files_below};

/// The pages that name tests.
const TABLES: [&str; 2] = ["docs/conformance", "docs/decisions"];

/// The folders of tests.
const FOLDERS: [&str; 3] = ["benches", "crates", "tests"];

/// A name without a module is a test's if it has at least this many words.
const SENTENCE: usize = 5;

/// The functions of each module. A module is the path of its file, without `mod` and `.rs`.
type Modules = BTreeMap<PathBuf, BTreeSet<String>>;

/// Everything that is wrong, a line each.
pub(crate) fn objections(root: &Path, pages: &BTreeMap<PathBuf, Page>) -> Result<Vec<String>> {
    let modules = modules(root)?;
    let tables = pages.iter().filter(|(path, _)| TABLES.iter().any(|folder| path.starts_with(folder)));
    let named = tables.flat_map(|(path, page)| page.code.iter().map(move |(line, code)| (path, line, code)));
    let missing = named.filter(|(.., code)| test(code).is_some_and(|test| !exists(&modules, test)));
    Ok(missing.map(|(path, line, code)| format!("{}:{line}: no such test: {code}", path.display())).collect())
}

/// The module and the name of a test, if `code` is written like a test. The module is empty where none is named.
fn test(code: &str) -> Option<(&str, &str)> {
    let (module, name) = code.rsplit_once("::").unwrap_or(("", code));
    let is_lower =
        |text: &str| text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_/:…".contains(c));
    let n_words = if module.is_empty() { SENTENCE } else { 2 };
    let is_test = name.split('_').filter(|word| !word.is_empty()).count() >= n_words && is_lower(name);
    let is_whole_module = name == "*" && !module.is_empty();
    (is_lower(module) && (is_test || is_whole_module)).then_some((module, name))
}

/// Whether a function of this name exists in a file of this module, or in a file below its folder, or such a file.
fn exists(modules: &Modules, (module, name): (&str, &str)) -> bool {
    // A module of tests may be written beside the code or in a file of its own.
    let parts: Vec<_> = module.split(['/', ':']).filter(|part| !["", "…", "tests"].contains(part)).collect();
    let has_parts =
        |components: &[&OsStr]| parts.is_empty() || components.windows(parts.len()).any(|window| window == parts);
    modules.iter().any(|(path, names)| {
        let components: Vec<_> = path.iter().filter(|part| *part != "tests").collect();
        let has_name = name == "*" || names.contains(name) || components.iter().any(|part| *part == name);
        has_name && has_parts(&components)
    })
}

/// Reads the names of all functions in the Rust files of [`FOLDERS`].
fn modules(root: &Path) -> Result<Modules> {
    let mut modules = Modules::new();
    for path in files_below(root)? {
        let path = path.strip_prefix(root)?;
        let is_source = path.extension().is_some_and(|extension| extension == "rs");
        if is_source && FOLDERS.iter().any(|folder| path.starts_with(folder)) {
            let text =
                fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {}", path.display()))?;
            let functions = text.split("fn ").skip(1).filter_map(|rest| rest.split(['(', '<']).next());
            modules.insert(path.with_extension(""), functions.map(str::to_owned).collect());
        }
    }
    Ok(modules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_told_from_other_names() {
        assert_eq!(test("numba_shared::a_tile_of_two_axes"), Some(("numba_shared", "a_tile_of_two_axes")));
        assert_eq!(test("…::a_panic_inside"), Some(("…", "a_panic_inside")));
        assert_eq!(test("driver/copies::*"), Some(("driver/copies", "*")));
        assert_eq!(test("a_tile_of_two_axes"), Some(("", "a_tile_of_two_axes")));
        for other in
            ["Adaptor::{before, after}", "Error::Unsupported", "a_tile", "Stream::flush", "Stream::wait_for", "*"]
        {
            assert_eq!(test(other), None, "{other}");
        }
    }

    #[test]
    fn a_test_is_in_the_module_that_is_named() {
        let modules = Modules::from([("tests/driver/copies".into(), BTreeSet::from(["a_tile".to_owned()]))]);
        for known in [
            ("driver/copies", "a_tile"),
            ("copies::tests", "a_tile"),
            ("copies", "*"),
            ("", "a_tile"),
            ("driver", "copies"),
        ] {
            assert!(exists(&modules, known), "{known:?}");
        }
        for missing in [("driver/streams", "a_tile"), ("copies", "a_row"), ("streams", "*"), ("", "a_row")] {
            assert!(!exists(&modules, missing), "{missing:?}");
        }
    }
}
