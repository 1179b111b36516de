//! `cargo xtask structure`: checks that the source tree keeps the rules a newcomer relies on to find a place.
//!
//! A room is a file or folder directly in a crate's `src/`. The rules, for every crate in `crates/`:
//! a crate has at most [`MAX_ROOMS`] rooms, rooms do not import each other in a circle, no two types of a crate share a
//! name, and a file opens with `//!` and has at most [`MAX_LINES`] lines.
//!
//! `structure/facts.rs` reads the source with `syn`, `structure/rules.rs` judges what was read. Here is only the command.

mod facts;
mod rules;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};

use crate::workspace_root;
use facts::CrateFacts;

/// How many entries `src/` may show.
const MAX_ROOMS: usize = 12;
/// How long a file may be, tests included.
const MAX_LINES: usize = 400;

/// Prints what breaks a rule; the exit code is a failure if anything does.
pub(crate) fn run() -> Result<ExitCode> {
    let mut objections = Vec::new();
    for folder in crate_folders()? {
        let facts = CrateFacts::read(&folder)?;
        objections.extend(rules::objections(&facts));
    }
    for objection in &objections {
        println!("{objection}");
    }
    println!("structure: {} objections", objections.len());
    Ok(if objections.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The folders in `crates/`, in alphabetical order.
fn crate_folders() -> Result<Vec<PathBuf>> {
    let root = workspace_root().join("crates");
    let entries = fs::read_dir(&root).with_context(|| format!("cannot list {}", root.display()))?;
    let mut folders: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.join("src").is_dir()).collect();
    folders.sort();
    Ok(folders)
}
