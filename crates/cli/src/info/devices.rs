//! `vkarray devices`: one line for each device, or everything as JSON.
//!
//! The numbers are the numbers that `--device` and `VKARRAY_DEVICE` take, so devices that `VKARRAY_VISIBLE_DEVICES`
//! hides are not listed. No device is opened.

use indicatif::BinaryBytes;
use vkarray::device::{DeviceInfo, Instance, Selection};

use crate::args::DevicesArgs;
use crate::error::Result;
use crate::stdio::{json, print};

/// Lists the devices on standard output.
///
/// # Errors
///
/// [`Error::Array`] without a loader, without a device, or if `VKARRAY_VISIBLE_DEVICES` is malformed.
pub(crate) fn list(args: &DevicesArgs) -> Result<()> {
    let physical = Instance::new().and_then(|instance| instance.devices())?;
    let devices: Vec<DeviceInfo> = physical.iter().map(|device| DeviceInfo::clone(device.info())).collect();
    let selection = Selection::from_environment(None);
    let visible: Vec<&DeviceInfo> = selection.visible(&devices)?.into_iter().map(|index| &devices[index]).collect();
    // A selector that matches no device is an error of `run`; the list is printed all the same, to show which selectors
    // match.
    let chosen = selection.choose(&devices).ok().map(|index| &devices[index]);

    if args.json {
        return print(&json(&visible));
    }
    let faults: String = visible.iter().map(|device| faults(device)).collect();
    print(&format!("{}\n{faults}", table(&visible, chosen)))
}

/// A line for each known fault of a device's driver.
pub(crate) fn faults(device: &DeviceInfo) -> String {
    let driver = format!("{} {}", device.driver.name, device.driver.info);
    device.known_faults().map(|fault| format!("known fault of {driver}: {fault}\n")).collect()
}

/// One aligned line for each device. A star marks the device that is used if none is named.
fn table(devices: &[&DeviceInfo], chosen: Option<&DeviceInfo>) -> String {
    let rows: Vec<[String; 6]> = devices
        .iter()
        .enumerate()
        .map(|(index, device)| {
            let star = if chosen.is_some_and(|chosen| std::ptr::eq(chosen, *device)) { "*" } else { " " };
            [
                format!("{star}{index}"),
                device.name.clone(),
                device.device_type.to_string(),
                BinaryBytes(device.device_memory_bytes()).to_string(),
                format!("Vulkan {}", device.api_version),
                format!("{} {}", device.driver.name, device.driver.info).trim().to_owned(),
            ]
        })
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..6).map(width).collect();
    let line = |row: &[String; 6]| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}
