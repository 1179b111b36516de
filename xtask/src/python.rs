//! `cargo xtask python`: builds the Python package into a virtual environment, and runs its tests there, or those of another
//! project.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail, ensure};

use crate::command::{CommandLine, exit_code};
use crate::plan::Purpose;
use crate::{setup, workspace_root};

/// The virtual environment, from the root of the workspace.
const FOLDER: &str = "target/python";

/// The package, from the root of the workspace.
const PACKAGE: &str = "crates/python";

/// What the judge `users` runs, by functions that accept arrays of the standard.
const USERS: [&str; 5] = ["pytest>=8", "scipy>=1.17", "scikit-learn>=1.8", "array-api-compat", "array-api-extra"];

/// What numba-cuda's tests import, without a GPU too.
const NUMBA: [&str; 3] = ["numba", "nvidia-cuda-runtime", "filecheck"];

/// Builds and installs the package, and runs its tests, or with a judge (its name and where it lies) those of another
/// project, whose files lie outside of this one and are not changed. `args` go to the tests.
pub(crate) fn run(judge: Option<&[String]>, args: &[String]) -> Result<ExitCode> {
    setup::run(Purpose::Programs)?;
    let target = workspace_root().join("target").to_string_lossy().into_owned();
    if !workspace_root().join(FOLDER).exists() {
        CommandLine::new(["python3", "-m", "venv", FOLDER]).run_to_success()?;
    }
    let python = format!("{FOLDER}/bin/python");
    let pip = |packages: &[&str]| {
        CommandLine::new([&*python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .with_args(packages.iter().copied())
            .with_env("CARGO_TARGET_DIR", &target)
            .with_env("MATURIN_PEP517_ARGS", "--profile dev")
    };
    pip(&[PACKAGE, "--force-reinstall", "--no-deps"]).run_to_success()?;
    let python = workspace_root().join(&python);
    let judged = |packages: &[&str], command: CommandLine| {
        pip(packages).run_to_success()?;
        command.with_args(args).run().map(exit_code)
    };
    let script = |name: &str| format!("{PACKAGE}/judges/{name}");
    match judge {
        None => judged(&["numpy>=2.1", "pytest>=8"], pytest(&python, &format!("{PACKAGE}/tests"))),
        Some([name]) if name == "users" => judged(&USERS, pytest(&python, &script("users.py"))),
        Some([name, path]) if name == "array-api" || name == "numba" => {
            let path = Path::new(path).canonicalize().with_context(|| format!("cannot find {path}"))?;
            if name == "numba" {
                let wheel = path.to_string_lossy().into_owned();
                let command = CommandLine::new([&*python.to_string_lossy(), &script("numba_tests.py")]);
                return judged(&[&[&*wheel], &NUMBA[..]].concat(), command);
            }
            let requirements = path.join("requirements.txt");
            ensure!(requirements.exists(), "{} is no folder of array-api-tests", path.display());
            judged(&["numpy>=2.1", "--requirement", &requirements.to_string_lossy()], array_api(&python, &path))
        }
        Some(judge) => bail!(
            "there is no judge `{}`; there are `array-api` with the folder of data-apis/array-api-tests, `numba` with the \
             wheel of numba-cuda, and `users`",
            judge.join(" ")
        ),
    }
}

/// The tests of a folder or file. At the end it lists the skipped tests with what they need.
fn pytest(python: &Path, tests: &str) -> CommandLine {
    CommandLine::new([&*python.to_string_lossy(), "-m", "pytest", "--quiet", "-rs", tests])
}

/// The tests of the standard's main namespace. What is left out, and why, is in the file of skips.
fn array_api(python: &Path, folder: &Path) -> CommandLine {
    let skips = workspace_root().join(PACKAGE).join("array-api-skips.txt");
    let (python, skips) = (python.to_string_lossy(), skips.to_string_lossy());
    CommandLine::new([&*python, "-m", "pytest", "--quiet", "--rootdir"])
        .with_args([folder.to_string_lossy(), folder.join("array_api_tests").to_string_lossy()])
        .with_args(["-p", "no:cacheprovider", "--tb=short", "--skips-file", &*skips])
        // The first call of a function builds its kernel.
        .with_args(["--hypothesis-disable-deadline"])
        .with_env("ARRAY_API_TESTS_MODULE", "vkarray")
        .with_env("ARRAY_API_TESTS_VERSION", "2025.12")
        .with_env("PYTHONPATH", &folder.to_string_lossy())
}
