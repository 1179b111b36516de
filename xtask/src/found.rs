//! A snapshot of this machine as plain data, taken before each decision.
//!
//! It covers what set-up depends on: Vulkan (through `probe.rs`), tools on PATH, package manager, rights. `plan.rs`
//! decides from this snapshot alone.

use std::env;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::probe::{self, Device};

/// The state of this machine.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// Version of the Vulkan loader.
    pub(crate) loader: Option<String>,
    /// Devices that a driver reports, usable or not.
    pub(crate) devices: Vec<Device>,
    pub(crate) validation_layer: bool,
    pub(crate) spirv_val: bool,
    pub(crate) glslang: bool,
    pub(crate) mpiexec: bool,
    pub(crate) mpicc: bool,
    pub(crate) libclang: bool,
    /// Messages of the loader or a driver about what could not be found.
    pub(crate) notes: Vec<String>,
    /// The variable that restricts the loader to certain drivers, as `NAME=value`.
    pub(crate) driver_override: Option<String>,
    pub(crate) package_manager: Option<PackageManager>,
    /// Whether the package manager has package lists; a fresh container has none.
    pub(crate) has_lists: bool,
    pub(crate) is_root: bool,
    pub(crate) has_sudo: bool,
}

impl Found {
    /// Takes a snapshot of this machine.
    pub(crate) fn look() -> Result<Self> {
        let vulkan = probe::ask()?;
        let package_manager = PackageManager::detect(env::consts::OS, on_path);
        Ok(Self {
            loader: vulkan.loader,
            devices: vulkan.devices,
            validation_layer: vulkan.validation_layer,
            spirv_val: on_path("spirv-val"),
            glslang: on_path("glslangValidator"),
            mpiexec: on_path("mpiexec"),
            mpicc: on_path("mpicc"),
            libclang: has_libclang(),
            notes: vulkan.notes,
            driver_override: driver_override(),
            package_manager,
            has_lists: package_manager.is_some_and(PackageManager::has_lists),
            is_root: is_root(),
            has_sudo: on_path("sudo"),
        })
    }

    /// The devices that vkarray can use.
    pub(crate) fn usable(&self) -> impl Iterator<Item = &Device> {
        self.devices.iter().filter(|device| device.refused.is_none())
    }

    /// The usable device of the kind that is likely the fastest; among several, the first.
    pub(crate) fn best(&self) -> Option<&Device> {
        self.usable().min_by_key(|device| device.kind)
    }
}

/// A line for each part of the snapshot.
impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Vulkan loader: {}", self.loader.as_deref().unwrap_or("not found"))?;
        if self.devices.is_empty() {
            writeln!(f, "device: none")?;
        }
        for device in &self.devices {
            writeln!(f, "device: {device}")?;
        }
        let present = |is_found| if is_found { "found" } else { "not found" };
        writeln!(f, "validation layer: {}", present(self.validation_layer))?;
        writeln!(f, "spirv-val: {}", present(self.spirv_val))?;
        write!(f, "glslangValidator: {}", present(self.glslang))?;
        for note in &self.notes {
            write!(f, "\nnote: {note}")?;
        }
        Ok(())
    }
}

/// A package manager that set-up supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PackageManager {
    Apt,
    Dnf,
    Pacman,
    Brew,
}

impl PackageManager {
    /// The package manager of the system `os` (as in `std::env::consts::OS`); `has` returns whether a program is on PATH.
    fn detect(os: &str, has: impl Fn(&str) -> bool) -> Option<Self> {
        // Homebrew is left out on Linux, where it has no drivers.
        let known: &[Self] = match os {
            "linux" => &[Self::Apt, Self::Dnf, Self::Pacman],
            "macos" => &[Self::Brew],
            _ => &[],
        };
        known.iter().copied().find(|manager| has(manager.program()))
    }

    /// The command to call.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Self::Apt => "apt-get",
            Self::Dnf => "dnf",
            Self::Pacman => "pacman",
            Self::Brew => "brew",
        }
    }

    fn has_lists(self) -> bool {
        match self {
            Self::Apt => any_file("/var/lib/apt/lists", "Packages"),
            Self::Pacman => any_file("/var/lib/pacman/sync", ".db"),
            // These managers fetch their lists by themselves.
            Self::Dnf | Self::Brew => true,
        }
    }
}

