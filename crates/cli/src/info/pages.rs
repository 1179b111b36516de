//! `vkarray completions` and `vkarray man`: what shells and `man` read, made from the command line's own description.

use clap::CommandFactory;

use crate::args::{CommandLine, CompletionsArgs, ManArgs};
use crate::error::{Error, Result};
use crate::stdio::print;

/// Prints the completions of a shell.
///
/// # Errors
///
/// [`Error::Report`].
pub(crate) fn completions(args: &CompletionsArgs) -> Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut CommandLine::command(), "vkarray", &mut text);
    print(&String::from_utf8_lossy(&text))
}

/// Writes a manual page for the command and one for each of its commands.
///
/// # Errors
///
/// [`Error::NoFolder`], [`Error::Write`].
pub(crate) fn man(args: &ManArgs) -> Result<()> {
    let path = args.folder.clone();
    if !path.is_dir() {
        return Err(Error::NoFolder { path });
    }
    clap_mangen::generate_to(CommandLine::command(), &path)
        .map_err(|reason| Error::Write { path, reason: reason.into() })
}
