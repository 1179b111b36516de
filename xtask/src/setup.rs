//! `cargo xtask setup`: a machine that can run vkarray.
//!
//! Look, decide (`plan.rs`), act, look again.
//! A machine that has a loader and a usable device is left alone.

use anyhow::{Result, bail};

use crate::found::Found;
use crate::plan::{Step, listed, missing, plan};

/// Brings what is missing, and returns the machine as it is then.
pub(crate) fn run(tests: bool) -> Result<Found> {
    let found = Found::look()?;
    println!("{found}");
    let steps = plan(&found, tests);
    if steps.is_empty() {
        println!("set-up: nothing to install");
        return Ok(found);
    }
    println!("set-up: missing {}", listed(&missing(&found, tests)));
    steps.iter().try_for_each(act)?;
    let found = Found::look()?;
    println!("{found}");
    let still = missing(&found, tests);
    if !still.is_empty() {
        bail!("the packages are installed, and {} cannot be found all the same; see the notes above", listed(&still));
    }
    println!("set-up: installed and found");
    Ok(found)
}

fn act(step: &Step) -> Result<()> {
    match step {
        Step::Refresh(command) => command.run_to_success(),
        Step::Install { command, refresh: None } => command.run_to_success(),
        Step::Install { command, refresh: Some(refresh) } => {
            if command.run()?.success() {
                return Ok(());
            }
            println!("set-up: that failed, perhaps because the lists of packages are old; fetching them");
            refresh.run_to_success()?;
            command.run_to_success()
        }
        Step::Stop(instructions) => bail!("{instructions}"),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::command::CommandLine;

    fn shell(script: &str) -> CommandLine {
        CommandLine::new(["sh", "-c", script])
    }

    #[test]
    fn stale_lists_are_fetched_once_and_the_install_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let (lists, tries) = (folder.path().join("lists"), folder.path().join("tries"));
        let install = shell(&format!("echo try >> {} && test -e {}", tries.display(), lists.display()));
        for (refresh, ends_well, n_tries) in [
            (None, false, 1),                                      // No second try without fresh lists.
            (Some("exit 1".to_owned()), false, 1),                 // The mirror cannot be reached.
            (Some("exit 0".to_owned()), false, 2),                 // Fresh lists that do not help: give up.
            (Some(format!("touch {}", lists.display())), true, 2), // The lists were old.
            (Some("exit 1".to_owned()), true, 1),                  // Lists are there now: no refresh is run.
        ] {
            let step = Step::Install { command: install.clone(), refresh: refresh.as_deref().map(shell) };
            assert_eq!(act(&step).is_ok(), ends_well, "{step:?}");
            assert_eq!(std::fs::read_to_string(&tries).unwrap().lines().count(), n_tries, "{step:?}");
            std::fs::remove_file(&tries).unwrap();
        }
    }

    #[test]
    fn an_instruction_ends_the_set_up() {
        assert_eq!(act(&Step::Stop("do it yourself".to_owned())).unwrap_err().to_string(), "do it yourself");
    }
}
