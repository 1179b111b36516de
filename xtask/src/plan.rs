//! Decides what set-up does: it turns a snapshot of the machine into a list of steps.
//!
//! All functions here are pure, so that every package manager and every case is tested on any machine. `found.rs` takes
//! the snapshot; `setup.rs` runs the steps.

use std::fmt;

use crate::command::CommandLine;
use crate::found::{Found, PackageManager};

#[cfg(test)]
mod tests;

/// What a machine is set up for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Programs that use vkarray.
    Programs,
    /// The tests of vkarray.
    Tests,
    /// Programs of several processes.
    Processes,
}

/// Something that vkarray or its tests need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Loader,
    Device,
    ValidationLayer,
    SpirvVal,
    Glslang,
    Mpiexec,
    Mpicc,
    Libclang,
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Loader => "the Vulkan loader",
            Self::Device => "a usable Vulkan device",
            Self::ValidationLayer => "the Khronos validation layer",
            Self::SpirvVal => "spirv-val",
            Self::Glslang => "glslangValidator",
            Self::Mpiexec => "mpiexec",
            Self::Mpicc => "mpicc",
            Self::Libclang => "libclang",
        })
    }
}

/// One thing to do, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Fetch the package lists.
    Refresh(CommandLine),
    /// Install packages; if that fails and `refresh` is given, run `refresh` and install once more.
    Install { command: CommandLine, refresh: Option<CommandLine> },
    /// Stop with instructions for the user, because set-up cannot do the rest.
    Stop(String),
}

/// What is missing, in the order to install it.
pub(crate) fn missing(found: &Found, purpose: Purpose) -> Vec<Need> {
    let (tests, processes) = (purpose == Purpose::Tests, purpose == Purpose::Processes);
    [
        (Need::Loader, found.loader.is_some()),
        (Need::Device, found.usable().next().is_some()),
        (Need::ValidationLayer, !tests || found.validation_layer),
        (Need::SpirvVal, !tests || found.spirv_val),
        (Need::Glslang, !tests || found.glslang),
        (Need::Mpiexec, !processes || found.mpiexec),
        (Need::Mpicc, !processes || found.mpicc),
        (Need::Libclang, !processes || found.libclang),
    ]
    .into_iter()
    .filter_map(|(need, is_met)| (!is_met).then_some(need))
    .collect()
}

/// The steps that install what is missing.
pub(crate) fn plan(found: &Found, purpose: Purpose) -> Vec<Step> {
    let needs = missing(found, purpose);
    if needs.is_empty() {
        return vec![];
    }
    if let (true, Some(setting)) = (needs.contains(&Need::Device) && found.loader.is_some(), &found.driver_override) {
        return vec![Step::Stop(format!(
            "{setting} restricts Vulkan to the drivers it names, and these have no usable device; \
             unset it or name a working driver, and run this again"
        ))];
    }
    let Some(manager) = found.package_manager else {
        return vec![Step::Stop(by_hand(&needs))];
    };
    let refresh = manager.refresh();
    let install = manager.install(&needs);
    match rights(found, manager) {
        Rights::As(prefix) => {
            let as_allowed = |words: Vec<&'static str>| CommandLine::new(prefix.iter().copied().chain(words));
            let refresh = refresh.map(as_allowed);
            let command = as_allowed(install);
            match refresh {
                Some(first) if !found.has_lists => vec![Step::Refresh(first), Step::Install { command, refresh: None }],
                // With pacman, lists newer than the installed packages can break the system, so old lists are left alone.
                refresh => vec![Step::Install { command, refresh: refresh.filter(|_| manager == PackageManager::Apt) }],
            }
        }
        Rights::Wrong(who) => {
            let commands: Vec<String> = (refresh.filter(|_| !found.has_lists).into_iter().chain([install]))
                .map(|words| CommandLine::new(words).to_string())
                .collect();
            let commands = commands.join(" && ");
            vec![Step::Stop(format!("missing: {}; run this {who}, then try again:\n  {commands}", listed(&needs)))]
        }
    }
}

/// Whether set-up may call the package manager.
enum Rights {
    /// It may, with these words before the command.
    As(&'static [&'static str]),
    /// It may not; the text says as which user to run it.
    Wrong(&'static str),
}

