//! `cargo xtask downstream`: runs the tests of `examples/downstream/`, a project that depends on vkarray as others do.
//!
//! All tests pass first. Then faults are planted one by one, and each has to be found by the check that is for it: a run
//! that passes, or fails with another message, is a failure of this command.

use anyhow::{Context as _, Result, bail};

use crate::command::CommandLine;
use crate::workspace_root;

/// A fault, where it is planted, and how it is found.
struct Fault {
    /// The value of `DOWNSTREAM_FAULT`, or a setting of the environment.
    name: &'static str,
    /// The trials that run; all without.
    filter: &'static str,
    /// Words of the output, all of which name the fault.
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
        found_by: &["transpose.wgsl:22", "`tile[", "no barrier in between"],
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

/// Runs the tests without a fault, then with each.
pub(crate) fn run() -> Result<()> {
    command("").run_to_success()?;
    let mut missed = Vec::new();
    for fault in &FAULTS {
        let (name, value) = fault.name.split_once('=').unwrap_or(("DOWNSTREAM_FAULT", fault.name));
        let command = command(fault.filter).with_env(name, value);
        let output = command.process().output().with_context(|| format!("cannot start `{command}`"))?;
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        let is_found = !output.status.success() && fault.found_by.iter().all(|words| text.contains(words));
        println!("{}: {}", fault.name, if is_found { "found" } else { "MISSED" });
        if !is_found {
            println!("$ {command}\n{text}\nexpected: {:?}", fault.found_by);
            missed.push(fault.name);
        }
    }
    if !missed.is_empty() {
        bail!("the tests of examples/downstream/ do not find: {}", missed.join(", "));
    }
    println!("the tests of examples/downstream/ pass, and find all {} faults", FAULTS.len());
    Ok(())
}

/// `cargo test` in the project. Its libraries are built where those of the workspace are.
fn command(filter: &str) -> CommandLine {
    let target = workspace_root().join("target");
    let words = ["cargo", "test", "--quiet", "--manifest-path", "examples/downstream/Cargo.toml", "--test", "kernels"];
    let command = CommandLine::new(words).with_env("CARGO_TARGET_DIR", &target.to_string_lossy());
    if filter.is_empty() { command } else { command.with_args(["--", filter]) }
}
