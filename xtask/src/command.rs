//! One command line: printed as a user would type it, then run.
//!
//! The commands themselves are in `plan.rs`, `suite.rs`, `demo.rs` and `ci.rs`.
//! Read `setup.rs` next, the first user of this type.

use std::env;
use std::fmt;
use std::process::{Command, ExitCode, ExitStatus};

use anyhow::{Context as _, Result, bail};

use crate::workspace_root;

/// A program, its arguments and the environment added for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandLine {
    env: Vec<(String, String)>,
    words: Vec<String>,
}

impl CommandLine {
    /// A command of these words; the first is the program.
    pub(crate) fn new<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Self {
        Self { env: Vec::new(), words: words.into_iter().map(Into::into).collect() }
    }

    /// Sets `name` to `value` in the command's environment.
    pub(crate) fn with_env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds arguments to the command.
    pub(crate) fn with_args<W: Into<String>>(mut self, args: impl IntoIterator<Item = W>) -> Self {
        self.words.extend(args.into_iter().map(Into::into));
        self
    }

    /// The process to start, in the root of the workspace.
    pub(crate) fn process(&self) -> Command {
        // `CARGO` is the cargo that started xtask, which need not be the first one on PATH.
        let program = match self.words[0].as_str() {
            "cargo" => env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
            other => other.into(),
        };
        let mut process = Command::new(program);
        process.args(&self.words[1..]).envs(self.env.iter().cloned()).envs(loader_path()).current_dir(workspace_root());
        process
    }

    /// Prints the command, runs it and waits for its end.
    pub(crate) fn run(&self) -> Result<ExitStatus> {
        println!("$ {self}");
        self.process().status().with_context(|| format!("cannot start `{self}`"))
    }

    /// Runs the command; if it ends unsuccessfully, the error names it.
    pub(crate) fn run_to_success(&self) -> Result<()> {
        let status = self.run()?;
        if !status.success() {
            bail!("`{self}` ended with {status}");
        }
        Ok(())
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.env {
            write!(f, "{name}={} ", quoted(value))?;
        }
        for (i, word) in self.words.iter().enumerate() {
            write!(f, "{}{}", if i > 0 { " " } else { "" }, quoted(word))?;
        }
        Ok(())
    }
}

/// `word`, quoted for a POSIX shell.
fn quoted(word: &str) -> String {
    // shlex would also quote every word with a `=`, which is special in a command's first word only.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=@%+:,./".contains(c);
    if !word.is_empty() && !word.starts_with('=') && word.chars().all(is_plain) {
        return word.to_owned();
    }
    // Quoting fails only for a nul byte, which no argument of a process can contain.
    shlex::try_quote(word).map_or_else(|_| word.escape_debug().to_string(), Into::into)
}

/// The exit code of `status`; 1 if a signal ended the process.
pub(crate) fn exit_code(status: ExitStatus) -> ExitCode {
    status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// The variable that makes programs find Homebrew's Vulkan loader, since macOS does not search Homebrew's folder.
fn loader_path() -> Option<(&'static str, String)> {
    const NAME: &str = "DYLD_FALLBACK_LIBRARY_PATH";
    let homebrew = "/opt/homebrew/lib:/usr/local/lib:/usr/lib";
    cfg!(target_os = "macos").then(|| {
        let given = env::var(NAME).map(|given| format!("{given}:")).unwrap_or_default();
        (NAME, given + homebrew)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_quoted_for_a_shell() {
        for (words, shown) in [
            (&["cargo", "test"][..], "cargo test"), // Plain words stay plain.
            (&["x", "width=512"], "x width=512"),   // A value stays readable.
            (&["x", "=ls"], "x '=ls'"),             // zsh replaces `=ls` by the program's path.
            (&["x", "a=$HOME;b"], "x 'a=$HOME;b'"), // No variable is expanded and no command ended.
            (&["x", "zeros:f32[512,512]"], "x 'zeros:f32[512,512]'"), // Brackets are patterns to a shell.
            (&["x", "source=@my picture.png"], "x 'source=@my picture.png'"), // A space would split the word.
            (&["x", ""], "x ''"),                   // An empty word is a word.
        ] {
            let shown_now = CommandLine::new(words.iter().copied()).to_string();
            assert_eq!(shown_now, shown, "{words:?}");
            assert_eq!(
                shlex::split(&shown_now).as_deref(),
                Some(&words.iter().map(|&w| w.to_owned()).collect::<Vec<_>>()[..])
            );
        }
    }

    #[test]
    fn environment_variables_are_shown_before_the_command() {
        let command = CommandLine::new(["cargo", "doc"]).with_env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(command.to_string(), "RUSTDOCFLAGS='-D warnings' cargo doc");
    }

    #[test]
    fn the_error_of_an_unsuccessful_command_names_it() {
        let error = CommandLine::new(["cargo", "no-such-subcommand-of-cargo"]).run_to_success().unwrap_err();
        assert!(error.to_string().contains("`cargo no-such-subcommand-of-cargo` ended with"), "{error}");
        let error = CommandLine::new(["no-such-program-anywhere"]).run_to_success().unwrap_err();
        assert!(error.to_string().contains("cannot start `no-such-program-anywhere`"), "{error}");
    }
}
