//! This program once more, on a device that a layer makes look otherwise than it is.
//!
//! The layers are crates beside this one, which cargo builds as libraries with the tests. They stand below the
//! validation layer, which so judges what they report. A loader reads its settings from the environment, so the program
//! runs itself.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use vkarray_tests::skips::LAYER_VARIABLE;

/// A layer, as cargo builds it.
pub(crate) struct Layer {
    pub(crate) name: &'static str,
    /// Where its manifest goes, beside the tests.
    pub(crate) folder: &'static str,
    pub(crate) library: &'static str,
    /// What the loader is told of the library at a path.
    pub(crate) manifest: fn(&str) -> String,
}

impl Layer {
    /// This program, with the layer enabled, below the validation layer.
    pub(crate) fn command(&self) -> Command {
        let program = env::current_exe().expect("a program knows where it is");
        let libraries = program.parent().expect("a program lies in a folder");
        let data = libraries.join(self.folder);
        let layers = data.join("vulkan/explicit_layer.d");
        fs::create_dir_all(&layers).expect("the build's folder can be written to");
        let library = libraries.join(self.library);
        assert!(library.exists(), "cargo builds {} with the tests", library.display());
        let file = layers.join(self.folder).with_extension("json");
        fs::write(file, (self.manifest)(&library.to_string_lossy())).expect("as the folder");
        let mut command = Command::new(program);
        // Older loaders order layers as they find them, so this one has to be found last: `VK_ADD_LAYER_PATH` is searched
        // first.
        match env::var("VK_LAYER_PATH") {
            Ok(first) => command.env("VK_LAYER_PATH", joined(&first, &layers)),
            Err(_) => {
                let first = env::var("XDG_DATA_DIRS").unwrap_or_else(|_| "/usr/local/share:/usr/share".to_owned());
                command.env("XDG_DATA_DIRS", joined(&first, &data))
            }
        };
        command.env(LAYER_VARIABLE, self.folder);
        command.env("VK_INSTANCE_LAYERS", format!("VK_LAYER_KHRONOS_validation:{}", self.name));
        command
    }
}

/// Fails unless the tests pass, `witness` among them: a test that is true only on the layer.
pub(crate) fn assert_passed(mut tests: Command, witness: &str) {
    let output = tests.output().expect("this program can be run");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    let has_run = text.contains(&format!("test {witness} ... ok"));
    assert!(output.status.success() && has_run, "{}:\n{text}", output.status);
}

fn joined(first: &str, last: &Path) -> String {
    format!("{first}:{}", last.display())
}