/// Whether `folder` has a file with `part` in its name; apt may keep its lists compressed (`…_Packages.lz4`).
fn any_file(folder: &str, part: &str) -> bool {
    fs::read_dir(folder).is_ok_and(|entries| {
        entries.filter_map(Result::ok).any(|entry| entry.file_name().to_string_lossy().contains(part))
    })
}

/// Whether a program is on PATH.
pub(crate) fn on_path(program: &str) -> bool {
    which::which(program).is_ok()
}

/// Whether there is a libclang where packages put it, or a variable that says where it is.
fn has_libclang() -> bool {
    let entries = fs::read_dir("/usr/lib").into_iter().flatten().filter_map(Result::ok);
    let below = entries.flat_map(|entry| [entry.path(), entry.path().join("lib")]);
    let folders =
        ["/usr/lib", "/usr/lib64", "/opt/homebrew/opt/llvm/lib", "/usr/local/opt/llvm/lib"].map(PathBuf::from);
    let has_file = |folder: PathBuf| ["libclang.so", "libclang.dylib"].iter().any(|name| folder.join(name).exists());
    env::var_os("LIBCLANG_PATH").is_some() || folders.into_iter().chain(below).any(has_file)
}

fn driver_override() -> Option<String> {
    ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"].into_iter().find_map(|name| {
        let value = env::var_os(name).filter(|value| !value.is_empty())?;
        Some(format!("{name}={}", value.to_string_lossy()))
    })
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

#[cfg(test)]
impl Found {
    /// A Debian machine with root's rights and package lists, and nothing else; each test adds what it needs.
    pub(crate) fn bare() -> Self {
        Self {
            loader: None,
            devices: vec![],
            validation_layer: false,
            spirv_val: false,
            glslang: false,
            mpiexec: false,
            mpicc: false,
            libclang: false,
            notes: vec![],
            driver_override: None,
            package_manager: Some(PackageManager::Apt),
            has_lists: true,
            is_root: true,
            has_sudo: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Kind;

    #[test]
    fn the_package_manager_of_the_system_is_detected() {
        use PackageManager::{Apt, Brew, Dnf, Pacman};
        for (os, programs, manager) in [
            ("linux", &["apt-get", "sudo"][..], Some(Apt)),
            ("linux", &["dnf"], Some(Dnf)),
            ("linux", &["pacman"], Some(Pacman)),
            ("linux", &["brew"], None),             // Linuxbrew has no drivers.
            ("linux", &["brew", "dnf"], Some(Dnf)), // The system's own manager.
            ("linux", &[], None),
            ("macos", &["brew"], Some(Brew)),
            ("macos", &["apt-get"], None),  // Fink's apt-get has no Vulkan packages.
            ("windows", &["pacman"], None), // MSYS2 has no drivers.
        ] {
            assert_eq!(PackageManager::detect(os, |name| programs.contains(&name)), manager, "{os} {programs:?}");
        }
    }

    #[test]
    fn the_best_device_is_the_first_usable_one_of_the_fastest_kind() {
        let cpu = Device::example("cpu", Kind::Cpu, None);
        let integrated = Device::example("integrated", Kind::Integrated, None);
        let first = Device::example("first", Kind::Discrete, None);
        let second = Device::example("second", Kind::Discrete, None);
        let old = Device::example("old", Kind::Discrete, Some("Vulkan 1.1"));
        for (devices, best) in [
            (vec![], None),
            (vec![cpu.clone()], Some("cpu")),
            (vec![cpu.clone(), integrated.clone()], Some("integrated")),
            // Of devices of one kind, the first that the driver lists.
            (vec![cpu.clone(), first.clone(), second], Some("first")),
            (vec![old.clone(), cpu], Some("cpu")), // A refused device is not usable.
            (vec![old], None),
        ] {
            let found = Found { devices: devices.clone(), ..Found::bare() };
            assert_eq!(found.best().map(|device| device.name.as_str()), best, "{devices:?}");
        }
    }
}
