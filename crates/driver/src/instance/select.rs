//! The choice of a device: selectors, visibility and requirements. Pure.
//!
//! A selector is an index (`0`), a kind (`discrete`, `integrated`, `virtual`, `cpu`), `uuid:` and 32 hexadecimal digits
//! (dashes allowed), or any part of a device's, driver's or vendor's name (`nvidia`, `llvmpipe`), in any case.
//! `VKARRAY_VISIBLE_DEVICES` lists selectors, which filter the devices and set their order, as `CUDA_VISIBLE_DEVICES`
//! does. `VKARRAY_DEVICE` picks one of the visible devices. `VKARRAY_REQUIRE` names the least kind that is accepted, so
//! that a machine meant to have a GPU fails rather than fall back to the processor.

use super::{DeviceInfo, DeviceType, environment};
use crate::error::{Error, Result};

/// The selectors that were given, by the place they were given in. An empty text counts as absent.
///
/// ```
/// use vkarray_driver::{DeviceInfo, Instance, Selection};
///
/// # fn main() -> Result<(), vkarray_driver::Error> {
/// // This is the selection of `VKARRAY_DEVICE=0` in the environment.
/// let selection = Selection { device_variable: Some("0".to_owned()), ..Selection::default() };
/// let devices = Instance::new()?.devices()?;
/// let infos: Vec<DeviceInfo> = devices.iter().map(|device| (**device.info()).clone()).collect();
/// assert_eq!(selection.choose(&infos)?, 0);
/// // `discrete`, `cpu`, `nvidia` and `uuid:…` are selectors too. A name that matches nothing is an error.
/// let unknown = Selection { argument: Some("no such device".to_owned()), ..Selection::default() };
/// assert!(unknown.choose(&infos).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// A selector given in the program or on the command line. It wins over `device_variable`.
    pub argument: Option<String>,
    /// The value of `VKARRAY_DEVICE`.
    pub device_variable: Option<String>,
    /// The value of `VKARRAY_VISIBLE_DEVICES`.
    pub visible_variable: Option<String>,
    /// The value of `VKARRAY_REQUIRE`.
    pub require_variable: Option<String>,
}

impl Selection {
    /// Reads the three environment variables; `argument` wins over `VKARRAY_DEVICE`.
    pub fn from_environment(argument: Option<&str>) -> Self {
        Self {
            argument: argument.map(str::to_owned),
            device_variable: environment::text("VKARRAY_DEVICE"),
            visible_variable: environment::text("VKARRAY_VISIBLE_DEVICES"),
            require_variable: environment::text("VKARRAY_REQUIRE"),
        }
    }

    /// Returns the indices of the visible devices, in order.
    ///
    /// # Errors
    ///
    /// [`Error::BadSelector`] for a malformed selector, [`Error::UnknownDevice`] for a selector that matches no device,
    /// [`Error::NoDevice`] if there are selectors and `devices` is empty.
    pub fn visible(&self, devices: &[DeviceInfo]) -> Result<Vec<usize>> {
        let Some(list) = present(self.visible_variable.as_deref()) else { return Ok((0..devices.len()).collect()) };
        let mut visible = Vec::new();
        for text in list.split(',') {
            let all: Vec<usize> = (0..devices.len()).collect();
            let matching = matches(text.trim(), "VKARRAY_VISIBLE_DEVICES", devices, &all)?;
            visible.extend(matching.into_iter().filter(|idx| !visible.contains(idx)).collect::<Vec<_>>());
        }
        Ok(visible)
    }

    /// Returns the index, in `devices`, of the device to open: the best of those that match.
    ///
    /// Without a selector the kinds are ranked discrete, integrated, virtual, other, cpu; ties keep the order.
    ///
    /// # Errors
    ///
    /// [`Error::NoDevice`] if `devices` is empty, [`Error::UnknownDevice`] if none of them matches,
    /// [`Error::BadSelector`] for a malformed text, [`Error::Unsuitable`] if the choice ranks below `VKARRAY_REQUIRE`.
    pub fn choose(&self, devices: &[DeviceInfo]) -> Result<usize> {
        let visible = self.visible(devices)?;
        let asked = present(self.argument.as_deref())
            .map(|text| (text, "the device argument"))
            .or_else(|| present(self.device_variable.as_deref()).map(|text| (text, "VKARRAY_DEVICE")));
        let candidates = match asked {
            Some((text, origin)) => matches(text, origin, devices, &visible)?,
            None => visible,
        };
        let best = candidates.into_iter().min_by_key(|&idx| rank(devices[idx].device_type));
        let chosen = best.ok_or(Error::NoDevice { hint: crate::error::INSTALL_DRIVER })?;
        self.check_requirement(&devices[chosen])?;
        Ok(chosen)
    }

