//! `cargo xtask dist`: runs the tests of distributed arrays, and programs of several processes under MPI.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ExitCode, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::command::{CommandLine, exit_code};
use crate::plan::Purpose;
use crate::setup;

/// Programs that compare their results with those of one rank.
const EXAMPLES: [&str; 3] = ["heat", "wave", "statistics"];

/// The numbers of ranks that the examples run with; more than this machine may have cores.
const RANKS: [usize; 5] = [1, 2, 3, 4, 7];

/// Switches that are off, and what then carries the elements between ranks of the CPU driver, as a report says. Three
/// ranks try each; other numbers of ranks the first.
const WAYS: [(Option<&str>, &str); 3] = [
    (None, "by memory of the device"),
    (Some("VKARRAY_SHARE_DEVICE_MEMORY"), "by pages of the host"),
    (Some("VKARRAY_SHARE_PAGES"), "by messages"),
];

/// How long the other ranks may go on when one has failed.
const END_WITHIN: Duration = Duration::from_secs(10);

/// A rank is killed within this time after its process has started: while MPI and Vulkan start, or in an exchange.
const KILL_WITHIN_MS: u64 = 3000;

/// Where Linux lists shared memory.
const SHARED_MEMORY: &str = "/dev/shm";

/// What is there for this time after the end of a program will stay.
const LEFT_AFTER: Duration = Duration::from_secs(3);

/// What fails on rank 1, and what the program reports then.
const FAILURES: [(&str, &str); 5] = [
    ("error", "rank 1 of 3: the cause"),
    ("panic", "rank 1 of 3 panicked"),
    ("abort", ""),
    (
        "call",
        "rank 0 calls sum along [0, 1] on f32 of shape [300, 200] divided as [3, 1] with ghost zones [(2, 2), (2, 2)] and \
              borders [Periodic, Periodic], but rank 1 calls max",
    ),
    ("end", "but rank 1 calls nothing more"),
];

/// An MPI library.
#[derive(Debug)]
struct Mpi {
    mpiexec: String,
    /// Where programs for it are built. Cargo does not notice that another library is asked for.
    target: String,
}

/// Runs the tests with ranks that are threads, then the examples with ranks that are processes, of which this many are
/// killed.
pub(crate) fn run(kills: usize, mpi: Option<&str>) -> Result<ExitCode> {
    setup::run(Purpose::Processes)?;
    let tests = CommandLine::new(["cargo", "test", "--package", "vkarray-dist"]).run()?;
    if !tests.success() {
        return Ok(exit_code(tests));
    }
    let build = CommandLine::new(["cargo", "build", "--package", "vkarray-dist", "--features", "mpi", "--examples"]);
    let (mpi, build) = match mpi {
        None => (Mpi { mpiexec: "mpiexec".to_owned(), target: "target".to_owned() }, build),
        Some(name) => {
            let mpi = Mpi { mpiexec: format!("mpiexec.{name}"), target: format!("target/{name}") };
            let build = build.with_env("MPICC", &format!("mpicc.{name}")).with_args(["--target-dir", &mpi.target]);
            (mpi, build)
        }
    };
    build.run_to_success()?;
    for ranks in RANKS {
        for way in if ranks == 3 { &WAYS[..] } else { &WAYS[..1] } {
            EXAMPLES.iter().try_for_each(|example| mpi.compare(ranks, example, *way))?;
        }
    }
    for (failure, reported) in FAILURES {
        let command = mpi.command(3, "failing_rank").with_args([failure]);
        println!("$ {command}");
        let (took, output) = ended(&command, start(&command)?)?;
        let text = String::from_utf8_lossy(&output.stderr);
        ensure!(text.contains(reported), "`{command}` reported something else than {reported:?}: {text}");
        println!("ended after {:.1} s with {}", took.as_secs_f64(), output.status);
    }
    let longest = (0..kills).map(|nth| kill(&mpi, nth, 2 + nth % 3)).collect::<Result<Vec<_>>>()?.into_iter().max();
    println!(
        "dist: passed with {RANKS:?} ranks; ranks that failed and {kills} that were killed ended the others, within {:.1} s",
        longest.unwrap_or_default().as_secs_f64()
    );
    Ok(ExitCode::SUCCESS)
}

impl Mpi {
    /// Runs an example, which compares its results with those of one rank. The report that `heat` prints names the way.
    fn compare(&self, ranks: usize, example: &str, (switch, way): (Option<&str>, &str)) -> Result<()> {
        let command = self.command(ranks, example);
        let command = switch.into_iter().fold(command, |command, switch| command.with_env(switch, "0"));
        println!("$ {command}");
        let output = command.process().stderr(Stdio::inherit()).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let is_reported = example != "heat" || ranks == 1 || text.contains(way);
        ensure!(output.status.success() && is_reported, "`{command}` failed, or not all elements passed {way}: {text}");
        Ok(())
    }

