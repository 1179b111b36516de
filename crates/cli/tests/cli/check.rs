//! `vkarray check`: lines, reports and exit codes. What the checks find is tested with them.

use serde_json::Value;

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
