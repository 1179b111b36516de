//! `cargo xtask guide`: builds the guide of `docs/` and checks the links of all Markdown files.
//!
//! The work is done by a program of a workspace of its own, `xtask/guide`, since mdBook brings a hundred dependencies
//! that nothing else needs. The code of the guide is run by `cargo test -p vkarray-guide`.

use crate::command::CommandLine;

/// The command that builds the guide into `target/guide/`.
pub(crate) fn command() -> CommandLine {
    let program = ["--manifest-path", "xtask/guide/Cargo.toml", "--target-dir", "target/guide-build"];
    CommandLine::new(["cargo", "run", "--quiet", "--locked"]).with_args(program)
}