    fn check_requirement(&self, device: &DeviceInfo) -> Result<()> {
        let Some(text) = present(self.require_variable.as_deref()) else { return Ok(()) };
        let allowed = kinds(text).ok_or_else(|| Error::BadSelector {
            text: text.to_owned(),
            origin: "VKARRAY_REQUIRE",
            reason: "it must be gpu, discrete, integrated, virtual or cpu",
        })?;
        // A device of a better kind than the required one is accepted.
        if allowed.iter().all(|&least| rank(device.device_type) > rank(least)) {
            let kind = device.device_type;
            return Err(device.unsuitable(format!("it is a {kind} device, and VKARRAY_REQUIRE asks for {text}")));
        }
        Ok(())
    }
}

fn present(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|t| !t.is_empty())
}

/// The kinds that are GPUs, best first. A virtual device is a part of one.
const GPUS: [DeviceType; 3] = [DeviceType::Discrete, DeviceType::Integrated, DeviceType::Virtual];

/// The place of a kind in the order of preference: GPUs come first, the processor comes last.
fn rank(kind: DeviceType) -> usize {
    let other = if kind == DeviceType::Cpu { GPUS.len() + 1 } else { GPUS.len() };
    GPUS.iter().position(|gpu| *gpu == kind).unwrap_or(other)
}

/// The kinds of device that a word names.
fn kinds(text: &str) -> Option<Vec<DeviceType>> {
    if text.eq_ignore_ascii_case("gpu") {
        return Some(GPUS.to_vec());
    }
    let mut named = GPUS.into_iter().chain([DeviceType::Cpu]);
    named.find(|kind| kind.to_string().eq_ignore_ascii_case(text)).map(|kind| vec![kind])
}

/// The devices in `pool` that `text` names, in the order of `pool`. An index counts within `pool`.
fn matches(text: &str, origin: &'static str, devices: &[DeviceInfo], pool: &[usize]) -> Result<Vec<usize>> {
    let unknown = || match devices {
        [] => Error::NoDevice { hint: crate::error::INSTALL_DRIVER },
        _ => Error::UnknownDevice {
            selector: text.to_owned(),
            origin,
            available: pool.iter().map(|&idx| devices[idx].name.clone()).collect(),
        },
    };
    if text.is_empty() {
        return Err(Error::BadSelector { text: text.to_owned(), origin, reason: "it is empty" });
    }
    if text.bytes().all(|b| b.is_ascii_digit()) {
        let idx = text.parse::<usize>().ok().and_then(|n| pool.get(n));
        return idx.map(|&idx| vec![idx]).ok_or_else(unknown);
    }
    let found: Vec<usize> = if let Some(digits) = text.strip_prefix("uuid:") {
        let uuid = digits.replace('-', "").to_ascii_lowercase();
        if uuid.len() != 32 || !uuid.bytes().all(|b| b.is_ascii_hexdigit()) {
            let reason = "a uuid has 32 hexadecimal digits";
            return Err(Error::BadSelector { text: text.to_owned(), origin, reason });
        }
        pool.iter().copied().filter(|&idx| devices[idx].uuid == uuid).collect()
    } else if let Some(kinds) = kinds(text) {
        pool.iter().copied().filter(|&idx| kinds.contains(&devices[idx].device_type)).collect()
    } else {
        pool.iter().copied().filter(|&idx| is_named(&devices[idx], text)).collect()
    };
    if found.is_empty() { Err(unknown()) } else { Ok(found) }
}

fn is_named(device: &DeviceInfo, part: &str) -> bool {
    let part = part.to_ascii_lowercase();
    // Mesa's CPU driver reports the name of its renderer, `llvmpipe`, and not its own.
    let mesa = if device.name.starts_with("llvmpipe") { "lavapipe" } else { "" };
    let names = [device.name.as_str(), device.driver.name.as_str(), vendor(device.vendor_id), mesa];
    names.iter().any(|name| name.to_ascii_lowercase().contains(&part))
}

/// The names of vendors that the device names do not contain.
fn vendor(id: u32) -> &'static str {
    match id {
        0x10de => "nvidia",
        0x1002 => "amd",
        0x8086 => "intel",
        0x106b => "apple",
        0x13b5 => "arm",
        0x5143 => "qualcomm",
        0x1010 => "imagination",
        0x10005 => "mesa",
        0x1ae0 => "google",
        _ => "",
    }
}

#[cfg(test)]
mod tests;
