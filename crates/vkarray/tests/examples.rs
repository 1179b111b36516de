//! Runs the numbered programs of `examples/`. Each ends with assertions, and must succeed on the device of the tests.
//!
//! `cargo test` builds examples before it runs this test. `cargo test --test examples` does not, so build the examples
//! first.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// Programs that are built only with the feature `npy`, as `Cargo.toml` says.
const NEED_NPY: [&str; 6] = ["08_files", "09_heat", "10_wave", "11_life", "12_nbody", "13_boids"];

#[test]
fn the_numbered_programs_succeed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<String> = entries
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|name| name.starts_with(|first: char| first.is_ascii_digit()))
        .filter(|name| cfg!(feature = "npy") || !NEED_NPY.contains(&name.as_str()))
        .filter(|name| cfg!(feature = "trace") || name != "17_overlap")
        .collect();
    names.sort();
    assert!(names.len() >= 13, "{names:?}");
    // The test is `target/debug/deps/examples-…`, the programs are `target/debug/examples/…`.
    let test = env::current_exe().unwrap();
    let programs = test.parent().and_then(Path::parent).unwrap().join("examples");
    for name in names {
        let program = programs.join(&name).with_extension(env::consts::EXE_EXTENSION);
        let output = Command::new(&program).output().unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
