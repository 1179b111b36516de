//! Runs of suites with a planted fault, each in a process of its own: how the process ends, and what its reports
//! contain.
//!
//! The program starts itself again for each case, with the name of the case in `VKARRAY_TEST_CASE`.

use std::env;
use std::fs;
use std::panic::panic_any;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::Duration;

use vkarray::kernel::Source;
use vkarray_test::{Profile, Suite, Test, TestContext};

const CASE: &str = "VKARRAY_TEST_CASE";

/// A case, whether its run succeeds, and what the reports contain.
type Case = (&'static str, bool, &'static [&'static str]);

const CASES: [Case; 9] = [
    ("exits", false, &["<failure", "ended (exit status: 0) while exits::"]),
    ("exits_early", false, &["<failure", "ended (exit status: 0) before all trials had"]),
    ("callback_panics", false, &["failures=\"1\"", "panicked: in the callback (", "name=\"passes\""]),
    ("thread_panics", false, &["failures=\"1\"", "panicked: in the thread (", "name=\"passes\""]),
    ("thread_may_panic", true, &["tests=\"2\" failures=\"0\"", "name=\"thread_may_panic\""]),
    ("payload_panics", false, &["tests=\"2\" failures=\"1\"", "panicked: no message (", "name=\"passes\""]),
    ("hangs", false, &["hangs", "it has not ended within its time limit of 1 s", "name=\"passes\""]),
    ("no_device", true, &["tests=\"2\" failures=\"0\"", "<skipped message=\"no Vulkan", "name=\"no_device\""]),
    (
        "full",
        true,
        &["tests=\"2\" failures=\"0\"", "<skipped message=\"kernel `full` cannot be sanitized: the checks take"],
    ),
];

/// A payload that panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(thread::panicking(), "dropped outside of a panic");
    }
}

fn main() -> ExitCode {
    if let Ok(case) = env::var(CASE) {
        return run(&case);
    }
    if !env::args().any(|argument| argument == "--list") {
        for case in CASES {
            check(case);
            println!("test {} ... ok", case.0);
        }
    }
    ExitCode::SUCCESS
}

/// Runs the suite of a case, and compares its exit code and its reports.
fn check((case, succeeds, parts): Case) {
    let folder = reports(case);
    fs::create_dir_all(&folder).expect("the folder of what cargo builds");
    for report in ["junit.xml", "report.json"] {
        fs::write(folder.join(report), "of an earlier run").expect("the folder is ours");
    }
    let mut command = Command::new(env::current_exe().expect("a path"));
    // With one trial at a time, a panic of another thread belongs to the trial that runs.
    command.arg("--test-threads=1").env(CASE, case);
    if case == "no_device" {
        command.env("VK_ICD_FILENAMES", "/nonexistent.json").env("VK_DRIVER_FILES", "/nonexistent.json");
        command.env("VKARRAY_TEST", "skip-without-device");
    }
    let output = command.output().expect("the program starts");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let junit = fs::read_to_string(folder.join("junit.xml")).unwrap_or_default();
    let all = format!("{case}: {}\n{stdout}\n{stderr}\n{junit}", output.status);
    assert_eq!(output.status.code(), Some(if succeeds { 0 } else { 101 }), "{all}");
    parts.iter().for_each(|part| assert!(junit.contains(part), "{part} is not in\n{all}"));
    let json = fs::read_to_string(folder.join("report.json")).unwrap_or_default();
    assert!(json.contains("\"suite\": \"verdicts-"), "{json}\n{all}");
    let left = fs::read_dir(&folder).expect("the folder is ours").map(|entry| entry.expect("a file").file_name());
    assert!(!left.into_iter().any(|name| name.to_string_lossy().contains(".run-")), "{all}");
}

/// The folder of the reports of a case's suite.
fn reports(case: &str) -> PathBuf {
    let program = env::current_exe().expect("a path");
    let target = program.ancestors().nth(3).expect("the folder of what cargo builds");
    Path::new(target).join("vkarray-test").join(format!("verdicts-{case}"))
}

fn run(case: &str) -> ExitCode {
    let name = format!("verdicts-{case}");
    if case == "exits_early" && env::var_os("VKARRAY_TEST_RUN").is_some() {
        std::process::exit(0); // Ends before the suite runs, as the initialisation of a library might.
    }
    let suite = Suite::new(name, ".").profiles([Profile::Plain]).function("passes", used);
    let suite = match case {
        "exits" | "exits_early" => suite.function("exits", |_: &TestContext| -> () { std::process::exit(0) }),
        "callback_panics" => suite.function(case, |ctx| {
            used(ctx)?;
            ctx.default_stream().add_callback(|_| panic!("in the callback"))?;
            Ok::<_, vkarray::Error>(())
        }),
        "thread_panics" => suite.test(thread_panics(case)),
        "thread_may_panic" => suite.test(thread_panics(case).threads_may_panic()),
        "payload_panics" => suite.function(case, |ctx| -> () {
            used(ctx).expect("a device");
            panic_any(Bomb);
        }),
        "hangs" => suite.time_limit(Duration::from_secs(1)).function(case, |_| -> () {
            loop {
                thread::park();
            }
        }),
        "full" => suite.profiles([Profile::Sanitized]).function(case, full),
        _ => suite.function(case, used),
    };
    suite.run()
}

fn used(ctx: &TestContext) -> vkarray::Result<()> {
    assert_eq!(ctx.zeros::<u32>(3)?.to_vec()?, [0; 3]);
    Ok(())
}

fn thread_panics(case: &str) -> Test {
    Test::new(case, |ctx| {
        drop(thread::spawn(|| panic!("in the thread")).join());
        used(ctx)
    })
}

/// A kernel that leaves the checks no shared memory.
fn full(ctx: &TestContext) -> vkarray::Result<()> {
    used(ctx)?;
    let text = "override N: u32; var<workgroup> all: array<u32, N>;
        @compute @workgroup_size(1) fn full() { all[0] = 1u; }";
    let words = ctx.info().limits.max_compute_shared_memory_size / 4;
    ctx.kernel(Source::wgsl(text)).constant("N", words).build()?;
    Ok(())
}
