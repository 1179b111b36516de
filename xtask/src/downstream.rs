//! `cargo xtask downstream`: runs the tests of `examples/downstream/`, a project that depends on vkarray like a user's
//! project.
//!
//! All tests pass first. Then faults are planted one by one, and the check for each fault has to find it: a run that
//! passes, or fails with another message, is a failure of this command. Kernels are measured too: against themselves
//! they are not slower, and in a copy of the project one kernel is.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};

use crate::command::CommandLine;
use crate::workspace_root;

/// A fault, the place where it is planted, and the check that finds it.
struct Fault {
    /// The value of `DOWNSTREAM_FAULT`, or a setting of the environment.
    name: &'static str,
    /// The trials that run; all trials if it is empty.
    filter: &'static str,
    /// Words of the output, all of which name the fault; of words with ` or ` between them, one.
    found_by: &'static [&'static str],
}

const FAULTS: [Fault; 15] = [
    Fault {
        name: "wrong-index",
        filter: "adds_a_multiple",
        found_by: &["`y` is not close", "index | actual | expected"],
    },
    Fault { name: "out-of-range", filter: "gathers", found_by: &["gather.wgsl:10", "index 7 is out of range of `x`"] },
    Fault { name: "race", filter: "sums", found_by: &["sum.wgsl:20", "`part[", "no barrier in between"] },
    Fault {
        name: "missing-barrier",
        filter: "transposes",
        // One invocation writes, the other reads. The later of the two finds the race, so either line may be named.
        found_by: &["transpose.wgsl:22: or transpose.wgsl:26:", "`tile[", "no barrier in between"],
    },
    Fault {
        name: "divergent-barrier",
        filter: "scans",
        found_by: &["scan.wgsl:22", "invocations of the workgroup come to this barrier"],
    },
    Fault { name: "ulp-drift", filter: "computes_exponentials", found_by: &["exceed the tolerance: 4 ULP"] },
    Fault { name: "stale-golden", filter: "blurs", found_by: &["blurred.npy` is not close", "VKARRAY_BLESS=1"] },
    Fault { name: "silent-test", filter: "counts", found_by: &["it created no array and built no kernel"] },
    Fault { name: "unlisted-test", filter: "", found_by: &["11 tests ran on", "min_tests is 12"] },
    Fault { name: "leaked-array", filter: "reverses", found_by: &["leak: ", "bytes of device memory"] },
    Fault {
        name: "expired-expectation",
        filter: "reverses",
        found_by: &["expectation expired on 2026-01-31: reverses"],
    },
    Fault {
        name: "limit-exceeded",
        filter: "multiplies_matrices",
        found_by: &["multiplies_matrices::", "::limits-mobile", "1024", "256"],
    },
    Fault {
        name: "VKARRAY_TEST_DEVICES=lavapype",
        filter: "",
        found_by: &["VKARRAY_TEST_DEVICES=lavapype: no device matches \"lavapype\""],
    },
    Fault { name: "VKARRAY_TEST_PROFILES=sanitised", filter: "", found_by: &["`sanitised` is no profile"] },
    Fault { name: "VKARRAY_TEST=skip", filter: "", found_by: &["VKARRAY_TEST is \"skip\"", "skip-without-device"] },
];

/// Runs the tests without a fault, then with each fault.
pub(crate) fn run() -> Result<()> {
    command("").run_to_success()?;
    let mut missed = Vec::new();
    for fault in &FAULTS {
        let (name, value) = fault.name.split_once('=').unwrap_or(("DOWNSTREAM_FAULT", fault.name));
        let command = command(fault.filter).with_env(name, value);
        let output = command.process().output().with_context(|| format!("cannot start `{command}`"))?;
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        let is_named = |words: &&str| words.split(" or ").any(|one| text.contains(one));
        let is_found = !output.status.success() && fault.found_by.iter().all(is_named);
        println!("{}: {}", fault.name, if is_found { "found" } else { "MISSED" });
        if !is_found {
            println!("$ {command}\n{text}\nexpected: {:?}", fault.found_by);
            missed.push(fault.name);
        }
    }
    if !finds_slower_kernel()? {
        missed.push(SLOWER_KERNEL);
    }
    if !missed.is_empty() {
        bail!("the tests of examples/downstream/ do not find: {}", missed.join(", "));
    }
    println!("the tests of examples/downstream/ pass, and find all {} faults", FAULTS.len() + 1);
    Ok(())
}

/// The fault of the copy: a kernel that computes the right result and takes several times as long.
const SLOWER_KERNEL: &str = "slower-kernel";

/// Compares the project with itself, which has to pass, and a copy with a slower kernel with the project, which has to fail.
fn finds_slower_kernel() -> Result<bool> {
    let project = workspace_root().join("examples/downstream");
    let copy = workspace_root().join("target/downstream").join(SLOWER_KERNEL);
    copy_folder(&project, &copy)?;
    replace(&copy.join("Cargo.toml"), "../..", &workspace_root().to_string_lossy())?;
    // In one target folder, packages of one version would have one executable.
    replace(&copy.join("Cargo.toml"), "version = \"0.1.0\"", "version = \"0.1.1\"")?;
    for path in ["src/lib.rs", "src/kernels/matmul.wgsl"] {
        replace(&copy.join(path), "TILE = 16u", "TILE = 2u")?;
    }
    comparison(&project, &project).run_to_success()?;
    let command = comparison(&copy, &project);
    let output = command.process().output().with_context(|| format!("cannot start `{command}`"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let is_found = !output.status.success() && text.contains("multiplies_matrices: SLOWER");
    println!("{SLOWER_KERNEL}: {}", if is_found { "found" } else { "MISSED" });
    if !is_found {
        println!("$ {command}\n{text}{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(is_found)
}

/// Measures the kernels of a folder against the kernels of another one, in the profile of the tests. The threshold lies
/// above what the load of a shared machine has been seen to change, and below what the slower kernel takes.
fn comparison(head: &Path, base: &Path) -> CommandLine {
    let manifest = head.join("Cargo.toml");
    let (manifest, base) = (manifest.to_string_lossy(), base.to_string_lossy());
    CommandLine::new(["cargo", "bench", "--quiet", "--profile", "dev", "--manifest-path"])
        .with_env("CARGO_TARGET_DIR", &workspace_root().join("target").to_string_lossy())
        .with_args([&*manifest, "--bench", "kernels", "--", "--against", &*base])
        .with_args(["--profile", "dev", "--rounds", "7", "--threshold", "2"])
}

/// Copies the files of a folder, but no target folder.
fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot create {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot list {}", from.display()))? {
        let entry = entry.with_context(|| format!("cannot list {}", from.display()))?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.ends_with("target") {
            continue;
        }
        if from.is_dir() {
            copy_folder(&from, &to)?;
        } else {
            fs::copy(&from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
        }
    }
    Ok(())
}

/// Replaces a text in a file. The text must be in the file.
fn replace(path: &Path, from: &str, to: &str) -> Result<()> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    ensure!(text.contains(from), "{}: `{from}` is not there", path.display());
    fs::write(path, text.replace(from, to)).with_context(|| format!("cannot write {}", path.display()))
}

/// `cargo test` in the project. Its libraries are built in the target folder of the workspace.
fn command(filter: &str) -> CommandLine {
    let target = workspace_root().join("target");
    let words = ["cargo", "test", "--quiet", "--manifest-path", "examples/downstream/Cargo.toml", "--test", "kernels"];
    let command = CommandLine::new(words).with_env("CARGO_TARGET_DIR", &target.to_string_lossy());
    if filter.is_empty() { command } else { command.with_args(["--", filter]) }
}
