//! Checks what Markdown files refer to: links, paths in backticks, and code that has to be compiled.
//!
//! A page of the guide links only to pages of the guide, since the rest of the repository is not beside the built
//! pages; it names other files as paths in backticks, which are checked too.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::markdown::{Page, files_below};

/// Where the code of pages becomes documentation tests.
const TESTS: &str = "tests/guide/src/lib.rs";

/// The folder of the guide, and the list of its pages.
const GUIDE: &str = "docs";
const SUMMARY: &str = "docs/SUMMARY.md";

/// The first folders of paths that are checked in backticks.
const FOLDERS: [&str; 6] = ["benches", "crates", "docs", "shaders", "tests", "xtask"];

/// The endings of source files: a text in backticks with one of them is the end of a path of the repository.
const SOURCES: [&str; 4] = [".rs", ".wgsl", ".py", ".sh"];

/// Everything that is wrong, a line each.
pub(crate) fn objections(root: &Path, pages: &BTreeMap<PathBuf, Page>) -> Result<Vec<String>> {
    let tests = fs::read_to_string(root.join(TESTS)).with_context(|| format!("cannot read {TESTS}"))?;
    let sources = sources(root)?;
    let mut objections = Vec::new();
    let chapters = chapters(pages);
    for (path, page) in pages {
        if path.starts_with(GUIDE) && path != Path::new(SUMMARY) && !chapters.contains(path) {
            objections.push(format!("{}: {SUMMARY} does not name the page, so it is not built", path.display()));
        }
        let mut object = |line: usize, text: String| objections.push(format!("{}:{line}: {text}", path.display()));
        for (line, link) in &page.links {
            judge_link(root, pages, path, link).into_iter().for_each(|text| object(*line, text));
        }
        for (line, code) in &page.code {
            judge_path(root, &sources, code).into_iter().for_each(|text| object(*line, text));
        }
        for (line, words) in &page.blocks {
            judge_block(path, words, &tests).into_iter().for_each(|text| object(*line, text));
        }
    }
    Ok(objections)
}

/// The pages that are built.
fn chapters(pages: &BTreeMap<PathBuf, Page>) -> BTreeSet<PathBuf> {
    let links = pages.get(Path::new(SUMMARY)).map(|summary| summary.links.as_slice()).unwrap_or_default();
    links.iter().map(|(_, link)| joined(Path::new(GUIDE), Path::new(link))).collect()
}

/// What is wrong with a link of the page at `path`.
fn judge_link(root: &Path, pages: &BTreeMap<PathBuf, Page>, path: &Path, link: &str) -> Option<String> {
    if link.contains("://") {
        return None;
    }
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = if file.is_empty() { path.to_owned() } else { joined(path.parent()?, Path::new(file)) };
    if !pages.contains_key(&target) && !root.join(&target).exists() {
        return Some(format!("the link leads nowhere: {link}"));
    }
    if path.starts_with(GUIDE) && !target.starts_with(GUIDE) {
        return Some(format!("the link leads out of the guide, where the built pages have nothing: {link}"));
    }
    let is_missing = |page: &Page| !anchor.is_empty() && !page.anchors.iter().any(|known| known == anchor);
    pages.get(&target).is_some_and(is_missing).then(|| format!("the page has no such heading: {link}"))
}

/// The paths of all source files of the repository. Each is listed once more without `src`, which texts may leave out.
fn sources(root: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for path in files_below(root)? {
        let path = path.strip_prefix(root)?.to_string_lossy().into_owned();
        if SOURCES.iter().any(|ending| path.ends_with(ending)) {
            found.push(path.replace("/src/", "/"));
            found.push(path);
        }
    }
    Ok(found)
}

/// What is wrong with a text in backticks, if it is a path of the repository.
fn judge_path(root: &Path, sources: &[String], code: &str) -> Option<String> {
    let path = code.split(':').next()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/_-.".contains(c);
    if !path.chars().all(is_plain) {
        return None;
    }
    let first = path.split_once('/').map_or("", |(first, _)| first);
    let exists = if FOLDERS.contains(&first) {
        root.join(path).exists()
    } else if path.contains("/src/") && root.join("crates").join(first).is_dir() {
        root.join("crates").join(path).exists() // Paths of a crate may leave out `crates/`.
    } else {
        let names_source = SOURCES.iter().any(|ending| path.len() > ending.len() && path.ends_with(ending));
        !names_source || sources.iter().any(|source| Path::new(source).ends_with(path))
    };
    (!exists).then(|| format!("no such file or folder: {path}"))
}

/// What is wrong with a code block of the page at `path`.
fn judge_block(path: &Path, words: &str, tests: &str) -> Option<String> {
    let is_compiled = words.split(',').next() == Some("rust") && !words.contains("ignore");
    let is_guide = path.starts_with(GUIDE) || path == Path::new("README.md");
    let is_tested = tests.contains(&format!("\"../../../{}\"", path.display()));
    (is_compiled && is_guide && !is_tested).then(|| format!("no test compiles this code: name the page in {TESTS}"))
}

/// The path of `path` relative to `folder`, without `..`.
fn joined(folder: &Path, path: &Path) -> PathBuf {
    let mut whole = folder.to_owned();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(whole.pop()),
            Component::CurDir => {}
            other => whole.push(other),
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown::read;

    #[test]
    fn what_leads_nowhere_is_found() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the repository");
        let text = "# Here\n[1](#here) [2](#there) [3](none.md) [4](../README.md) [5](https://a.org/#x)\n\
                    `docs/none.md` `docs/book.toml` `driver/src/none.rs` `docs/…` `and/or`\n\
                    `sync/none.rs` `driver/sync/lock.rs:7` `driver/lock.rs` `lock.rs` `.rs`\n\n```rust\n```\n";
        let pages = BTreeMap::from([(PathBuf::from("docs/here.md"), read(text))]);
        let found = objections(root, &pages).expect("the tests are there");
        let expected = [
            "docs/here.md: docs/SUMMARY.md does not name the page, so it is not built",
            "docs/here.md:2: the page has no such heading: #there",
            "docs/here.md:2: the link leads nowhere: none.md",
            "docs/here.md:2: the link leads out of the guide, where the built pages have nothing: ../README.md",
            "docs/here.md:3: no such file or folder: docs/none.md",
            "docs/here.md:3: no such file or folder: driver/src/none.rs",
            "docs/here.md:4: no such file or folder: sync/none.rs",
            "docs/here.md:4: no such file or folder: driver/lock.rs",
            "docs/here.md:6: no test compiles this code: name the page in tests/guide/src/lib.rs",
        ];
        assert_eq!(found, expected);
    }
}
