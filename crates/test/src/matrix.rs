//! The devices that the tests run on, and their names in names of trials.
//!
//! No device is opened here. The names are a pure function of the descriptions of the devices.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use vkarray::device::{DeviceInfo, Error, Instance, Selection};

/// A device of a run.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Target {
    /// The name of the device in names of trials.
    pub label: String,
    /// The description of the device.
    pub info: DeviceInfo,
}

impl Target {
    /// The name and version of the driver, in the form of the reports.
    #[must_use]
    pub fn driver(&self) -> String {
        format!("{} {}", self.info.driver.name, self.info.driver.info).trim().to_owned()
    }
}

/// A selector of every visible device.
const ALL: &str = "all";

/// The devices that the selectors name, in the order of the selectors, and for `all` every visible device; without
/// selectors, the device that a program would open.
///
/// # Errors
///
/// The errors of [`Instance::devices`] and [`Selection::choose`]: a selector that matches nothing is an error.
pub(crate) fn targets(instance: &Arc<Instance>, selectors: &[String]) -> Result<Vec<Target>, Error> {
    let devices = instance.devices()?;
    let infos: Vec<DeviceInfo> = devices.iter().map(|device| DeviceInfo::clone(device.info())).collect();
    let choose = |selector| Selection::from_environment(selector).choose(&infos);
    let mut chosen: Vec<usize> = Vec::new();
    for selector in selectors {
        match selector.as_str() {
            ALL => chosen.extend(Selection::from_environment(None).visible(&infos)?),
            selector => chosen.push(choose(Some(selector))?),
        }
    }
    // No device is an error, as for a program, also for the selector `all`.
    if chosen.is_empty() {
        chosen.push(choose(None)?);
    }
    let mut seen = BTreeSet::new();
    chosen.retain(|index| seen.insert(*index));
    let chosen: Vec<&DeviceInfo> = chosen.into_iter().map(|index| &infos[index]).collect();
    let target = |(label, info): (String, &DeviceInfo)| Target { label, info: info.clone() };
    Ok(labels(&chosen).into_iter().zip(chosen).map(target).collect())
}

/// Short names of devices: the name of the driver, with a number behind it where several devices have the same driver.
fn labels(devices: &[&DeviceInfo]) -> Vec<String> {
    let mut counts = BTreeMap::new();
    let count = |label: String| {
        let count = counts.entry(label.clone()).or_insert(0);
        *count += 1;
        if *count == 1 { label } else { format!("{label}-{count}") }
    };
    devices.iter().map(|info| short_name(&info.driver.name)).map(count).collect()
}

/// The word that selects devices of a driver, in small letters.
fn short_name(driver: &str) -> String {
    let driver = driver.to_lowercase();
    let word = driver.split(|c: char| !c.is_ascii_alphanumeric()).find(|word| !word.is_empty());
    match word {
        Some("llvmpipe") => "lavapipe", // The driver's name for users; `llvmpipe` is the renderer below it.
        word => word.unwrap_or("device"),
    }
    .to_owned()
}

/// A real device that was recorded with `vkarray devices --json`.
#[cfg(test)]
pub(crate) fn recorded(snapshot: &str, label: &str) -> Target {
    let path = format!("{}/../../tests/snapshots/{snapshot}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    Target { label: label.to_owned(), info: serde_json::from_str(&text).unwrap() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_of_one_driver_are_numbered() {
        let devices = ["h100_580.159", "lavapipe_22.3.6", "h100_580.159"].map(|name| recorded(name, "").info);
        assert_eq!(labels(&devices.each_ref()), ["nvidia", "lavapipe", "nvidia-2"]);
    }

    #[test]
    fn drivers_have_short_names() {
        for (driver, name) in [
            ("llvmpipe", "lavapipe"),
            ("SwiftShader driver", "swiftshader"),
            ("NVIDIA", "nvidia"),
            ("radv", "radv"),
            ("Intel open-source Mesa driver", "intel"),
            ("Mesa Turnip", "mesa"),
            ("", "device"),
        ] {
            assert_eq!(short_name(driver), name);
        }
    }
}
