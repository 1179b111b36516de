//! The output of a program whose `main` returns [`vkarray::Result`].
//!
//! This test is such a program: it starts itself again, once for each case, and reads the output. No device is used.

use std::env;
use std::process::Command;

use vkarray::array::Layout;
use vkarray::kernel::signature::Module;
use vkarray::{Order, Source};

/// Names the case that the program is started for.
const CASE: &str = "VKARRAY_TEST_CASE";

/// The cases, and the expected output.
const CASES: [(&str, &str); 3] = [
    (
        "shader",
        "Error: saxpy.wgsl:1:32: the shader does not parse\n\
         error: expected expression, found \";\"\n  \
         ┌─ saxpy.wgsl:1:32\n  \
         │\n\
         1 │ fn saxpy() -> f32 { var x = 2 +; }\n  \
         │                                ^ expected expression\n",
    ),
    ("file", "Error: cannot read missing.npy: No such file or directory (os error 2)\n"),
    ("layout", "Error: cannot reshape 6 elements of shape (2, 3) into (4,)\n"),
];

fn main() -> vkarray::Result<()> {
    match env::var(CASE).as_deref() {
        Ok("shader") => {
            Module::parse(&Source::wgsl("fn saxpy() -> f32 { var x = 2 +; }").named("saxpy.wgsl")).map(drop)?
        }
        Ok("file") => drop(vkarray::io::NpyFile::open("missing.npy")?),
        Ok("layout") => drop(Layout::contiguous(&[2, 3], Order::C)?.reshape([4], Order::C)?),
        _ => CASES.iter().for_each(check),
    }
    Ok(())
}

fn check((case, expected): &(&str, &str)) {
    let program = env::current_exe().expect("the test has a path");
    let output = Command::new(program).env(CASE, case).output().expect("the test starts again");
    assert_eq!(output.status.code(), Some(1), "{case}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), *expected, "{case}");
}
