//! `cargo xtask python`: builds the Python package into a virtual environment, and runs its tests there, or those of another
//! project.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};

use crate::command::{CommandLine, exit_code};
use crate::plan::Purpose;
use crate::{setup, workspace_root};

/// The virtual environment, from the root of the workspace.
const FOLDER: &str = "target/python";

/// The package, from the root of the workspace.
const PACKAGE: &str = "crates/python";

/// Builds and installs the package, and runs its tests, or with a judge (its name and its folder) those of another project,
/// whose files lie outside of this one and are not changed. `args` go to pytest.
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
    match judge {
        Some([name, folder]) => {
            ensure!(
                name == "array-api",
                "there is no judge `{name}`; there is `array-api`, which is data-apis/array-api-tests"
            );
            let folder = Path::new(folder).canonicalize().with_context(|| format!("cannot find {folder}"))?;
            let requirements = folder.join("requirements.txt");
            ensure!(requirements.exists(), "{} is no folder of array-api-tests", folder.display());
            pip(&["numpy>=2", "--requirement", &requirements.to_string_lossy()]).run_to_success()?;
            array_api(&workspace_root().join(&python), &folder).with_args(args).run().map(exit_code)
        }
        _ => {
            pip(&["numpy>=2", "pytest>=8"]).run_to_success()?;
            let tests = CommandLine::new([&*python, "-m", "pytest", "--quiet", "crates/python/tests"]);
            tests.with_args(args).run().map(exit_code)
        }
    }
}

/// The tests of the standard's main namespace. What is left out, and why, is in the file of skips.
fn array_api(python: &Path, folder: &Path) -> CommandLine {
    let skips = workspace_root().join(PACKAGE).join("array-api-skips.txt");
    let (python, skips) = (python.to_string_lossy(), skips.to_string_lossy());
    CommandLine::new([&*python, "-m", "pytest", "--quiet", "--rootdir"])
        .with_args([folder.to_string_lossy(), folder.join("array_api_tests").to_string_lossy()])
        .with_args(["-p", "no:cacheprovider", "--tb=short", "--skips-file", &*skips])
        .with_args(["--disable-extension", "linalg", "--disable-extension", "fft"])
        // The first call of a function builds its kernel.
        .with_args(["--hypothesis-disable-deadline"])
        .with_env("ARRAY_API_TESTS_MODULE", "vkarray")
        .with_env("ARRAY_API_TESTS_VERSION", "2025.12")
        .with_env("PYTHONPATH", &folder.to_string_lossy())
}
