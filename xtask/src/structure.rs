//! `cargo xtask structure`: checks the rules of the source tree that help a newcomer to find a place in it.
//!
//! A room is a file or folder directly in a crate's `src/`. For every crate in `crates/` the rules are: a crate has at
//! most [`MAX_ROOMS`] rooms, the rooms do not import each other in a cycle, no two types of a crate share a name, and a
//! file opens with `//!`, has at most [`MAX_LINES`] lines, and has no comment that begins with a word whose subject
//! stands elsewhere. For the files in [`OTHER_FOLDERS`] only the last three rules hold, which are about single files.
//!
//! `structure/facts.rs` reads the source with `syn`, `structure/comments.rs` reads the comments, and
//! `structure/rules.rs` compares the source with the rules. This file has only the command.

mod comments;
mod facts;
mod rules;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};

use crate::workspace_root;
pub(crate) use facts::SourceFacts;

/// The most entries that `src/` may have.
const MAX_ROOMS: usize = 12;
/// The most lines that a file may have, tests included.
const MAX_LINES: usize = 400;
/// The folders whose files are checked one by one, without the rules for rooms and names.
const OTHER_FOLDERS: [&str; 4] = ["benches/src", "shaders/src", "tests", "xtask/src"];

/// Prints each broken rule; the exit code is a failure if there is one.
pub(crate) fn run() -> Result<ExitCode> {
    let mut objections = Vec::new();
    for folder in crate_sources()? {
        objections.extend(rules::of_crate(&SourceFacts::read(&folder)?));
    }
    for folder in OTHER_FOLDERS {
        objections.extend(rules::of_files(&SourceFacts::read(Path::new(folder))?));
    }
    for objection in &objections {
        println!("{objection}");
    }
    println!("structure: {} objections", objections.len());
    Ok(if objections.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The `src` folders in `crates/`, from the root of the workspace, in alphabetical order.
fn crate_sources() -> Result<Vec<PathBuf>> {
    let crates = Path::new("crates");
    let entries = fs::read_dir(workspace_root().join(crates)).context("cannot list crates")?;
    let mut folders = Vec::new();
    for entry in entries {
        let folder = crates.join(entry?.file_name()).join("src");
        if workspace_root().join(&folder).is_dir() {
            folders.push(folder);
        }
    }
    folders.sort();
    Ok(folders)
}
