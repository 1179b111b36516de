//! Tests of the plan for every package manager, set of rights and set of missing things. They change nothing on the
//! machine.

use super::*;
use crate::probe::{Device, Kind};

const MANAGERS: [PackageManager; 4] =
    [PackageManager::Apt, PackageManager::Dnf, PackageManager::Pacman, PackageManager::Brew];

fn device(refused: Option<&str>) -> Device {
    Device::example("device", Kind::Discrete, refused)
}

/// A machine that lacks `needs` and nothing else.
fn lacking(needs: &[Need]) -> Found {
    Found {
        loader: (!needs.contains(&Need::Loader)).then(|| "1.3.239".to_owned()),
        devices: if needs.contains(&Need::Device) { vec![] } else { vec![device(None)] },
        validation_layer: !needs.contains(&Need::ValidationLayer),
        spirv_val: !needs.contains(&Need::SpirvVal),
        glslang: !needs.contains(&Need::Glslang),
        mpiexec: !needs.contains(&Need::Mpiexec),
        mpicc: !needs.contains(&Need::Mpicc),
        libclang: !needs.contains(&Need::Libclang),
        ..Found::bare()
    }
}

/// The steps as text.
fn shown(found: &Found, purpose: Purpose) -> Vec<String> {
    plan(found, purpose)
        .iter()
        .map(|step| match step {
            Step::Refresh(command) => format!("refresh: {command}"),
            Step::Install { command, refresh: None } => format!("install: {command}"),
            Step::Install { command, refresh: Some(refresh) } => format!("install: {command} | {refresh}"),
            Step::Stop(text) => format!("stop: {text}"),
        })
        .collect()
}

#[test]
fn a_machine_that_lacks_nothing_needs_no_step() {
    for manager in MANAGERS.map(Some).into_iter().chain([None]) {
        for (is_root, has_lists, has_override) in [(true, true, false), (false, false, true)] {
            let found = Found {
                package_manager: manager,
                is_root,
                has_lists,
                driver_override: has_override.then(|| "VK_DRIVER_FILES=x".to_owned()),
                ..lacking(&[])
            };
            assert!(plan(&found, Purpose::Tests).is_empty(), "{found:?}");
            assert!(plan(&found, Purpose::Programs).is_empty(), "{found:?}");
        }
    }
}

#[test]
fn every_package_manager_has_its_own_command_and_package_names() {
    use Need::{Device, Glslang, Loader, SpirvVal, ValidationLayer};
    use PackageManager::{Apt, Brew, Dnf, Pacman};
    const APT: &str = "env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends";
    const DNF: &str = "dnf install --assumeyes --setopt=install_weak_deps=False";
    const PACMAN: &str = "pacman -S --needed --noconfirm";
    for (manager, needs, command) in [
        (Apt, &[Loader, Device][..], format!("{APT} libvulkan1 mesa-vulkan-drivers | apt-get update")),
        (Apt, &[Device], format!("{APT} mesa-vulkan-drivers | apt-get update")), // The loader is installed.
        // The loader and a driver are installed.
        (Apt, &[ValidationLayer], format!("{APT} vulkan-validationlayers | apt-get update")),
        (Apt, &[SpirvVal], format!("{APT} spirv-tools | apt-get update")),
        (Apt, &[Glslang], format!("{APT} glslang-tools | apt-get update")),
        (Dnf, &[Loader, Device], format!("{DNF} vulkan-loader mesa-vulkan-drivers")),
        (Dnf, &[ValidationLayer], format!("{DNF} vulkan-validation-layers")),
        (Dnf, &[SpirvVal], format!("{DNF} spirv-tools")),
        (Dnf, &[Glslang], format!("{DNF} glslang")),
        (Pacman, &[Loader, Device], format!("{PACMAN} vulkan-icd-loader vulkan-swrast")),
        (Pacman, &[ValidationLayer], format!("{PACMAN} vulkan-validation-layers")),
        (Pacman, &[SpirvVal], format!("{PACMAN} spirv-tools")),
        (Pacman, &[Glslang], format!("{PACMAN} glslang")),
        (Brew, &[Loader, Device], "brew install vulkan-loader molten-vk".to_owned()),
        (Brew, &[ValidationLayer], "brew install vulkan-validationlayers".to_owned()),
        (Brew, &[SpirvVal], "brew install spirv-tools".to_owned()),
        (Brew, &[Glslang], "brew install glslang".to_owned()),
    ] {
        let found =
            Found { package_manager: Some(manager), is_root: manager != Brew, has_sudo: false, ..lacking(needs) };
        assert_eq!(shown(&found, Purpose::Tests), [format!("install: {command}")], "{manager:?} {needs:?}");
    }
}

