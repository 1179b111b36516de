//! Figures, printed as aligned lines or as JSON lines.
//!
//! Each line is printed as soon as its figure is known, so an interrupted bench has printed all figures so far.

use std::time::SystemTime;

use serde::Serialize;
use vkarray::device::DeviceInfo;

use crate::error::Result;
use crate::stdio::print;

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum Unit {
    /// Microseconds.
    #[serde(rename = "us")]
    Micros,
    /// 10⁹ bytes a second.
    #[serde(rename = "GB/s")]
    GigabytesPerSecond,
    /// 2²⁰ bytes.
    #[serde(rename = "MiB")]
    Mebibytes,
    /// One time over another.
    #[serde(rename = "ratio")]
    Ratio,
    /// How many.
    #[serde(rename = "count")]
    Count,
}

impl Unit {
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Micros => "us",
            Self::GigabytesPerSecond => "GB/s",
            Self::Mebibytes => "MiB",
            Self::Ratio => "ratio",
            Self::Count => "count",
        }
    }
}

/// The device and the time of the measurements.
#[derive(Debug, Serialize)]
pub(super) struct Header {
    device: String,
    driver: String,
    vulkan: String,
    version: String,
    date: String,
}

impl Header {
    pub(super) fn new(device: &DeviceInfo) -> Self {
        Self {
            device: device.name.clone(),
            driver: format!("{} {}", device.driver.name, device.driver.info).trim().to_owned(),
            vulkan: device.api_version.to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        }
    }
}

/// A median and the ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Spread {
    value: f64,
    min: f64,
    max: f64,
}

/// What was measured, under a name.
#[derive(Debug, Serialize)]
struct Figure<'a> {
    name: &'a str,
    #[serde(flatten)]
    spread: Spread,
    unit: Unit,
}

#[derive(Debug, Serialize)]
struct Remark<'a> {
    about: &'a str,
    remark: &'a str,
}

#[derive(Debug, Serialize)]
struct Skipped<'a> {
    skipped: &'a str,
    reason: &'a str,
}

/// Prints figures on standard output.
#[derive(Debug)]
pub(super) struct Printer {
    is_json: bool,
}

impl Printer {
    pub(super) fn new(is_json: bool) -> Self {
        Self { is_json }
    }

    pub(super) fn header(&self, header: &Header) -> Result<()> {
        let Header { device, driver, vulkan, version, date } = header;
        self.line(header, || format!("{device}, {driver}, Vulkan {vulkan}; vkarray {version}, {date}"))
    }

    /// Prints the median of some values, at least one, and their extremes.
    pub(super) fn figure(&self, name: &str, unit: Unit, values: impl Iterator<Item = f64>) -> Result<()> {
        let spread = Spread::of(values.collect());
        let Spread { value, min, max } = spread;
        let text = || format!("{name:<32} {value:>12.3} {:<6} ({min:.3} to {max:.3})", unit.text());
        self.line(&Figure { name, spread, unit }, text)
    }

    /// Prints what the next figures are about.
    pub(super) fn remark(&self, about: &str, remark: &str) -> Result<()> {
        self.line(&Remark { about, remark }, || format!("{about}: {remark}"))
    }

    /// Prints that a figure is left out, with the reason.
    pub(super) fn skipped(&self, name: &str, reason: &str) -> Result<()> {
        self.line(&Skipped { skipped: name, reason }, || format!("{name:<32} skipped: {reason}"))
    }

    /// Prints one line: `value` as JSON, or the text.
    pub(super) fn line(&self, value: &impl Serialize, text: impl FnOnce() -> String) -> Result<()> {
        let line = if self.is_json { serde_json::to_string(value).expect("plain numbers and texts") } else { text() };
        print(&format!("{line}\n"))
    }
}

impl Spread {
    /// Of an even number of values the upper of the middle two.
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self { value: values[values.len() / 2], min: values[0], max: values[values.len() - 1] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_the_middle_and_the_ends() {
        // Values, median, least, largest.
        let cases: &[(&[f64], [f64; 3])] = &[
            (&[3.0], [3.0, 3.0, 3.0]),                // One value is all three.
            (&[9.0, 1.0, 5.0], [5.0, 1.0, 9.0]),      // Order does not matter.
            (&[4.0, 1.0, 2.0, 3.0], [3.0, 1.0, 4.0]), // The upper of two in the middle.
            (&[1.0, 1.0, 100.0], [1.0, 1.0, 100.0]),  // One slow run does not move the median.
        ];
        for &(values, [value, min, max]) in cases {
            assert_eq!(Spread::of(values.to_vec()), Spread { value, min, max }, "{values:?}");
        }
    }

    #[test]
    fn a_json_figure_has_its_five_fields() {
        let spread = Spread::of(vec![0.5]);
        let figure = Figure { name: "copy_up", spread, unit: Unit::GigabytesPerSecond };
        let text = serde_json::to_string(&figure).unwrap();
        assert_eq!(text, r#"{"name":"copy_up","value":0.5,"min":0.5,"max":0.5,"unit":"GB/s"}"#);
    }

    #[test]
    fn both_ways_of_printing_name_the_same_unit() {
        for unit in [Unit::Micros, Unit::GigabytesPerSecond, Unit::Mebibytes, Unit::Ratio, Unit::Count] {
            assert_eq!(serde_json::to_value(unit).unwrap(), unit.text());
        }
    }
}
