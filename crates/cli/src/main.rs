//! The `vkarray` command.
//!
//! `args/` is the command line; `info/`, `run/` and `test/` are the commands; `shader.rs` and `array/` read their files,
//! and `files/` knows all files of a call and writes them. An error ends the program with its message on standard error
//! and an exit code that distinguishes wrong input from a failure of the machine (`error.rs`). Start at `run/mod.rs`.

#![deny(unsafe_code)]

mod args;
mod array;
mod error;
mod files;
mod info;
mod panics;
mod run;
mod shader;
mod stdio;
mod test;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Command, CommandLine};
use crate::error::Error;

fn main() -> ExitCode {
    let command = CommandLine::parse().command;
    panics::silence();
    let result = panics::catch_panic(|| match command {
        Command::Devices(args) => info::list(&args),
        Command::Run(args) => run::run(&args),
        Command::Eval(args) => run::eval(&args),
        Command::Inspect(args) => info::inspect(&args),
        Command::Test(args) => test::test(&args),
        Command::Check(args) => test::check(&args),
        Command::Cache(args) => info::cache(&args),
        Command::Completions(args) => info::completions(&args),
        Command::Man(args) => info::man(&args),
    });
    match result.unwrap_or_else(|reason| Err(Error::Defect { reason })) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if !matches!(error, Error::Reported { .. }) {
                eprintln!("error: {error}");
            }
            ExitCode::from(error.exit_code())
        }
    }
}