#[test]
fn the_validation_layer_and_khronos_tools_are_needed_for_tests_only() {
    use Need::{Device, Glslang, Loader, SpirvVal, ValidationLayer};
    for (needs, without, with) in [
        (&[ValidationLayer][..], &[][..], &[ValidationLayer][..]),
        (&[SpirvVal], &[], &[SpirvVal]),
        (&[Glslang], &[], &[Glslang]),
        (&[Device, SpirvVal], &[Device], &[Device, SpirvVal]),
        (&[Loader, Device, ValidationLayer, SpirvVal], &[Loader, Device], &[Loader, Device, ValidationLayer, SpirvVal]),
    ] {
        assert_eq!(missing(&lacking(needs), Purpose::Programs), without, "{needs:?}");
        assert_eq!(missing(&lacking(needs), Purpose::Tests), with, "{needs:?}");
    }
}

#[test]
fn mpi_is_needed_for_programs_of_several_processes_only() {
    use PackageManager::{Apt, Brew, Dnf, Pacman};
    let needs = [Need::Mpiexec, Need::Mpicc, Need::Libclang];
    assert_eq!(missing(&lacking(&needs), Purpose::Processes), needs);
    assert_eq!(missing(&lacking(&needs), Purpose::Tests), []);
    assert_eq!(missing(&lacking(&[Need::SpirvVal]), Purpose::Processes), []);
    for (manager, packages) in [
        (Apt, "mpich libmpich-dev libclang-dev | apt-get update"),
        (Dnf, "mpich mpich-devel clang-devel"),
        (Pacman, "mpich clang"), // One package has both programs.
        (Brew, "mpich llvm"),
    ] {
        let found = Found { package_manager: Some(manager), is_root: manager != Brew, ..lacking(&needs) };
        let steps = shown(&found, Purpose::Processes);
        assert!(steps.len() == 1 && steps[0].ends_with(&format!(" {packages}")), "{manager:?}: {steps:?}");
    }
}

#[test]
fn a_refused_device_does_not_meet_the_need_for_a_device() {
    let mut found = lacking(&[]);
    found.devices = vec![device(Some("its driver supports Vulkan 1.0"))];
    assert_eq!(missing(&found, Purpose::Programs), [Need::Device]);
    found.devices.push(device(None));
    assert_eq!(missing(&found, Purpose::Programs), []);
}

#[test]
fn root_sudo_and_homebrew_decide_whether_and_how_the_command_is_run() {
    use PackageManager::{Apt, Brew, Dnf, Pacman};
    for (manager, is_root, has_sudo, start) in [
        (Apt, true, true, "install: env DEBIAN_FRONTEND=noninteractive apt-get install"), // Root needs no sudo.
        (Apt, false, true, "install: sudo env DEBIAN_FRONTEND=noninteractive apt-get install"),
        (Dnf, true, false, "install: dnf install"),
        (Dnf, false, true, "install: sudo dnf install"),
        (Pacman, true, false, "install: pacman -S"),
        (Pacman, false, true, "install: sudo pacman -S"),
        (Brew, false, true, "install: brew install"), // Homebrew belongs to its user.
        (Brew, false, false, "install: brew install"),
        (Apt, false, false, "stop: missing: spirv-val; run this as root, then try again:\n  env DEBIAN_FRONTEND"),
        (Dnf, false, false, "stop: missing: spirv-val; run this as root, then try again:\n  dnf install"),
        (Pacman, false, false, "stop: missing: spirv-val; run this as root, then try again:\n  pacman -S"),
        (Brew, true, true, "stop: missing: spirv-val; run this as an ordinary user (Homebrew refuses"),
    ] {
        let found = Found { package_manager: Some(manager), is_root, has_sudo, ..lacking(&[Need::SpirvVal]) };
        let steps = shown(&found, Purpose::Tests);
        assert_eq!(steps.len(), 1, "{steps:?}");
        assert!(steps[0].starts_with(start), "{manager:?}, root {is_root}, sudo {has_sudo}: {steps:?}");
    }
}

