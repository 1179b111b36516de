//! `cargo xtask package`: checks that the packages of the workspace can be published.
//!
//! `cargo publish --workspace --dry-run` builds every package and needs the network. This command does neither: it
//! reads the manifests and the lists of files, so that the gate notices a missing version or file at once. The rules
//! are a pure function of the output of `cargo metadata`.

use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use crate::command::CommandLine;

/// What every package has beside its sources.
const FILES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// The part of the output of `cargo metadata` that the rules need.
#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    version: String,
    /// The registries that the package may go to: `None` for any registry, an empty list for no registry.
    publish: Option<Vec<String>>,
    description: Option<String>,
    license: Option<String>,
    readme: Option<String>,
    rust_version: Option<String>,
    keywords: Vec<String>,
    categories: Vec<String>,
    dependencies: Vec<Dependency>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    name: String,
    /// The required versions; `*` where there is only a path.
    req: String,
    /// `dev`, `build`, or none.
    kind: Option<String>,
    path: Option<String>,
}

impl Package {
    fn is_published(&self) -> bool {
        self.publish.as_ref().is_none_or(|registries| !registries.is_empty())
    }
}

/// Prints each broken rule; the exit code is a failure if there is one.
pub(crate) fn run() -> Result<ExitCode> {
    let metadata = output(&["metadata", "--no-deps", "--format-version", "1"])?;
    let metadata: Metadata = serde_json::from_str(&metadata).context("cannot read the output of `cargo metadata`")?;
    let mut objections = objections(&metadata.packages);
    let published: Vec<&Package> = metadata.packages.iter().filter(|package| package.is_published()).collect();
    for package in &published {
        let files = output(&["package", "--list", "--allow-dirty", "--package", &package.name])?;
        let missing = FILES.into_iter().filter(|name| !files.lines().any(|file| file == *name));
        objections.extend(missing.map(|name| format!("{}: {name} is not in the package", package.name)));
    }
    objections.iter().for_each(|objection| println!("{objection}"));
    println!("package: {} packages, {} objections", published.len(), objections.len());
    Ok(if objections.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The standard output of cargo.
fn output(words: &[&str]) -> Result<String> {
    let command = CommandLine::new(["cargo"]).with_args(words.iter().copied());
    let output = command.process().output().with_context(|| format!("cannot start `{command}`"))?;
    ensure!(output.status.success(), "`{command}` failed: {}", String::from_utf8_lossy(&output.stderr).trim_end());
    String::from_utf8(output.stdout).with_context(|| format!("the output of `{command}`"))
}

/// The faults that keep packages from being published, or users from finding them.
fn objections(packages: &[Package]) -> Vec<String> {
    let mut objections = Vec::new();
    for package in packages.iter().filter(|package| package.is_published()) {
        let fields = [
            ("description", package.description.is_some()),
            ("license", package.license.is_some()),
            ("readme", package.readme.is_some()),
            ("rust-version", package.rust_version.is_some()),
            ("keywords", (1..=5).contains(&package.keywords.len())),
            ("categories", (1..=5).contains(&package.categories.len())),
        ];
        let missing = fields.iter().filter(|(_, is_stated)| !is_stated);
        objections.extend(missing.map(|(field, _)| format!("{}: `{field}` is missing", package.name)));
        let of_dependencies = package.dependencies.iter().filter_map(|dependency| objection(packages, dependency));
        objections.extend(of_dependencies.map(|objection| format!("{}: {objection}", package.name)));
    }
    objections
}

/// The fault of a dependency on a package of the workspace. A dependency for tests alone needs no version, since cargo
/// leaves it out of the package.
fn objection(packages: &[Package], dependency: &Dependency) -> Option<String> {
    let name = &dependency.name;
    dependency.path.as_ref()?;
    if dependency.req == "*" {
        let is_left_out = dependency.kind.as_deref() == Some("dev");
        return (!is_left_out).then(|| format!("the dependency on {name} has a path and no version"));
    }
    let Some(package) = packages.iter().find(|package| package.name == *name) else {
        return Some(format!("{name} is not in the workspace"));
    };
    if !package.is_published() {
        return Some(format!("{name} is not published, and the dependency on it has a version"));
    }
    let stated = dependency.req.trim_start_matches('^');
    (stated != package.version)
        .then(|| format!("the dependency on {name} is of version {stated}, not {}", package.version))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A package without faults, and one that is not published.
    fn workspace(dependency: &str) -> Vec<Package> {
        let package = |name: &str, publish: &str, dependencies: &str| {
            format!(
                r#"{{"name": "{name}", "version": "0.2.0", "publish": {publish}, "description": "d", "license": "MIT",
                "readme": "README.md", "rust_version": "1.95", "keywords": ["gpu"], "categories": ["science"],
                "dependencies": [{dependencies}]}}"#
            )
        };
        let text = [package("a", "null", dependency), package("b", "null", ""), package("tests", "[]", "")].join(",");
        serde_json::from_str::<Metadata>(&format!(r#"{{"packages": [{text}]}}"#)).unwrap().packages
    }

    #[test]
    fn dependencies_have_the_version_of_what_is_published() {
        for (name, req, kind, path, objection) in [
            ("b", "^0.2.0", "null", "\"/b\"", None),
            ("b", "*", "null", "\"/b\"", Some("a: the dependency on b has a path and no version")),
            ("b", "*", "\"build\"", "\"/b\"", Some("a: the dependency on b has a path and no version")),
            ("b", "*", "\"dev\"", "\"/b\"", None), // cargo leaves the dependency out of the package.
            ("b", "^0.1.0", "null", "\"/b\"", Some("a: the dependency on b is of version 0.1.0, not 0.2.0")),
            ("tests", "*", "\"dev\"", "\"/t\"", None),
            (
                "tests",
                "^0.2.0",
                "null",
                "\"/t\"",
                Some("a: tests is not published, and the dependency on it has a version"),
            ),
            ("serde", "^1", "null", "null", None), // Not of the workspace.
        ] {
            let dependency = format!(r#"{{"name": "{name}", "req": "{req}", "kind": {kind}, "path": {path}}}"#);
            assert_eq!(objections(&workspace(&dependency)), objection.into_iter().collect::<Vec<_>>(), "{dependency}");
        }
    }

    #[test]
    fn what_describes_a_package_is_not_missing() {
        let mut packages = workspace("");
        packages[0].readme = None;
        packages[0].keywords.clear();
        packages[2].description = None; // Not published.
        assert_eq!(objections(&packages), ["a: `readme` is missing", "a: `keywords` is missing"]);
    }
}
