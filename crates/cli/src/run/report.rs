//! [`Report`]: the device, the kernel, the bytes moved and the times of a run, as text or as JSON.
//!
//! The report is plain data, filled by `execute.rs`. Bandwidths are in units of 10⁹ bytes per second. The kernel's
//! bandwidth counts an array that the shader reads once, and an array that it writes once more: the least bytes that a
//! kernel must move.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use indicatif::DecimalBytes;
use serde::Serialize;
use vkarray::DType;
use vkarray::kernel::signature::{Param, Signature};

use crate::error::shape_text;

/// The report of one run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) device: String,
    pub(crate) driver: String,
    pub(crate) upload: Copied,
    /// The kernel of the shader, or the kernels of each step of a pipeline.
    pub(crate) steps: Vec<Ran>,
    pub(crate) download: Copied,
    pub(crate) outputs: Vec<Written>,
}

/// A step of a run: a dispatch, or a group of dispatches.
#[derive(Debug, Serialize)]
pub(crate) struct Ran {
    /// How often the kernels ran within each measured time.
    pub(crate) repeat: u32,
    pub(crate) kernels: Vec<Launched>,
    pub(crate) dispatch: Dispatches,
}

/// A kernel and the size of its launch.
#[derive(Debug, Serialize)]
pub(crate) struct Launched {
    pub(crate) kernel: Signature,
    pub(crate) workgroups: [u32; 3],
}

/// Bytes and the time they took.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Copied {
    pub(crate) bytes: u64,
    pub(crate) seconds: f64,
}

/// The clock that timed the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Clock {
    /// The device's own timestamps.
    Device,
    /// The host's clock, around dispatch and wait, if the device has no timestamps.
    Host,
}

/// The times of a step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Dispatches {
    pub(crate) clock: Clock,
    pub(crate) count: usize,
    /// The bytes that one dispatch moves; the module's text says which bytes count.
    pub(crate) bytes: u64,
    pub(crate) min_seconds: f64,
    pub(crate) median_seconds: f64,
    pub(crate) max_seconds: f64,
}

/// A file that was written.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Written {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
}

impl Dispatches {
    /// Sums up one or more times.
    ///
    /// # Panics
    ///
    /// If `times` is empty.
    pub(crate) fn new(clock: Clock, bytes: u64, times: &[Duration]) -> Self {
        let mut seconds: Vec<f64> = times.iter().map(Duration::as_secs_f64).collect();
        seconds.sort_by(f64::total_cmp);
        let count = seconds.len();
        let median_seconds = f64::midpoint(seconds[(count - 1) / 2], seconds[count / 2]);
        Self { clock, count, bytes, min_seconds: seconds[0], median_seconds, max_seconds: seconds[count - 1] }
    }
}

/// The bytes that a dispatch moves if it reads and writes an array of `nbytes` once, as far as the shader does.
pub(crate) fn bytes_accessed(param: &Param, nbytes: u64) -> u64 {
    nbytes * (u64::from(param.reads) + u64::from(param.writes))
}

impl fmt::Display for Copied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}{}", DecimalBytes(self.bytes), time(self.seconds), rate(self.bytes, self.seconds))
    }
}

impl fmt::Display for Dispatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", time(self.median_seconds))?;
        if self.count > 1 {
            let (min, max) = (time(self.min_seconds), time(self.max_seconds));
            write!(f, " (median of {}; min {min}, max {max})", self.count)?;
        }
        f.write_str(&rate(self.bytes, self.median_seconds))?;
        match self.clock {
            Clock::Device => Ok(()),
            Clock::Host => f.write_str(", measured by the host: the device has no timestamps"),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "device    {} ({})", self.device, self.driver)?;
        writeln!(f, "upload    {}", self.upload)?;
        for Ran { repeat, kernels, dispatch } in &self.steps {
            for Launched { kernel, workgroups: [x, y, z] } in kernels {
                writeln!(f, "kernel    {}", kernel.to_string().replace('\n', "\n          "))?;
                writeln!(f, "grid      {x}×{y}×{z} workgroups")?;
            }
            if *repeat > 1 {
                writeln!(f, "repeat    {repeat} times")?;
            }
            writeln!(f, "dispatch  {dispatch}")?;
        }
        writeln!(f, "download  {}", self.download)?;
        for output in &self.outputs {
            let (path, shape) = (output.path.display(), shape_text(&output.shape));
            writeln!(f, "wrote     {path}: {} as {}{shape}", output.name, output.dtype)?;
        }
        Ok(())
    }
}