    /// An example with this number of ranks. The CPU driver gets one thread for each rank, since ranks may be more than
    /// cores.
    fn command(&self, ranks: usize, example: &str) -> CommandLine {
        let program = format!("{}/debug/examples/{example}", self.target);
        CommandLine::new([&self.mpiexec, "-n", &ranks.to_string(), &program])
            .with_env("LP_NUM_THREADS", "1")
            // Without these variables Open MPI starts no more ranks than there are cores, and none as root.
            .with_env("OMPI_MCA_rmaps_base_oversubscribe", "1")
            .with_env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .with_env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    }
}

fn start(command: &CommandLine) -> Result<Child> {
    let mut process = command.process();
    process.stdout(Stdio::piped()).stderr(Stdio::piped());
    process.spawn().with_context(|| format!("cannot start `{command}`"))
}

/// Waits for the end of a command that has to end in time and unsuccessfully, and returns how long it took.
fn ended(command: &CommandLine, mut process: Child) -> Result<(Duration, Output)> {
    let start = Instant::now();
    while process.try_wait()?.is_none() {
        if start.elapsed() > END_WITHIN {
            process.kill()?;
            bail!("`{command}` goes on {} s after a rank has failed", END_WITHIN.as_secs());
        }
        sleep(Duration::from_millis(20));
    }
    let output = process.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(!output.status.success(), "`{command}` ended with {} though a rank has failed: {text}", output.status);
    Ok((start.elapsed(), output))
}

/// Kills one of several ranks at a random time, and returns how long the others went on. They leave one error and no
/// process, and no shared memory if MPI runs on all of them.
fn kill(mpi: &Mpi, nth: usize, ranks: usize) -> Result<Duration> {
    let before = shared_memory();
    let command = mpi.command(ranks, "failing_rank").with_args(["none"]);
    let mut process = start(&command)?;
    let mut printed = BufReader::new(process.stdout.take().context("the output is piped")?);
    let started = printed.by_ref().lines().take(ranks).map(|line| started(&line?)).collect::<Result<Vec<_>>>()?;
    ensure!(started.len() == ranks, "`{command}` started {} of {ranks} ranks", started.len());
    let (delay, victim) = (random() % KILL_WITHIN_MS, started[usize::try_from(random())? % ranks][0]);
    sleep(Duration::from_millis(delay));
    ensure!(signal("KILL", victim)?, "process {victim} had ended before it was killed");
    let (took, output) = ended(&command, process)?;
    // MPICH prints the cause as output, Open MPI as an error.
    let mut text = String::from_utf8_lossy(&output.stderr).into_owned();
    printed.read_to_string(&mut text)?;
    ensure!(text.matches("Killed").count() == 1, "not one error that names the cause: {text}");
    let is_running = text.lines().filter(|line| *line == "running").count() == ranks;
    let (left, files) = left(&started.concat(), &before);
    println!(
        "kill {nth}: process {victim} of {ranks} after {delay} ms, {}; the others ended after {:.2} s",
        if is_running { "in an exchange or before it" } else { "while MPI starts" },
        took.as_secs_f64()
    );
    ensure!(left.is_empty(), "processes {left:?} are left after a kill");
    ensure!(!is_running || files.is_empty(), "shared memory {files:?} is left after a kill");
    // MPI libraries give their memory a name for some milliseconds while they start.
    for file in files {
        println!("MPI had named {file} when the rank was killed; it is removed");
        fs::remove_file(Path::new(SHARED_MEMORY).join(file))?;
    }
    Ok(took)
}

/// The processes and the names of shared memory that remain after the end of a program, which may end or go some
/// milliseconds later.
fn left(processes: &[u32], before: &BTreeSet<String>) -> (Vec<u32>, Vec<String>) {
    let end = Instant::now();
    loop {
        let left: Vec<u32> = processes.iter().copied().filter(|&id| signal("0", id).unwrap_or(true)).collect();
        let files: Vec<String> = shared_memory().difference(before).cloned().collect();
        if left.is_empty() && files.is_empty() || end.elapsed() > LEFT_AFTER {
            return (left, files);
        }
        sleep(Duration::from_millis(20));
    }
}

/// The numbers of a rank's process and of the process that started it, as the example prints them.
fn started(line: &str) -> Result<[u32; 2]> {
    let numbers = line.strip_prefix("process ").and_then(|rest| rest.split_once(" of "));
    let (process, parent) = numbers.with_context(|| format!("{line:?} is not the start of a rank"))?;
    Ok([process.parse()?, parent.parse()?])
}

/// Sends a signal, 0 to ask only; returns whether the process exists.
fn signal(signal: &str, process: u32) -> Result<bool> {
    let mut shell = std::process::Command::new("sh");
    Ok(shell.arg("-c").arg(format!("kill -{signal} {process} 2> /dev/null")).status()?.success())
}

/// The names of all shared memory, on systems that list it.
fn shared_memory() -> BTreeSet<String> {
    let entries = fs::read_dir(SHARED_MEMORY).into_iter().flatten().filter_map(Result::ok);
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// The standard library seeds its hashers at random.
fn random() -> u64 {
    RandomState::new().hash_one(())
}
