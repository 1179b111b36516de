//! Builds the guide: `docs/` as pages, by mdBook, into `target/guide/`. `cargo xtask guide` runs it.
//!
//! Before that it reads every Markdown file of the repository (`markdown.rs`) and checks what the files refer to
//! (`references.rs`, `tested.rs`, `variables.rs`): a link or a path that leads nowhere, a page whose code no test
//! compiles, a test that does not exist and an environment variable that is not documented end the build.

mod markdown;
mod references;
mod tested;
mod variables;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use mdbook_driver::MDBook;

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).context("xtask/guide is two folders deep")?;
    let pages = markdown::read_all(root)?;
    let mut objections = references::objections(root, &pages)?;
    objections.extend(tested::objections(root, &pages)?);
    objections.extend(variables::objections(root)?);
    for objection in &objections {
        println!("{objection}");
    }
    println!("guide: {} Markdown files, {} objections", pages.len(), objections.len());
    if !objections.is_empty() {
        return Ok(ExitCode::FAILURE);
    }
    MDBook::load(root.join("docs")).and_then(|book| book.build()).context("mdBook cannot build docs/")?;
    println!("guide: {}", root.join("target/guide/index.html").display());
    Ok(ExitCode::SUCCESS)
}
