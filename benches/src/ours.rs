//! Our side: the lines of `vkarray bench`.
//!
//! The command is built from the folder above, or is the one that `VKARRAY_COMMAND` names, for machines without a
//! compiler. It runs to its end before wgpu opens the device, so that neither disturbs the other.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::report::Figure;

/// Measures a suite. Returns the device's name, its driver and the figures; skipped ones are left out.
///
/// # Errors
///
/// If the command cannot be built or run, fails, or prints what is not understood.
pub fn ours(suite: &str) -> Result<(Value, Vec<Figure>)> {
    let mut command = match std::env::var_os("VKARRAY_COMMAND") {
        Some(path) => Command::new(path),
        None => {
            let mut cargo = Command::new("cargo");
            cargo.args(["run", "--quiet", "--release", "--package", "vkarray-cli", "--"]);
            cargo.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
            cargo
        }
    };
    let output = command.args(["bench", suite, "--json"]).output().with_context(|| format!("running {command:?}"))?;
    ensure!(output.status.success(), "{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).context("reading its lines")?;
    let mut lines = text.lines().map(serde_json::from_str::<Value>);
    let header = lines.next().context("it printed nothing")??;
    let mut figures = Vec::new();
    for line in lines {
        let line = line?;
        if line.get("skipped").is_none() {
            figures.push(serde_json::from_value(line).context("a line is no figure")?);
        }
    }
    Ok((header, figures))
}
