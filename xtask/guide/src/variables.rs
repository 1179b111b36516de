//! Checks that the page of environment variables names every variable that the sources name, and no other.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

/// The page that lists all variables.
const PAGE: &str = "docs/environment.md";

/// The folders of sources that read or set variables.
const FOLDERS: [&str; 4] = ["benches", "crates", "tests", "xtask"];

/// How the names of variables begin.
const PREFIX: &str = "VKARRAY_";

/// Everything that is wrong, a line each.
pub(crate) fn objections(root: &Path) -> Result<Vec<String>> {
    let page = fs::read_to_string(root.join(PAGE)).with_context(|| format!("cannot read {PAGE}"))?;
    let documented = names(&page);
    let mut used = BTreeSet::new();
    for folder in FOLDERS {
        used.extend(names_below(&root.join(folder))?);
    }
    let missing = used.difference(&documented).map(|name| format!("{PAGE}: it does not name {name}"));
    let stale = documented.difference(&used).map(|name| format!("{PAGE}: no source names {name}"));
    Ok(missing.chain(stale).collect())
}

/// The variables in all Rust sources below `folder`.
fn names_below(folder: &Path) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        // The sources of the guide's builder contain names that are not variables.
        if path.is_dir() && !path.ends_with("target") && !path.ends_with("xtask/guide") {
            found.extend(names_below(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            found.extend(names(&text));
        }
    }
    Ok(found)
}

/// The variables in a text. The name of a layer, `VK_LAYER_VKARRAY_…`, is not a variable.
fn names(text: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let starts = text.match_indices(PREFIX).map(|(at, _)| at);
    let whole = starts.filter(|&at| !text[..at].ends_with(is_name));
    let names = whole.map(|at| text[at..].split(|c| !is_name(c)).next().unwrap_or_default());
    names.filter(|name| name.len() > PREFIX.len() && !name.ends_with('_')).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_told_from_layers_and_prefixes() {
        let text = "`VKARRAY_ONE`, \"VKARRAY_TWO_2\"; VK_LAYER_VKARRAY_many_queues, VKARRAY_*, VKARRAY_ONE=1";
        assert_eq!(names(text).into_iter().collect::<Vec<_>>(), ["VKARRAY_ONE", "VKARRAY_TWO_2"]);
    }
}
