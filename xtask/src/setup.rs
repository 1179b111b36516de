//! `cargo xtask setup`: installs what vkarray needs and this machine lacks.
//!
//! It takes a snapshot of the machine (`found.rs`), decides (`plan.rs`), acts, and takes a second snapshot. On a
//! machine that has a loader and a usable device it changes nothing.

use anyhow::{Result, bail};

use crate::found::Found;
use crate::plan::{Purpose, Step, listed, missing, plan};

/// Installs what is missing, and returns the machine's state after that.
pub(crate) fn run(purpose: Purpose) -> Result<Found> {
    let found = Found::look()?;
    println!("{found}");
    let steps = plan(&found, purpose);
    if steps.is_empty() {
        println!("set-up: nothing to install");
        return Ok(found);
    }
    println!("set-up: missing {}", listed(&missing(&found, purpose)));
    steps.iter().try_for_each(act)?;
    let found = Found::look()?;
    println!("{found}");
    let still = missing(&found, purpose);
    if !still.is_empty() {
        bail!("the packages are installed, but {} still cannot be found; see the notes above", listed(&still));
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
            println!("set-up: that failed, possibly because the package lists are old; fetching them");
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
    fn after_a_failed_install_package_lists_are_fetched_once_and_the_install_is_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let (lists, tries) = (folder.path().join("lists"), folder.path().join("tries"));
        let install = shell(&format!("echo try >> {} && test -e {}", tries.display(), lists.display()));
        for (refresh, ends_well, n_tries) in [
            (None, false, 1),                                      // No second install without fresh lists.
            (Some("exit 1".to_owned()), false, 1),                 // The lists cannot be fetched.
            (Some("exit 0".to_owned()), false, 2),                 // The install fails with fresh lists too.
            (Some(format!("touch {}", lists.display())), true, 2), // The lists were old.
            (Some("exit 1".to_owned()), true, 1),                  // The install succeeds at once: no refresh.
        ] {
            let step = Step::Install { command: install.clone(), refresh: refresh.as_deref().map(shell) };
            assert_eq!(act(&step).is_ok(), ends_well, "{step:?}");
            assert_eq!(std::fs::read_to_string(&tries).unwrap().lines().count(), n_tries, "{step:?}");
            std::fs::remove_file(&tries).unwrap();
        }
    }

    #[test]
    fn a_stop_step_is_an_error_with_its_instructions() {
        assert_eq!(act(&Step::Stop("do it yourself".to_owned())).unwrap_err().to_string(), "do it yourself");
    }
}
