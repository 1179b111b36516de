//! The `vkarray` command as a user runs it: lines, exit codes, what is printed, and which files appear.
//!
//! `refusals.rs` and nearly all of `inspect.rs` need no device, `device.rs`, `check.rs`, `test.rs`, `files.rs` and `pipeline.rs` do.
//! Device tests run under the validation layer; where there is no device they fail, unless `GPU_TESTS=skip` says that none
//! is expected.

mod check;
mod damage;
mod damaged;
mod device;
mod files;
mod guide;
mod inspect;
mod pages;
mod pipeline;
mod refusals;
mod test;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use tempfile::TempDir;

/// A folder in which commands run, so that every path in a line is relative to it.
struct Folder(TempDir);

impl Folder {
    fn empty() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    /// Makes a folder that holds the sample shaders.
    fn new() -> Self {
        let folder = Self::empty();
        for (name, text) in vkarray_shaders::SAMPLES {
            folder.put(&format!("{name}.wgsl"), text);
        }
        for (name, text) in vkarray_shaders::PIPELINES.iter().chain(vkarray_shaders::GLSL_SAMPLES) {
            folder.put(name, text);
        }
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).expect("the folder is ours");
    }

    /// Every file and its content, also those of folders.
    fn contents(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let (mut folders, mut files) = (vec![self.0.path().to_owned()], Vec::new());
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("the folder is ours") {
                let path = entry.expect("the folder is ours").path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => files.push((path.clone(), fs::read(path).expect("a file"))),
                }
            }
        }
        files.sort();
        files
    }

    /// `vkarray` with the words of `line`, not yet run.
    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vkarray"));
        command.args(line.split_whitespace()).current_dir(self.0.path());
        command
    }

    /// Runs a line that must fail with `code`, and returns its error. Nothing may be printed, and no file may change.
    fn refused(&self, code: i32, command: &mut Command) -> String {
        let before = self.contents();
        let output = command.output().expect("the command starts");
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{command:?}\n{stderr}");
        assert_eq!(text(&output.stdout), "", "{command:?}");
        assert_eq!(self.contents(), before, "{command:?}");
        assert!(stderr.starts_with("error: "), "{stderr}");
        stderr
    }

    /// Runs a line that must succeed, under the validation layer.
    fn done(&self, line: &str) -> Output {
        let output = self.command(line).env("VKARRAY_VALIDATION", "1").output().expect("the command starts");
        assert!(output.status.success(), "{line}\n{}", text(&output.stderr));
        assert_eq!(text(&output.stderr), "", "{line}"); // The progress bar appears only on a terminal.
        output
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the command prints UTF-8")
}
