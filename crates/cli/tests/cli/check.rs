//! `vkarray check`: lines, reports and exit codes. The findings of the checks are tested with the checks.

use serde_json::Value;
use vkarray_checks::CHECKS;

use crate::device::has_device;
use crate::{Folder, text};

#[test]
fn a_check_prints_a_line_and_writes_reports() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    let lines = text(&folder.done("check --filter masks_select_rows --junit check.xml").stdout);
    let first = lines.lines().next().unwrap();
    assert!(first.starts_with("ok    ") && first.contains("primitives::masks_select_rows  "), "{lines}");
    assert!(lines.contains("\n1 passed, 0 failed, 0 skipped in "), "{lines}");
    let junit = std::fs::read_to_string(folder.path("check.xml")).unwrap();
    assert!(junit.contains("<testsuites name=\"check\" tests=\"1\" failures=\"0\""), "{junit}");
    let json: Value = serde_json::from_slice(&folder.done("check --filter masks_select_rows --json").stdout).unwrap();
    assert_eq!(json["trials"][0]["outcome"], "passed");
    assert!(json["devices"][0]["info"]["limits"].is_object());
}

/// Devices are listed by `all`, each once.
#[test]
fn all_devices_are_checked() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    let devices: Value = serde_json::from_slice(&folder.done("devices --json").stdout).unwrap();
    let line = "check --device all --device 0 --filter saxpy --json";
    let results: Value = serde_json::from_slice(&folder.done(line).stdout).unwrap();
    assert_eq!(results["devices"].as_array().unwrap().len(), devices.as_array().unwrap().len());
}

/// The features that a device needs to be opened, or has by the specification of Vulkan.
const REQUIRED: [&str; 4] = ["timeline_semaphore", "synchronization2", "robust_buffer_access", "robust_image_access"];

/// The lines of checks on a device without any optional feature and without operations of subgroups, except for the
/// features in `kept`.
fn checked_without_features(folder: &Folder, kept: &str, filter: &str) -> Vec<String> {
    let devices: Value = serde_json::from_slice(&folder.done("devices --json").stdout).expect("JSON");
    let named = devices[0]["features"].as_object().expect("features by name").keys();
    let off = named.filter(|&name| !kept.split(" and ").any(|kept| kept == name) && !REQUIRED.contains(&name.as_str()));
    let off: serde_json::Map<_, _> = off.map(|name| (name.clone(), false.into())).collect();
    let operations = if kept == "subgroup arithmetic" { u32::MAX } else { 0 };
    folder.put("bare.json", serde_json::json!({"features": off, "subgroup": {"operations": operations}}).to_string());
    let mut command = folder.command(&format!("check --filter {filter}"));
    let output = command.env("VKARRAY_LIMITS", "bare.json").env("VKARRAY_VALIDATION", "1").output();
    let output = output.expect("the command starts");
    assert!(output.status.success(), "without all but {kept}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout).lines().map(str::to_owned).collect()
}

/// A check that needs a feature and does not say so fails here, not on the first small device.
#[test]
fn checks_need_no_features_but_those_that_they_name() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    let lines = checked_without_features(&folder, "", "::");
    for check in CHECKS {
        let name = format!("{}::{}", check.room, check.name);
        let line = lines.iter().find(|line| line.contains(&name)).unwrap_or_else(|| panic!("{name} did not run"));
        let Some((feature, has)) = check.need else {
            assert!(line.starts_with("ok    "), "{line}");
            continue;
        };
        assert!(line.starts_with("skip  ") && line.ends_with(&format!(": the device lacks {feature}")), "{line}");
        // The check passes with only this feature, where the device has it.
        let alone = checked_without_features(&folder, feature, check.name);
        let instance = vkarray::device::Instance::new().unwrap();
        let is_there = has(instance.devices().unwrap()[0].info());
        assert!(alone[0].starts_with(if is_there { "ok    " } else { "skip  " }), "{}", alone[0]);
    }
}

#[test]
fn a_failed_check_is_reported_and_ends_with_four() {
    if !has_device() {
        return;
    }
    let folder = Folder::new();
    // A device with this limit refuses the kernel.
    folder.put("tiny.json", "{\"max_compute_work_group_invocations\": 32}");
    let mut command = folder.command("check --filter saxpy --junit check.xml");
    let output = command.env("VKARRAY_LIMITS", "tiny.json").output().unwrap();
    let (lines, message) = (text(&output.stdout), text(&output.stderr));
    assert_eq!((output.status.code(), message.as_str()), (Some(4), "error: 1 of 1 checks failed\n"));
    assert!(lines.starts_with("FAIL  ") && lines.contains("0 passed, 1 failed, 0 skipped"), "{lines}");
    let junit = std::fs::read_to_string(folder.path("check.xml")).unwrap();
    assert!(junit.contains("<failure message=\"on ") && junit.contains("the device allows 32"), "{junit}");
}

#[test]
fn checks_are_listed_without_a_device() {
    let folder = Folder::new();
    let mut command = folder.command("check --list --filter saxpy");
    let output =
        command.env("VK_ICD_FILENAMES", "/nonexistent.json").env("VK_DRIVER_FILES", "/nonexistent.json").output();
    let output = output.expect("the command starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "samples::saxpy_adds_a_multiple_of_each_element\n");
    let all = text(&folder.command("check --list").output().expect("the command starts").stdout);
    assert_eq!(all.lines().count(), CHECKS.len());
    assert!(all.contains("  needs "), "{all}");
}

#[test]
fn checks_that_cannot_run_are_wrong_input() {
    let folder = Folder::new();
    for (line, part) in [
        ("check --filter nothing", "no check has `nothing` in its name"),
        ("check --junit none/check.xml", "there is no folder none"),
    ] {
        let message = folder.refused(2, &mut folder.command(line));
        assert!(message.contains(part), "{message}");
    }
}
