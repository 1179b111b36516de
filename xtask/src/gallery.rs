//! `cargo xtask gallery`: makes the pictures of `docs/samples.md`, by running the commands of that page.
//!
//! The page is the only list of the commands. Commands in `sh` blocks are also run by the tests of the command
//! (`crates/cli/tests/cli/guide.rs`); commands in `shell` blocks build and run examples first.

use std::fs;

use anyhow::{Context as _, Result, bail};

use crate::command::CommandLine;
use crate::plan::Purpose;
use crate::{demo, setup, workspace_root};

const PAGE: &str = "docs/samples.md";

/// Pictures of this many bytes and more are not kept in the repository.
const LIMIT: u64 = 30_000;

/// Runs the commands, and checks the sizes of the pictures.
pub(crate) fn run() -> Result<()> {
    setup::run(Purpose::Programs)?;
    let vkarray = demo::build()?;
    let page = fs::read_to_string(workspace_root().join(PAGE)).with_context(|| format!("cannot read {PAGE}"))?;
    let folder = workspace_root().join("target");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for words in commands(&page)? {
        let command = match words.split_first() {
            Some((program, args)) if program == "vkarray" => {
                CommandLine::new([vkarray.as_str()]).with_args(args).with_args(["--quiet"])
            }
            _ => CommandLine::new(words),
        };
        command.run_to_success()?;
    }
    for picture in pictures(&page) {
        let file = fs::metadata(workspace_root().join(&picture));
        let size = file.with_context(|| format!("no command wrote {picture}"))?.len();
        if size >= LIMIT {
            bail!("{picture} has {size} bytes, of at most {LIMIT}: make it smaller in {PAGE}");
        }
    }
    Ok(())
}

/// The words of each command in the page's blocks of `sh` and `shell`, in order.
fn commands(page: &str) -> Result<Vec<Vec<String>>> {
    let blocks =
        page.split("\n```").filter_map(|part| part.strip_prefix("sh\n").or_else(|| part.strip_prefix("shell\n")));
    let joined: Vec<String> = blocks.map(|block| block.replace("\\\n", " ")).collect();
    let lines = joined.iter().flat_map(|block| block.lines()).filter(|line| !line.trim().is_empty());
    lines.map(|line| shlex::split(line).with_context(|| format!("{PAGE}: not a line for a shell: {line}"))).collect()
}

/// The pictures that the page shows, from the root of the workspace.
fn pictures(page: &str) -> impl Iterator<Item = String> {
    let links = page.split("](pictures/").skip(1).filter_map(|rest| rest.split(')').next());
    links.map(|name| format!("docs/pictures/{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_from_both_kinds_of_blocks() {
        let page = "# Page\n\n```sh\nvkarray run 'a b' \\\n    --quiet\nvkarray devices\n```\n\nvkarray bench\n\n```text\nvkarray no\n```\n\n```shell\ncargo run\n```\n";
        let found = commands(page).unwrap();
        assert_eq!(found, [vec!["vkarray", "run", "a b", "--quiet"], vec!["vkarray", "devices"], vec!["cargo", "run"]]);
        assert!(commands("\n```sh\nvkarray 'open\n```\n").is_err());
    }

    #[test]
    fn each_picture_of_the_page_is_small_and_written_by_one_command() {
        let page = fs::read_to_string(workspace_root().join(PAGE)).unwrap();
        let commands = commands(&page).unwrap();
        let shown: Vec<String> = pictures(&page).collect();
        assert!(shown.len() >= 10, "{shown:?}");
        for picture in shown {
            let ending = format!("={picture}");
            let is_written =
                |words: &&Vec<String>| words.windows(2).any(|two| two[0] == "--out" && two[1].ends_with(&ending));
            assert_eq!(commands.iter().filter(is_written).count(), 1, "{picture}");
            assert!(fs::metadata(workspace_root().join(&picture)).unwrap().len() < LIMIT, "{picture}");
        }
    }
}