#[test]
fn missing_package_lists_are_fetched_first() {
    use PackageManager::{Apt, Brew, Dnf, Pacman};
    for (manager, has_sudo, is_root, first) in [
        (Apt, true, false, Some("refresh: sudo apt-get update")),
        (Apt, false, true, Some("refresh: apt-get update")),
        (Pacman, false, true, Some("refresh: pacman -Sy")),
        (Dnf, false, true, None), // Dnf fetches its lists by itself.
        (Brew, false, false, None),
    ] {
        let found = Found {
            package_manager: Some(manager),
            has_lists: false,
            has_sudo,
            is_root,
            ..lacking(&[Need::ValidationLayer])
        };
        let steps = shown(&found, Purpose::Tests);
        assert_eq!(steps.len(), if first.is_some() { 2 } else { 1 }, "{manager:?}: {steps:?}");
        assert_eq!(first, first.map(|_| steps[0].as_str()), "{manager:?}");
        let install = steps.last().expect("a step");
        assert!(install.starts_with("install: "), "{manager:?}: {steps:?}");
        assert!(!install.contains('|'), "fresh lists are not fetched twice: {steps:?}");
    }
    let found = Found { has_lists: false, is_root: false, ..lacking(&[Need::SpirvVal]) };
    let text = &shown(&found, Purpose::Tests)[0];
    assert!(text.contains("\n  apt-get update && env DEBIAN_FRONTEND"), "the instructions have both commands: {text}");
}

#[test]
fn without_a_package_manager_the_instructions_name_the_packages() {
    let needs = [Need::Loader, Need::Device, Need::ValidationLayer, Need::SpirvVal, Need::Glslang];
    let found = Found { package_manager: None, ..lacking(&needs) };
    let [Step::Stop(text)] = &plan(&found, Purpose::Tests)[..] else {
        panic!("one instruction, not {:?}", plan(&found, Purpose::Tests))
    };
    for manager in MANAGERS {
        for need in needs {
            assert!(text.contains(manager.package(need)), "{manager:?} {need} in {text}");
        }
    }
    let text = &shown(&Found { package_manager: None, ..lacking(&[Need::SpirvVal]) }, Purpose::Tests)[0];
    assert!(text.contains("spirv-tools") && !text.contains("libvulkan1"), "only what is missing: {text}");
}

#[test]
fn a_driver_override_without_a_usable_device_is_reported_and_nothing_is_installed() {
    let setting = "VK_DRIVER_FILES=/nonexistent";
    let hidden = Found { driver_override: Some(setting.to_owned()), ..lacking(&[Need::Device]) };
    let steps = shown(&hidden, Purpose::Programs);
    assert!(steps.len() == 1 && steps[0].starts_with(&format!("stop: {setting} restricts")), "{steps:?}");
    // Without a loader the variable has had no effect, so the loader and a driver are installed.
    let found = Found { driver_override: Some(setting.to_owned()), ..lacking(&[Need::Loader, Need::Device]) };
    assert!(shown(&found, Purpose::Programs)[0].starts_with("install: "), "{:?}", shown(&found, Purpose::Programs));
}

#[test]
fn needs_are_listed_with_commas_and_an_and() {
    for (needs, text) in [
        (&[][..], "nothing"),
        (&[Need::SpirvVal], "spirv-val"),
        (&[Need::Loader, Need::SpirvVal], "the Vulkan loader and spirv-val"),
        (&[Need::Loader, Need::Device, Need::SpirvVal], "the Vulkan loader, a usable Vulkan device and spirv-val"),
    ] {
        assert_eq!(listed(needs), text, "{needs:?}");
    }
}
