//! What the compiler of GLSL says, in the form of our other messages: place, sentence, and the line of the shader.

use std::collections::BTreeSet;

use super::expand::{Expanded, UNRESOLVED, shown};
use crate::error::Error;

/// What the compiler calls uniform variables that stand in no block.
const LOOSE_UNIFORMS: &str = "'non-opaque uniforms outside a block'";

/// Whether the shader was refused for uniform variables outside of blocks.
pub(super) fn has_loose_uniforms(log: &str) -> bool {
    log.contains(LOOSE_UNIFORMS)
}

/// The error for what the compiler refused: the first that it names, since it stops there.
pub(super) fn refusal(name: &str, expanded: &Expanded, log: &str) -> Error {
    let files = expanded.files();
    let first = log.lines().find_map(|line| line.strip_prefix("ERROR: ")).unwrap_or(log).trim();
    let Some(((file, number), what)) = placed(first, &files) else {
        if first.contains("Missing entry point") {
            return Error::NoEntryPoint { source_name: name.to_owned(), expected: "`void main() …`" };
        }
        return Error::Parse { place: name.to_owned(), report: sentence(first, expanded) };
    };
    let place = format!("{}:{number}", if file == shown(name) { name } else { file });
    let line = expanded.line(file, number).filter(|line| !line.contains(UNRESOLVED));
    let line = line.map(|line| format!("\n{}", line.trim_end())).unwrap_or_default();
    Error::Parse { place, report: sentence(what.trim(), expanded) + &line }
}

/// File and line that a message begins with, and the rest of it.
fn placed<'a>(text: &'a str, files: &BTreeSet<&'a str>) -> Option<((&'a str, usize), &'a str)> {
    files.iter().rev().find_map(|file| {
        let (line, rest) = text.strip_prefix(*file)?.strip_prefix(':')?.split_once(':')?;
        let number = line.parse().ok()?;
        // Newer compilers add the column.
        let rest = match rest.split_once(':') {
            Some((column, rest)) if column.parse::<u32>().is_ok() => rest,
            _ => rest,
        };
        Some(((*file, number), rest))
    })
}

/// `'name' : what` as a sentence.
fn sentence(text: &str, expanded: &Expanded) -> String {
    if let Some((_, number)) = text.split_once(UNRESOLVED) {
        let problem = number.trim().parse::<usize>().ok().and_then(|number| expanded.problems.get(number));
        return problem
            .map_or_else(|| text.to_owned(), |problem| format!("the `#include` cannot be followed: {problem}"));
    }
    let text = text.strip_prefix("Linking compute stage: ").unwrap_or(text);
    let quoted = text.strip_prefix('\'').and_then(|rest| rest.split_once("' : "));
    match quoted {
        Some(("", what)) => what.trim().to_owned(),
        Some((name, what)) => format!("`{name}`: {}", what.trim()),
        None => text.to_owned(),
    }
}
