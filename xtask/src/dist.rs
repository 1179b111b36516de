//! `cargo xtask dist`: runs the tests of distributed arrays, and programs of several processes under MPI.

use std::process::{ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::command::{CommandLine, exit_code};
use crate::found::on_path;
use crate::setup;

/// The numbers of ranks that the example runs with; more than this machine may have cores.
const RANKS: [usize; 5] = [1, 2, 3, 4, 7];

/// How long the other ranks may go on when one has failed.
const END_WITHIN: Duration = Duration::from_secs(10);

/// What building and running with MPI takes.
const PACKAGES: &str = "an MPI library with its headers, and libclang: mpich libmpich-dev libclang-dev (Debian), \
                        mpich-devel clang-devel (Fedora), mpich clang (Arch), mpich llvm (Homebrew)";

/// Runs the tests with ranks that are threads, then the examples with ranks that are processes.
pub(crate) fn run() -> Result<ExitCode> {
    setup::run(false)?;
    let tests = CommandLine::new(["cargo", "test", "--package", "vkarray-dist"]).run()?;
    if !tests.success() {
        return Ok(exit_code(tests));
    }
    for program in ["mpiexec", "mpicc"] {
        ensure!(on_path(program), "the tests without MPI passed; {program} is not found. Install {PACKAGES}");
    }
    CommandLine::new(["cargo", "build", "--package", "vkarray-dist", "--features", "mpi", "--examples"])
        .run_to_success()?;
    for ranks in RANKS {
        // The program compares its result with the result of one rank.
        mpiexec(ranks, "heat").run_to_success()?;
    }
    for (failure, reported) in [("error", "rank 1 of 3: the cause"), ("panic", "rank 1 of 3 panicked"), ("abort", "")] {
        ends(&mpiexec(3, "failing_rank").with_args([failure]), reported)?;
    }
    println!("dist: passed with {RANKS:?} ranks, and a rank that failed ended the others");
    Ok(ExitCode::SUCCESS)
}

/// An example with this number of ranks. The CPU driver gets one thread for each rank, since ranks may be more than
/// cores.
fn mpiexec(ranks: usize, example: &str) -> CommandLine {
    CommandLine::new(["mpiexec", "-n", &ranks.to_string(), &format!("target/debug/examples/{example}")])
        .with_env("LP_NUM_THREADS", "1")
        // Without these variables Open MPI starts no more ranks than there are cores, and none as root.
        .with_env("OMPI_MCA_rmaps_base_oversubscribe", "1")
        .with_env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .with_env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
}

/// Runs a command that has to end in time, unsuccessfully, and report this.
fn ends(command: &CommandLine, reported: &str) -> Result<()> {
    println!("$ {command}");
    let start = Instant::now();
    let mut process =
        command.process().stderr(Stdio::piped()).spawn().with_context(|| format!("cannot start `{command}`"))?;
    while process.try_wait()?.is_none() {
        if start.elapsed() > END_WITHIN {
            process.kill()?;
            bail!("`{command}` goes on {} s after a rank has failed", END_WITHIN.as_secs());
        }
        sleep(Duration::from_millis(50));
    }
    let output = process.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(!output.status.success() && text.contains(reported), "`{command}` ended with {}: {text}", output.status);
    println!("ended after {:.1} s with {}", start.elapsed().as_secs_f64(), output.status);
    Ok(())
}
