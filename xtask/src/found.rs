//! What is on this machine: a snapshot in plain data, taken once before each decision.
//!
//! Here is what set-up looks at: Vulkan (through `probe.rs`), tools on PATH, package manager, rights.
//! What follows from it is decided in `plan.rs`, which reads nothing but this snapshot.

use std::env;
use std::fmt;
use std::fs;
use std::process::Command;

use anyhow::Result;

use crate::probe::{self, Device};

/// The machine as set-up sees it.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// Version of the Vulkan loader.
    pub(crate) loader: Option<String>,
    /// Devices that a driver reports, usable or not.
    pub(crate) devices: Vec<Device>,
    pub(crate) validation_layer: bool,
    pub(crate) spirv_val: bool,
    /// What the loader or a driver said about anything that is not there.
    pub(crate) notes: Vec<String>,
    /// The variable that tells the loader which drivers to look at, as `NAME=value`.
    pub(crate) driver_override: Option<String>,
    pub(crate) package_manager: Option<PackageManager>,
    /// The package manager has lists of packages already; a fresh container has none.
    pub(crate) has_lists: bool,
    pub(crate) is_root: bool,
    pub(crate) has_sudo: bool,
}

impl Found {
    /// Looks at this machine.
    pub(crate) fn look() -> Result<Self> {
        let vulkan = probe::ask()?;
        let package_manager = PackageManager::detect(env::consts::OS, on_path);
        Ok(Self {
            loader: vulkan.loader,
            devices: vulkan.devices,
            validation_layer: vulkan.validation_layer,
            spirv_val: on_path("spirv-val"),
            notes: vulkan.notes,
            driver_override: driver_override(),
            package_manager,
            has_lists: package_manager.is_some_and(PackageManager::has_lists),
            is_root: is_root(),
            has_sudo: on_path("sudo"),
        })
    }

    /// The devices that vkarray can work on.
    pub(crate) fn usable(&self) -> impl Iterator<Item = &Device> {
        self.devices.iter().filter(|device| device.refused.is_none())
    }

    /// The usable device that is likely the fastest; the first of equals.
    pub(crate) fn best(&self) -> Option<&Device> {
        self.usable().min_by_key(|device| device.kind)
    }
}

/// A line for each thing, found or not.
impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Vulkan loader: {}", self.loader.as_deref().unwrap_or("not found"))?;
        if self.devices.is_empty() {
            writeln!(f, "device: none")?;
        }
        for device in &self.devices {
            writeln!(f, "device: {device}")?;
        }
        let present = |there| if there { "found" } else { "not found" };
        writeln!(f, "validation layer: {}", present(self.validation_layer))?;
        write!(f, "spirv-val: {}", present(self.spirv_val))?;
        for note in &self.notes {
            write!(f, "\nnote: {note}")?;
        }
        Ok(())
    }
}

/// A package manager that set-up knows how to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PackageManager {
    Apt,
    Dnf,
    Pacman,
    Brew,
}

impl PackageManager {
    /// The manager of the system `os` (as in `std::env::consts::OS`), of those that `has` says are on PATH.
    fn detect(os: &str, has: impl Fn(&str) -> bool) -> Option<Self> {
        // Homebrew on Linux has no drivers, so there it is no answer.
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
            // These fetch their lists themselves.
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

fn on_path(program: &str) -> bool {
    which::which(program).is_ok()
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
    /// A Debian machine with root's rights and package lists, and nothing else: each test adds what it is about.
    pub(crate) fn bare() -> Self {
        Self {
            loader: None,
            devices: vec![],
            validation_layer: false,
            spirv_val: false,
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
    fn the_package_manager_is_the_systems_own() {
        use PackageManager::{Apt, Brew, Dnf, Pacman};
        for (os, programs, manager) in [
            ("linux", &["apt-get", "sudo"][..], Some(Apt)),
            ("linux", &["dnf"], Some(Dnf)),
            ("linux", &["pacman"], Some(Pacman)),
            ("linux", &["brew"], None),             // Linuxbrew has no drivers.
            ("linux", &["brew", "dnf"], Some(Dnf)), // The system's own, not the added one.
            ("linux", &[], None),
            ("macos", &["brew"], Some(Brew)),
            ("macos", &["apt-get"], None),  // Fink's apt-get knows no Vulkan.
            ("windows", &["pacman"], None), // MSYS2's packages are not the system's driver.
        ] {
            assert_eq!(PackageManager::detect(os, |name| programs.contains(&name)), manager, "{os} {programs:?}");
        }
    }

    #[test]
    fn the_best_device_is_the_first_usable_one_of_the_fastest_kind() {
        let device = |name: &str, kind, refused: Option<&str>| Device {
            name: name.to_owned(),
            kind,
            api: "1.3.0".to_owned(),
            refused: refused.map(str::to_owned),
        };
        let cpu = device("cpu", Kind::Cpu, None);
        let integrated = device("integrated", Kind::Integrated, None);
        let first = device("first", Kind::Discrete, None);
        let second = device("second", Kind::Discrete, None);
        let old = device("old", Kind::Discrete, Some("Vulkan 1.1"));
        for (devices, best) in [
            (vec![], None),
            (vec![cpu.clone()], Some("cpu")),
            (vec![cpu.clone(), integrated.clone()], Some("integrated")),
            (vec![cpu.clone(), first.clone(), second], Some("first")), // The driver's order decides between equals.
            (vec![old.clone(), cpu], Some("cpu")),                     // A refused device is none.
            (vec![old], None),
        ] {
            let found = Found { devices: devices.clone(), ..Found::bare() };
            assert_eq!(found.best().map(|device| device.name.as_str()), best, "{devices:?}");
        }
    }
}
