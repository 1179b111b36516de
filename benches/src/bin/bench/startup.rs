//! The time to build twenty different kernels in a new process, and to evaluate an expression and a sum for the first time,
//! with an empty cache on disk and with the cache that the first process filled.
//!
//! The drivers' own caches are turned off by environment variables if they have one, so that the first process finds
//! nothing of an earlier bench. The measured process is this program with a hidden flag. It prints its times, and the
//! process that started it prints the figures.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use vkarray::kernel::CacheSettings;
use vkarray::prelude::*;
use vkarray_benches::{ENTRIES, Opening, VARIANTS};

use crate::Bench;

/// The variables that turn off the caches of NVIDIA's and Mesa's drivers.
const DRIVER_CACHES_OFF: [(&str, &str); 2] = [("__GL_SHADER_DISK_CACHE", "0"), ("MESA_SHADER_CACHE_DISABLE", "true")];

/// The times of one process, in seconds.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
struct Start {
    open: f64,
    kernels: f64,
    /// The time until the call that evaluates the expression returns.
    expression: f64,
    sum: f64,
    /// The memory that an open context has on the host and on the device, in MiB.
    host_mib: Option<f64>,
    device_mib: Option<f64>,
}

pub(crate) fn measure(bench: Bench<'_>, device: Option<&str>) -> Result<()> {
    let (mut cold, mut warm) = (Vec::new(), Vec::new());
    for _ in 0..bench.report.runs {
        let folder = tempfile::tempdir()?;
        cold.push(start(device, folder.path())?);
        warm.push(start(device, folder.path())?);
    }
    let seconds = |of: fn(&Start) -> f64, starts: &[Start]| -> Vec<_> {
        starts.iter().map(|start| Duration::from_secs_f64(of(start))).collect()
    };
    bench.report.micros("startup_open", &seconds(|start| start.open, &warm), 1);
    bench.report.micros("startup_20_kernels_cold", &seconds(|start| start.kernels, &cold), 1);
    bench.report.micros("startup_20_kernels_warm", &seconds(|start| start.kernels, &warm), 1);
    bench.report.micros("startup_expression_cold", &seconds(|start| start.expression, &cold), 1);
    bench.report.micros("startup_expression_warm", &seconds(|start| start.expression, &warm), 1);
    bench.report.micros("startup_sum_cold", &seconds(|start| start.sum, &cold), 1);
    bench.report.micros("startup_sum_warm", &seconds(|start| start.sum, &warm), 1);
    bench.report.mebibytes("startup_open_host_memory", warm.iter().filter_map(|start| start.host_mib));
    bench.report.mebibytes("startup_open_device_memory", warm.iter().filter_map(|start| start.device_mib));
    let ratios = cold.iter().zip(&warm).map(|(cold, warm)| cold.kernels / warm.kernels);
    bench.report.figure("startup_ratio", "ratio", ratios);
    Ok(())
}

/// Runs this program again, with `folder` as its kernel cache.
fn start(device: Option<&str>, folder: &Path) -> Result<Start> {
    let program = env::current_exe()?;
    let mut command = Command::new(program);
    command.args(["startup", "--one-start"]).arg(folder).envs(DRIVER_CACHES_OFF).stderr(Stdio::inherit());
    command.args(device.iter().flat_map(|device| ["--device", device]));
    let output = command.output().context("cannot start this program again to measure it")?;
    serde_json::from_slice(&output.stdout).context("the program that was started again has printed no times")
}

/// The work of the measured process.
pub(crate) fn one(device: Option<&str>, folder: &Path) -> Result<()> {
    let mut builder = Context::builder().kernel_cache(CacheSettings::at(folder));
    if let Some(selector) = device {
        builder = builder.device(selector);
    }
    let (ctx, opening) = Opening::of(|| Ok(builder.open()?))?;
    let (open, host_mib) = (opening.time.as_secs_f64(), opening.host_mib);
    let budgets = ctx.device().heap_budgets();
    let device_mib = budgets.map(|heaps| heaps.iter().map(|heap| heap.usage).sum::<u64>() as f64 / 1_048_576.0);
    let begin = Instant::now();
    for variant in VARIANTS {
        let text = variant.shader(1); // The same for all processes, since the cache on disk is measured.
        for entry in ENTRIES {
            ctx.kernel(Source::wgsl(text.clone())).entry(entry).build()?;
        }
    }
    let kernels = begin.elapsed().as_secs_f64();
    let (x, y) = (ctx.full(1024, 1.0_f32)?, ctx.full(1024, 2.0_f32)?);
    let begin = Instant::now();
    let z = ((&x * 0.5 + &y).sqrt() / &x).eval()?;
    let expression = begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    drop((&z * &z).sum(..)?);
    let sum = begin.elapsed().as_secs_f64();
    println!("{}", serde_json::to_string(&Start { open, kernels, expression, sum, host_mib, device_mib })?);
    Ok(())
}
