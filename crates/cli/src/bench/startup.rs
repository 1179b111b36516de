//! The time to build twenty different kernels in a new process, and to evaluate an expression and a sum for the first time,
//! with an empty cache on disk and with the cache that the first process filled.
//!
//! The drivers' own caches are turned off by environment variables if they have one, so that the first process finds
//! nothing of an earlier bench. The measured process is this program with a hidden flag. It prints its times, and the
//! process that started it prints the figures. The kernels are in `startup.wgsl`, with `TYPE` and `FUNCTION` replaced.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use vkarray::kernel::CacheSettings;
use vkarray::prelude::*;

use super::Bench;
use super::figure::Unit;
use crate::args::BenchArgs;
use crate::error::{Error, Result};
use crate::stdio::print;

/// Kernels that map, sum, filter, multiply and sort.
const SHADER: &str = include_str!("startup.wgsl");

/// The entry points, and the types and functions that each is built with.
const ENTRIES: [&str; 5] = ["map", "sum", "stencil", "product", "sort"];
const VARIANTS: [(&str, &str); 4] =
    [("f32", "a * b + a"), ("i32", "a * b - b"), ("u32", "(a ^ b) * 3u"), ("f32", "max(a, b) - a")];

/// The variables that turn off the caches of NVIDIA's and Mesa's drivers.
const DRIVER_CACHES_OFF: [(&str, &str); 2] = [("__GL_SHADER_DISK_CACHE", "0"), ("MESA_SHADER_CACHE_DISABLE", "true")];

/// The times of one process, in seconds.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
struct Start {
    open: f64,
    kernels: f64,
    /// Until the call that evaluates it returns.
    expression: f64,
    sum: f64,
}

pub(super) fn measure(bench: &Bench<'_>, args: &BenchArgs) -> Result<()> {
    let (mut cold, mut warm) = (Vec::new(), Vec::new());
    for _ in 0..bench.runs {
        let folder = tempfile::tempdir().map_err(|reason| Error::Start { reason })?;
        cold.push(start(args, folder.path())?);
        warm.push(start(args, folder.path())?);
    }
    let seconds = |of: fn(&Start) -> f64, starts: &[Start]| -> Vec<_> {
        starts.iter().map(|start| Duration::from_secs_f64(of(start))).collect()
    };
    bench.micros("startup_open", &seconds(|start| start.open, &warm), 1)?;
    bench.micros("startup_20_kernels_cold", &seconds(|start| start.kernels, &cold), 1)?;
    bench.micros("startup_20_kernels_warm", &seconds(|start| start.kernels, &warm), 1)?;
    bench.micros("startup_expression_cold", &seconds(|start| start.expression, &cold), 1)?;
    bench.micros("startup_expression_warm", &seconds(|start| start.expression, &warm), 1)?;
    bench.micros("startup_sum_cold", &seconds(|start| start.sum, &cold), 1)?;
    bench.micros("startup_sum_warm", &seconds(|start| start.sum, &warm), 1)?;
    let ratios = cold.iter().zip(&warm).map(|(cold, warm)| cold.kernels / warm.kernels);
    bench.printer.figure("startup_ratio", Unit::Ratio, ratios)
}

/// Runs this program again, with `folder` as its kernel cache.
fn start(args: &BenchArgs, folder: &Path) -> Result<Start> {
    let program = env::current_exe().map_err(|reason| Error::Start { reason })?;
    let mut command = Command::new(program);
    command.args(["bench", "startup", "--one-start"]).arg(folder).envs(DRIVER_CACHES_OFF).stderr(Stdio::inherit());
    command.args(args.device.iter().flat_map(|device| ["--device", device]));
    let output = command.output().map_err(|reason| Error::Start { reason })?;
    let start = serde_json::from_slice(&output.stdout).map_err(|error| Error::Start { reason: error.into() })?;
    Ok(start)
}

/// The work of the measured process.
pub(super) fn one(args: &BenchArgs, folder: &Path) -> Result<()> {
    let begin = Instant::now();
    let mut builder = Context::builder().kernel_cache(CacheSettings::at(folder));
    if let Some(selector) = &args.device {
        builder = builder.device(selector);
    }
    let ctx = builder.open()?;
    let open = begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    for (ty, function) in VARIANTS {
        let text = SHADER.replace("TYPE", ty).replace("FUNCTION", function);
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
    let start = serde_json::to_string(&Start { open, kernels, expression, sum }).expect("plain numbers");
    print(&start)
}
