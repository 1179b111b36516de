//! The `vkarray` command.
//!
//! `args.rs` is what the user typed; `devices.rs`, `run.rs`, `inspect.rs` and `bench.rs` are the commands;
//! `shader.rs` and `array.rs` are what they read. An error
//! ends the program with one paragraph on standard error and a code that says whose fault it is (`error.rs`).
//! Start at `run.rs`.

mod args;
mod array;
mod bench;
mod contain;
mod devices;
mod error;
mod inspect;
mod run;
mod shader;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Command, CommandLine};
use crate::error::Error;

fn main() -> ExitCode {
    let command = CommandLine::parse().command;
    contain::silence();
    let result = contain::contain(|| match command {
        Command::Devices(args) => devices::list(&args),
        Command::Run(args) => run::run(&args),
        Command::Inspect(args) => inspect::inspect(&args),
        Command::Bench(args) => bench::bench(&args),
    });
    match result.unwrap_or_else(|reason| Err(Error::Defect { reason })) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", error.paragraph());
            ExitCode::from(error.exit_code())
        }
    }
}
