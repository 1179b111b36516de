//! The `vkarray` command.
//!
//! `args.rs` is the command line; `devices.rs`, `run/`, `eval.rs`, `inspect.rs` and `bench/` are the commands; `shader.rs` and
//! `array/` read their files. An error ends the program with its message on standard error and an exit code that tells
//! wrong input from a failure of the machine (`error.rs`). Start at `run/mod.rs`.

mod args;
mod array;
mod bench;
mod devices;
mod error;
mod eval;
mod inspect;
mod panics;
mod run;
mod shader;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Command, CommandLine};
use crate::error::Error;

fn main() -> ExitCode {
    let command = CommandLine::parse().command;
    panics::silence();
    let result = panics::catch_panic(|| match command {
        Command::Devices(args) => devices::list(&args),
        Command::Run(args) => run::run(&args),
        Command::Eval(args) => eval::eval(&args),
        Command::Inspect(args) => inspect::inspect(&args),
        Command::Bench(args) => bench::bench(&args),
    });
    match result.unwrap_or_else(|reason| Err(Error::Defect { reason })) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