/// `1.234ms`.
fn time(seconds: f64) -> String {
    format!("{:.3?}", Duration::from_secs_f64(seconds))
}

/// `, 12.3 GB/s`, or an empty text without bytes or time.
fn rate(bytes: u64, seconds: f64) -> String {
    if bytes == 0 || seconds == 0.0 {
        return String::new();
    }
    #[expect(clippy::cast_precision_loss, reason = "three digits are printed")]
    let rate = bytes as f64 / seconds / 1e9;
    // Three significant digits, also of the small rates of a CPU driver.
    let decimals = match rate {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        _ => 4,
    };
    format!(", {rate:.decimals$} GB/s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let cases: &[(&[u64], [u64; 3])] = &[
            (&[7], [7, 7, 7]),
            (&[9, 1], [1, 5, 9]),
            (&[5, 9, 1], [1, 5, 9]),
            (&[1, 100, 3, 5], [1, 4, 100]), // The middle value, not the mean.
        ];
        for (times, [min, median, max]) in cases {
            let times: Vec<Duration> = times.iter().map(|&time| Duration::from_secs(time)).collect();
            let dispatches = Dispatches::new(Clock::Device, 0, &times);
            let found = [dispatches.min_seconds, dispatches.median_seconds, dispatches.max_seconds];
            assert_eq!(found.map(Duration::from_secs_f64), [*min, *median, *max].map(Duration::from_secs), "{times:?}");
        }
    }

    #[test]
    fn rates_keep_three_digits() {
        let cases = [
            (3_050_000_000_000, 1.0, ", 3050 GB/s"),
            (51_230_000_000, 1.0, ", 51.2 GB/s"),
            (2_500_000, 0.001, ", 2.50 GB/s"),
            (1234, 0.01, ", 0.0001 GB/s"),
            (0, 1.0, ""),  // Nothing moved.
            (10, 0.0, ""), // Less than the clock can measure.
        ];
        for (bytes, seconds, expected) in cases {
            assert_eq!(rate(bytes, seconds), expected);
        }
    }

    #[test]
    fn the_text_has_a_line_for_each_step() {
        let launched = |entry: &str, workgroups| {
            let kernel = Signature { entry: entry.to_owned(), workgroup_size: [64, 1, 1], ..Signature::default() };
            Launched { kernel, workgroups }
        };
        let times = [Duration::from_micros(100), Duration::from_micros(300)];
        let dispatch = Dispatches::new(Clock::Device, 8_000_000, &times);
        let report = Report {
            device: "llvmpipe".to_owned(),
            driver: "Mesa".to_owned(),
            upload: Copied { bytes: 4_000_000, seconds: 0.002 },
            steps: vec![
                Ran { repeat: 1, kernels: vec![launched("k", [4, 3, 1])], dispatch },
                Ran { repeat: 9, kernels: vec![launched("l", [2, 1, 1]), launched("m", [1, 1, 1])], dispatch },
            ],
            download: Copied { bytes: 0, seconds: 0.0 },
            outputs: vec![Written { name: "x".to_owned(), path: "x.npy".into(), dtype: DType::F32, shape: vec![2, 3] }],
        };
        assert_eq!(
            report.to_string(),
            "device    llvmpipe (Mesa)\n\
             upload    4.00 MB in 2.000ms, 2.00 GB/s\n\
             kernel    k: workgroup 64×1×1\n\
             grid      4×3×1 workgroups\n\
             dispatch  200.000µs (median of 2; min 100.000µs, max 300.000µs), 40.0 GB/s\n\
             kernel    l: workgroup 64×1×1\n\
             grid      2×1×1 workgroups\n\
             kernel    m: workgroup 64×1×1\n\
             grid      1×1×1 workgroups\n\
             repeat    9 times\n\
             dispatch  200.000µs (median of 2; min 100.000µs, max 300.000µs), 40.0 GB/s\n\
             download  0 B in 0.000ns\n\
             wrote     x.npy: x as f32[2,3]\n"
        );
    }
}
