//! Markdown files, reduced to what the checks read: links, headings, inline code and code blocks.
//!
//! `references.rs` judges them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// A Markdown file. Lines are counted from one.
#[derive(Debug, Default)]
pub(crate) struct Page {
    /// Targets of links and pictures.
    pub(crate) links: Vec<(usize, String)>,
    /// The names of headings in addresses.
    pub(crate) anchors: Vec<String>,
    /// Texts between single backticks.
    pub(crate) code: Vec<(usize, String)>,
    /// The words after the opening fence of each code block.
    pub(crate) blocks: Vec<(usize, String)>,
}

/// Reads every Markdown file below `root`, by its path from there.
pub(crate) fn read_all(root: &Path) -> Result<BTreeMap<PathBuf, Page>> {
    let mut pages = BTreeMap::new();
    for path in files_below(root)? {
        if path.extension().is_some_and(|extension| extension == "md") {
            let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            pages.insert(path.strip_prefix(root)?.to_owned(), read(&text));
        }
    }
    Ok(pages)
}

/// All files below `root`, except for hidden folders and folders of build results.
pub(crate) fn files_below(root: &Path) -> Result<Vec<PathBuf>> {
    let (mut files, mut folders) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !path.is_dir() {
                files.push(path);
            } else if !name.starts_with('.') && !["target", "demo-out"].contains(&name.as_str()) {
                folders.push(path);
            }
        }
    }
    Ok(files)
}

/// Reads one file.
pub(crate) fn read(text: &str) -> Page {
    let mut page = Page::default();
    let mut heading: Option<String> = None;
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES).into_offset_iter() {
        let line = text[..range.start].matches('\n').count() + 1;
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                page.links.push((line, dest_url.into_string()));
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(words))) => page.blocks.push((line, words.into_string())),
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => page.anchors.extend(heading.take().map(|text| anchor(&text))),
            Event::Text(text) => heading.iter_mut().for_each(|heading| heading.push_str(&text)),
            Event::Code(text) => {
                heading.iter_mut().for_each(|heading| heading.push_str(&text));
                page.code.push((line, text.into_string()));
            }
            _ => {}
        }
    }
    page
}

/// The name that mdBook and code forges give a heading in an address.
fn anchor(heading: &str) -> String {
    let name = |c: char| match c {
        c if c.is_whitespace() => Some('-'),
        c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c.to_ascii_lowercase()),
        _ => None,
    };
    heading.chars().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_its_links_headings_and_code() {
        let page = read(
            "# From `numba`, to us!\n\nSee [a](b.md#c) and `crates/driver`.\n\n```rust,no_run\nlet x = `1`;\n```\n",
        );
        assert_eq!(page.anchors, ["from-numba-to-us"]);
        assert_eq!(page.links, [(3, "b.md#c".to_owned())]);
        assert_eq!(page.code, [(1, "numba".to_owned()), (3, "crates/driver".to_owned())]);
        assert_eq!(page.blocks, [(5, "rust,no_run".to_owned())]);
    }
}
