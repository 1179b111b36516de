//! The facts about a folder of source files that the rules need: its files, their types and the modules they refer to.
//!
//! The files are parsed with `syn`, so comments and strings do not count. Test modules are left out, since a test may
//! refer to any room. References inside macro calls are found among their tokens if they start with `crate`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use proc_macro2::{Span, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree};

use super::comments::pointing_openings;
use crate::workspace_root;

/// A folder of source files. For a crate it is `src/`.
#[derive(Debug, Default)]
pub(crate) struct SourceFacts {
    /// The folder's path from the root of the workspace.
    pub(crate) folder: PathBuf,
    /// Every Rust file in the folder and in the folders below.
    pub(crate) files: Vec<FileFacts>,
    /// The room of each name that the crate's root re-exports.
    pub(crate) reexports: BTreeMap<String, String>,
}

/// One file.
#[derive(Debug, Default)]
pub(crate) struct FileFacts {
    /// The file's path below the folder.
    pub(crate) path: PathBuf,
    /// The number of the file's lines.
    pub(crate) n_lines: usize,
    /// Whether the file's first line starts with `//!`.
    pub(crate) is_introduced: bool,
    /// Whether the file contains nothing but tests.
    pub(crate) is_test: bool,
    /// The comments that begin with a word whose subject stands elsewhere, with their lines.
    pub(crate) openings: Vec<(usize, &'static str)>,
    /// The types that the file defines, with their lines.
    pub(crate) types: Vec<(String, usize)>,
    /// The first names after `crate::`, with the lines that use them.
    pub(crate) references: Vec<(String, usize)>,
}

impl FileFacts {
    /// The file or folder in `src/` that the file belongs to, without an extension.
    pub(crate) fn room(&self) -> &str {
        let first = self.path.iter().next().and_then(|part| part.to_str()).unwrap_or_default();
        first.strip_suffix(".rs").unwrap_or(first)
    }

    /// Whether the file is the crate's root, which declares every room.
    pub(crate) fn is_root(&self) -> bool {
        matches!(self.path.to_str(), Some("lib.rs" | "main.rs"))
    }

    /// Whether the file may refer to every room: the crate's root and tests may.
    pub(crate) fn is_free(&self) -> bool {
        self.is_root() || self.is_test
    }
}

impl SourceFacts {
    /// Reads the files of `folder`, a path from the root of the workspace.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let full = workspace_root().join(folder);
        let mut texts = Vec::new();
        collect(&full, &full, &mut texts)?;
        Self::of(folder, texts)
    }

    /// The facts of files given as paths below `folder` and texts.
    pub(crate) fn of(folder: &Path, texts: Vec<(PathBuf, String)>) -> Result<Self> {
        let mut facts = Self { folder: folder.to_owned(), ..Self::default() };
        for (path, text) in texts {
            let file = syn::parse_file(&text).with_context(|| format!("cannot parse {}", path.display()))?;
            let mut reader = Reader::new(path, &text);
            if reader.facts.is_root() {
                facts.reexports.extend(reexports(&file.items));
            }
            reader.visit_file(&file);
            facts.files.push(reader.facts);
        }
        facts.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(facts)
    }
}

/// Reads all Rust files below `folder`.
fn collect(root: &Path, folder: &Path, texts: &mut Vec<(PathBuf, String)>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            collect(root, &path, texts)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            texts.push((path.strip_prefix(root)?.to_owned(), text));
        }
    }
    Ok(())
}

/// The names that `use room::…::Name` brings into the crate's root, with the room.
fn reexports(items: &[Item]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for item in items {
        let Item::Use(item) = item else { continue };
        let mut leaves = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut leaves);
        for (path, name) in leaves {
            if let Some(room) = path.iter().find(|part| !matches!(part.as_str(), "crate" | "self")) {
                found.push((name, room.clone()));
            }
        }
    }
    found
}

/// Lists the leaves of a `use` as (path with the leaf, name in this module).
fn flatten(tree: &UseTree, path: &mut Vec<String>, leaves: &mut Vec<(Vec<String>, String)>) {
    match tree {
        UseTree::Path(part) => {
            path.push(part.ident.to_string());
            flatten(&part.tree, path, leaves);
            path.pop();
        }
        UseTree::Name(leaf) => {
            let name = leaf.ident.to_string();
            leaves.push((path.iter().cloned().chain([name.clone()]).collect(), name));
        }
        UseTree::Rename(leaf) => {
            let full = path.iter().cloned().chain([leaf.ident.to_string()]).collect();
            leaves.push((full, leaf.rename.to_string()));
        }
        UseTree::Glob(_) => leaves.push((path.clone(), "*".to_owned())),
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, path, leaves)),
    }
}

/// Collects the facts of one file from its syntax tree.
struct Reader {
    facts: FileFacts,
    /// The path of the module that is being read, from the crate's root.
    module: Vec<String>,
}

impl Reader {
    fn new(path: PathBuf, text: &str) -> Self {
        let is_test = path.iter().any(|part| part == "tests" || part == "tests.rs");
        let mut module: Vec<String> =
            path.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
        if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
            module.pop();
        }
        let (n_lines, is_introduced) = (text.lines().count(), text.starts_with("//!"));
        let openings = pointing_openings(text);
        Self { facts: FileFacts { path, n_lines, is_introduced, is_test, openings, ..FileFacts::default() }, module }
    }

    /// Adds a path of names to the references if it refers to a room of the crate.
    fn note(&mut self, names: &[String], span: Span) {
        let n_up = names.iter().take_while(|name| *name == "super").count();
        let first = match names.first().map(String::as_str) {
            Some("crate") => names.get(1).cloned(),
            // After as many `super`s as lead to the crate's root, the next name is a room's.
            Some("super") if n_up == self.module.len() => names.get(n_up).cloned(),
            _ => None,
        };
        if let Some(first) = first {
            self.facts.references.push((first, span.start().line));
        }
    }

    /// Adds each `crate :: name` among the tokens of a macro call to the references.
    fn note_tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for window in tokens.windows(4) {
            if let [TokenTree::Ident(root), TokenTree::Punct(_), TokenTree::Punct(_), TokenTree::Ident(name)] = window
                && root == "crate"
            {
                self.note(&["crate".to_owned(), name.to_string()], name.span());
            }
        }
        for token in tokens {
            if let TokenTree::Group(group) = token {
                self.note_tokens(group.stream());
            }
        }
    }
}

/// Whether an item is compiled for tests alone.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|condition| condition == "test")
    })
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        let defined = match item {
            Item::Struct(item) => Some((&item.attrs, &item.ident)),
            Item::Enum(item) => Some((&item.attrs, &item.ident)),
            Item::Union(item) => Some((&item.attrs, &item.ident)),
            Item::Trait(item) => Some((&item.attrs, &item.ident)),
            Item::Type(item) => Some((&item.attrs, &item.ident)),
            _ => None,
        };
        if let Some((attributes, name)) = defined
            && !is_for_tests(attributes)
            && name != "Result"
        {
            self.facts.types.push((name.to_string(), name.span().start().line));
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if is_for_tests(&item.attrs) {
            return;
        }
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_block(&mut self, block: &'ast syn::Block) {
        // A type inside a function is not visible outside it.
        let n_types = self.facts.types.len();
        visit::visit_block(self, block);
        self.facts.types.truncate(n_types);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if is_for_tests(&item.attrs) {
            return;
        }
        let mut leaves = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut leaves);
        for (path, _) in leaves {
            self.note(&path, item.use_token.span);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if let Some(first) = path.segments.first() {
            self.note(&names, first.ident.span());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.note_tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }
}
