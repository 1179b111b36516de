//! `cargo xtask guide`: builds the guide of `docs/` and checks the links of all Markdown files.
//!
//! The program in `xtask/guide` does the work. It is a workspace of its own, since mdBook has a hundred dependencies
//! that nothing else needs. `cargo test -p vkarray-guide` runs the code of the guide.

use crate::command::CommandLine;

/// The command that builds the guide into `target/guide/`.
pub(crate) fn build() -> CommandLine {
    cargo("run")
}

/// The command that runs the tests of the program that builds the guide.
pub(crate) fn test() -> CommandLine {
    cargo("test")
}

fn cargo(task: &str) -> CommandLine {
    let program = ["--manifest-path", "xtask/guide/Cargo.toml", "--target-dir", "target/guide-build"];
    CommandLine::new(["cargo", task, "--quiet", "--locked"]).with_args(program)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use clap::Parser as _;

    use crate::{Cli, workspace_root};

    #[test]
    fn commands_in_the_documentation_are_commands() {
        let mut n_commands = 0;
        for page in ["README.md", "CONTRIBUTING.md", "docs/install.md", "docs/index.md"] {
            let text = fs::read_to_string(workspace_root().join(page)).unwrap();
            for line in text.lines().filter(|line| line.starts_with("cargo xtask ")) {
                let words = shlex::split(line).unwrap(); // The comment is left out.
                let parsed = Cli::try_parse_from(&words[1..]);
                assert!(parsed.is_ok(), "{page}: {line}: {}", parsed.err().unwrap());
                n_commands += 1;
            }
        }
        assert!(n_commands >= 4, "{n_commands} commands were found");
    }
}
