//! `cargo xtask shares PROGRAM …`: the runner of `cargo xtask test`, which starts a program of tests.
//!
//! The validation layer allows one test at a time in a process (`.cargo/config.toml`). Programs that take minutes
//! therefore run as several processes at once, each with a share of the tests; a process that ends makes room for the next
//! share.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Output};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context as _, Result};

use crate::command::exit_code;

/// The programs that take minutes.
const LONG: [&str; 2] = ["device", "cli"];

/// The most processes at once: their tests use memory of the host, gigabytes in some.
const MOST: usize = 4;

/// How many shares each of the processes at once runs one after another: some tests take a minute, most less than one
/// second.
const SHARES_OF_PROCESS: usize = 8;

/// Runs a program with its arguments. The exit code is the one of the program, or of a share that failed.
pub(crate) fn run(program: &str, args: &[String]) -> Result<ExitCode> {
    let command = || {
        let mut command = Command::new(program);
        command.args(args);
        command
    };
    let cannot_start = || format!("cannot start {program}");
    let n_processes = thread::available_parallelism().map_or(1, usize::from).min(MOST);
    if !is_long(program) || n_processes == 1 {
        return Ok(exit_code(command().status().with_context(cannot_start)?));
    }
    let list = command().args(["--list", "--format=terse"]).output().with_context(cannot_start)?;
    if !list.status.success() {
        io::stderr().write_all(&list.stderr)?;
        return Ok(exit_code(list.status)); // Without a list no test would run, which must not pass.
    }
    let list = String::from_utf8_lossy(&list.stdout);
    let of_names = |names: Vec<&str>| {
        let mut command = command();
        command.arg("--exact").args(names);
        command
    };
    let commands = shares(&list, n_processes * SHARES_OF_PROCESS).into_iter().map(of_names).collect();
    let mut code = ExitCode::SUCCESS;
    for output in outputs(commands, n_processes) {
        let output = output.with_context(cannot_start)?;
        io::stdout().write_all(&output.stdout)?;
        io::stderr().write_all(&output.stderr)?;
        if code == ExitCode::SUCCESS {
            code = exit_code(output.status);
        }
    }
    Ok(code)
}

/// Runs commands, at most `n` at once, and gives the output of each when it has ended.
fn outputs(commands: Vec<Command>, n: usize) -> Receiver<io::Result<Output>> {
    let (ended, outputs) = mpsc::channel();
    let waiting = Arc::new(Mutex::new(commands.into_iter()));
    for _ in 0..n {
        let (ended, waiting) = (ended.clone(), Arc::clone(&waiting));
        let next = move || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
        // Nobody receives once a command could not start.
        thread::spawn(move || while next().is_some_and(|mut command| ended.send(command.output()).is_ok()) {});
    }
    outputs
}

/// Whether the program is one of [`LONG`]; cargo puts a hash behind the name.
fn is_long(program: &str) -> bool {
    let stem = Path::new(program).file_stem().and_then(|stem| stem.to_str());
    stem.and_then(|stem| stem.rsplit_once('-')).is_some_and(|(name, _)| LONG.contains(&name))
}

/// The tests of a list, in shares that are not empty. Neighbours, which take similar times, are in different shares.
fn shares(list: &str, n: usize) -> Vec<Vec<&str>> {
    let mut shares = vec![Vec::new(); n];
    let names = list.lines().filter_map(|line| line.strip_suffix(": test"));
    names.enumerate().for_each(|(i, name)| shares[i % n].push(name));
    shares.retain(|share| !share.is_empty());
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_test_is_in_one_share() {
        let list = "a::b: test\na::c: test\nd: benchmark\ne: test\n";
        assert_eq!(shares(list, 2), [vec!["a::b", "e"], vec!["a::c"]]);
        assert_eq!(shares(list, 4), [["a::b"], ["a::c"], ["e"]]);
        assert!(shares("", 2).is_empty());
    }

    #[test]
    fn long_programs_are_known_by_the_name_before_the_hash() {
        assert!(is_long("target/debug/deps/device-a0b4179f7cbca762") && is_long("cli-2ab8f5768cd5029b.exe"));
        assert!(!is_long("target/debug/deps/vkarray_driver-4bd3acfe0a119543") && !is_long("device"));
    }

    /// The program is this one, once by its own name and once by the name of a long one.
    #[test]
    fn the_exit_code_of_a_program_is_kept() {
        let (own, folder) = (std::env::current_exe().unwrap(), tempfile::tempdir().unwrap());
        let long = folder.path().join("device-0123456789abcdef");
        std::fs::copy(&own, &long).unwrap();
        for program in [own, long] {
            let run = |arg: &str| run(program.to_str().unwrap(), &[arg.to_owned()]).unwrap();
            assert_eq!(run("shares::tests::each_test"), ExitCode::SUCCESS);
            assert_eq!(run("--no-such-option"), ExitCode::from(101));
        }
        assert!(run("no-such-program-anywhere", &[]).is_err());
    }
}
