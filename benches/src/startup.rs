//! What opening a device costs, and the twenty kernels whose building is measured: five entry points, each for four types
//! and functions.

use std::fs;
use std::time::{Duration, Instant};

use crate::Report;

/// The shader, with `TYPE` and `FUNCTION` in place of a type and of a function of `a` and `b`: it maps, sums, filters,
/// multiplies and sorts.
const SHADER: &str = include_str!("startup.wgsl");

/// The entry points of each text.
pub const ENTRIES: [&str; 5] = ["map", "sum", "stencil", "product", "sort"];

/// An element type, as WGSL and C name it, and a function.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    wgsl: &'static str,
    /// The type in C.
    pub c: &'static str,
    function: &'static str,
}

/// The types and functions that each entry point is built with.
pub const VARIANTS: [Variant; 4] = [
    Variant { wgsl: "f32", c: "float", function: "a * b + a" },
    Variant { wgsl: "i32", c: "int", function: "a * b - b" },
    Variant { wgsl: "u32", c: "unsigned", function: "(a ^ b) * 3u" },
    Variant { wgsl: "f32", c: "float", function: "max(a, b) - a" },
];

impl Variant {
    /// The text of the function. It differs for each number, so that no cache of a driver has the kernel.
    #[must_use]
    pub fn function(self, number: u32) -> String {
        format!("({}) + TYPE({number})", self.function)
    }

    /// The text of the five kernels in WGSL.
    #[must_use]
    pub fn shader(self, number: u32) -> String {
        SHADER.replace("FUNCTION", &self.function(number)).replace("TYPE", self.wgsl)
    }
}

/// A number for [`Variant::function`] that no earlier run of a program had, most probably. It and the next hundred are below
/// 2^24, so that they differ as `f32` too.
#[must_use]
pub fn first_number() -> u32 {
    std::process::id() % 100_000 * 100
}

/// What the opening of a device has cost.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// The time.
    pub time: Duration,
    /// The MiB by which the memory of this process on the host has grown, on Linux.
    pub host_mib: Option<f64>,
}

impl Opening {
    /// Opens a device.
    ///
    /// # Errors
    ///
    /// The errors that `open` returns.
    pub fn of<T>(open: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<(T, Self)> {
        let (before, begin) = (resident_mib(), Instant::now());
        let opened = open()?;
        let time = begin.elapsed();
        let host_mib = before.and_then(|before| Some(resident_mib()? - before));
        Ok((opened, Self { time, host_mib }))
    }

    /// Prints the time and the memory.
    pub fn print(self, report: Report) {
        report.micros("startup_open", &[self.time], 1);
        report.mebibytes("startup_open_host_memory", self.host_mib.into_iter());
    }
}

/// The memory of this process on the host.
fn resident_mib() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<f64>().ok()? / 1024.0)
}
