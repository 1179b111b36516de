//! The commands of the README and the guide, run as they are written there: every line of a `sh` block that begins with
//! `vkarray`. A command that is not to be run, such as a measurement, stands in a block of another kind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Folder, text};

/// The README and the pages of the guide.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the repository");
    let entries = fs::read_dir(root.join("docs")).expect("the guide is there");
    let mut pages: Vec<PathBuf> = entries.map(|entry| entry.expect("the guide is there").path()).collect();
    pages.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    pages.insert(0, root.join("README.md"));
    pages
}

/// The words of the commands on a page.
fn commands(page: &str) -> Vec<Vec<String>> {
    let blocks = page.split("\n```sh\n").skip(1).map(|rest| rest.split("\n```").next().unwrap_or_default());
    let joined: Vec<String> = blocks.map(|block| block.replace("\\\n", " ")).collect();
    let lines = joined.iter().flat_map(|block| block.lines());
    let words = lines.map(|line| shlex::split(line).unwrap_or_else(|| panic!("not a line for a shell: {line}")));
    words.filter(|words| words.first().is_some_and(|word| word == "vkarray")).collect()
}

#[test]
fn commands_of_the_guide_end_well() {
    if !crate::device::has_device() {
        return;
    }
    let folder = Folder::new();
    // The folders of the repository that the commands read and write.
    for name in ["shaders/samples", "docs/pictures", "target"] {
        fs::create_dir_all(folder.path(name)).expect("the folder is ours");
    }
    for (name, source) in vkarray_shaders::SAMPLES {
        folder.put(&format!("shaders/samples/{name}.wgsl"), source);
    }
    for (name, text) in vkarray_shaders::PIPELINES.iter().chain(vkarray_shaders::GLSL_SAMPLES) {
        folder.put(&format!("shaders/samples/{name}"), text);
    }
    crate::test::copy_repository(&folder.path("examples/shader-repo"));
    let mut n_commands = 0;
    for page in pages() {
        for words in commands(&fs::read_to_string(&page).expect("a page")) {
            let mut command = Command::new(env!("CARGO_BIN_EXE_vkarray"));
            command.args(&words[1..]).current_dir(folder.path(".")).env("VKARRAY_VALIDATION", "1");
            let output = command.output().expect("the command starts");
            assert!(output.status.success(), "{}: {words:?}\n{}", page.display(), text(&output.stderr));
            n_commands += 1;
        }
    }
    assert!(n_commands >= 40, "the guide has more commands than {n_commands}");
    for written in ["julia.png", "y.npy", "z.npy", "docs/pictures/mandelbrot.png", "target/total.npy"] {
        assert!(folder.path(written).is_file(), "{written}");
    }
}
