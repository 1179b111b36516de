//! `cargo xtask package --archive`: the command and `ci/setup.sh` in one archive, for CI jobs without Rust.
//!
//! The archive has this program too, which installs what a machine lacks. It runs on machines whose C library is not
//! older than that of the machine that makes it: make it on the oldest Debian that is to be served.

use std::env::consts::{ARCH, OS};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::command::CommandLine;
use crate::workspace_root;

/// Files of the workspace, and the programs that are built for it, in the archive.
const FILES: [&str; 6] =
    ["ci/setup.sh", "ci/action.yml", "LICENSE-APACHE", "LICENSE-MIT", "target/release/vkarray", "target/release/xtask"];

/// Makes `target/package/vkarray-OS-ARCH.tar.gz`.
pub(crate) fn make() -> Result<()> {
    let build = ["cargo", "build", "--release", "--locked", "--package", "vkarray-cli", "--package", "xtask"];
    CommandLine::new(build).run_to_success()?;
    let (package, name) = (workspace_root().join("target/package"), format!("vkarray-{OS}-{ARCH}"));
    let folder = package.join(&name);
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for file in FILES {
        let to = folder.join(Path::new(file).file_name().expect("each file has a name"));
        fs::copy(workspace_root().join(file), &to).with_context(|| format!("cannot copy {file}"))?;
    }
    let archive = format!("target/package/{name}.tar.gz");
    CommandLine::new(["tar", "--create", "--gzip", "--file", &archive, "--directory", "target/package", &name])
        .run_to_success()?;
    println!("package: {archive}");
    Ok(())
}