fn rights(found: &Found, manager: PackageManager) -> Rights {
    match (manager, found.is_root, found.has_sudo) {
        (PackageManager::Brew, true, _) => Rights::Wrong("as an ordinary user (Homebrew refuses to work for root)"),
        (PackageManager::Brew, false, _) | (_, true, _) => Rights::As(&[]),
        (_, false, true) => Rights::As(&["sudo"]),
        (_, false, false) => Rights::Wrong("as root"),
    }
}

impl PackageManager {
    /// The package that provides `need`.
    fn package(self, need: Need) -> &'static str {
        match (need, self) {
            (Need::Loader, Self::Apt) => "libvulkan1",
            (Need::Loader, Self::Dnf | Self::Brew) => "vulkan-loader",
            (Need::Loader, Self::Pacman) => "vulkan-icd-loader",
            (Need::Device, Self::Apt | Self::Dnf) => "mesa-vulkan-drivers",
            (Need::Device, Self::Pacman) => "vulkan-swrast",
            (Need::Device, Self::Brew) => "molten-vk",
            (Need::ValidationLayer, Self::Apt | Self::Brew) => "vulkan-validationlayers",
            (Need::ValidationLayer, Self::Dnf | Self::Pacman) => "vulkan-validation-layers",
            (Need::SpirvVal, _) => "spirv-tools",
            (Need::Glslang, Self::Apt) => "glslang-tools",
            (Need::Glslang, Self::Dnf | Self::Pacman | Self::Brew) => "glslang",
            (Need::Mpicc, Self::Apt) => "libmpich-dev",
            (Need::Mpicc, Self::Dnf) => "mpich-devel",
            (Need::Mpiexec | Need::Mpicc, _) => "mpich",
            (Need::Libclang, Self::Apt) => "libclang-dev",
            (Need::Libclang, Self::Dnf) => "clang-devel",
            (Need::Libclang, Self::Pacman) => "clang",
            (Need::Libclang, Self::Brew) => "llvm",
        }
    }

    /// The command that installs what is needed, without questions and without optional packages.
    fn install(self, needs: &[Need]) -> Vec<&'static str> {
        let words: &[&str] = match self {
            Self::Apt => {
                &["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "--yes", "--no-install-recommends"]
            }
            Self::Dnf => &["dnf", "install", "--assumeyes", "--setopt=install_weak_deps=False"],
            Self::Pacman => &["pacman", "-S", "--needed", "--noconfirm"],
            Self::Brew => &["brew", "install"],
        };
        let mut packages: Vec<&str> = needs.iter().map(|&need| self.package(need)).collect();
        packages.dedup(); // One package may have two of them.
        [words, &packages].concat()
    }

    /// The command that fetches the package lists, for a manager that does not do so by itself.
    fn refresh(self) -> Option<Vec<&'static str>> {
        match self {
            Self::Apt => Some(vec!["apt-get", "update"]),
            Self::Pacman => Some(vec!["pacman", "-Sy"]),
            Self::Dnf | Self::Brew => None,
        }
    }
}

/// Instructions for a system without a supported package manager.
fn by_hand(needs: &[Need]) -> String {
    let mut text = format!("missing: {}; found no package manager that set-up supports.\n", listed(needs));
    text += "Install these yourself, then try again:";
    for &need in needs {
        let package = |manager: PackageManager| manager.package(need);
        text += &format!(
            "\n  {need}: {} (Debian, Ubuntu), {} (Fedora), {} (Arch), {} (Homebrew); {}",
            package(PackageManager::Apt),
            package(PackageManager::Dnf),
            package(PackageManager::Pacman),
            package(PackageManager::Brew),
            match need {
                Need::Loader | Need::Device => "on Windows the driver of the GPU's vendor",
                Need::ValidationLayer | Need::SpirvVal | Need::Glslang => "on Windows the Vulkan SDK",
                Need::Mpiexec | Need::Mpicc => "on Windows Microsoft MPI and its SDK",
                Need::Libclang => "on Windows LLVM",
            },
        );
    }
    text
}

/// `a, b and c`.
pub(crate) fn listed(needs: &[Need]) -> String {
    let names: Vec<String> = needs.iter().map(Need::to_string).collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => "nothing".to_owned(),
    }
}
