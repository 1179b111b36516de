//! Gives the crate the identity of its translator, so that code of another translator is never taken from a disk.
//!
//! The identity is a hash of the sources of this crate and of `vkarray-spirv`, and of the versions of naga and glslang that
//! the lock file names. It names `vkarray-spirv` too, with a checksum or a commit unless its sources lie beside this crate.
//! Where no lock file is found whose versions are surely the ones in use, there is none, and translations are not kept on
//! disk.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let sources = ["src", "../spirv/src"].map(Path::new);
    let sources = sources.into_iter().filter(|folder| folder.is_dir());
    sources.clone().for_each(|folder| println!("cargo::rerun-if-changed={}", folder.display()));
    let Some(lock) = lock_file() else { return Ok(()) };
    println!("cargo::rerun-if-changed={}", lock.display());
    let mut hasher = DefaultHasher::new(); // Of fixed keys.
    sources.clone().try_for_each(|folder| hash_folder(folder, &mut hasher))?;
    let text = fs::read_to_string(lock)?;
    let packages = ["naga", "glslang-sys", "vkarray-spirv"].map(|name| format!("\nname = \"{name}\"\n"));
    let is_translator = |package: &&str| packages.iter().any(|name| package.contains(name));
    let mut used = text.split("[[package]]").filter(is_translator);
    used.clone().for_each(|package| package.hash(&mut hasher));
    if sources.count() == 1 && !used.any(|package| package.contains(&packages[2]) && package.contains("\nsource = ")) {
        return Ok(()); // Its sources are in another folder.
    }
    println!("cargo::rustc-env=VKARRAY_TRANSLATOR={:016x}", hasher.finish());
    Ok(())
}

/// The lock file of the build: above the target folder, or above this crate where that is part of what is built. A crate
/// that cargo fetched lies beside a lock file that was not used.
fn lock_file() -> Option<PathBuf> {
    let folder = |variable| env::var_os(variable).map(PathBuf::from);
    let is_fetched = |path: &Path| folder("CARGO_HOME").is_some_and(|home| path.starts_with(home));
    let above = |path: PathBuf| path.ancestors().map(|up| up.join("Cargo.lock")).find(|lock| lock.is_file());
    let own = || folder("CARGO_MANIFEST_DIR").filter(|path| !is_fetched(path)).and_then(above);
    folder("OUT_DIR").and_then(above).or_else(own)
}

fn hash_folder(folder: &Path, hasher: &mut DefaultHasher) -> io::Result<()> {
    let mut paths: Vec<_> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            hash_folder(&path, hasher)?;
        } else {
            path.hash(hasher);
            fs::read(&path)?.hash(hasher);
        }
    }
    Ok(())
}
