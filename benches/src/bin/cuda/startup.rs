//! The time to open the device, and to build the kernels of `bench startup` with NVIDIA's compiler of texts (NVRTC).
//!
//! A text has five kernels, which are compiled to the device's code and loaded together. NVRTC is loaded when the program
//! runs; without it the figure is left out.

use std::ffi::{CStr, CString};

use anyhow::Result;
use vkarray_benches::{ENTRIES, Opening, Report, VARIANTS, first_number, timed};

use crate::functions::Compiler;
use crate::gpu::Gpu;

const TEXT: &str = include_str!("startup.cu");

pub(crate) fn measure(gpu: &Gpu, report: Report, opening: Opening) -> Result<()> {
    opening.print(report);
    let compiler = match Compiler::load() {
        Ok(compiler) => compiler,
        Err(error) => {
            report.skipped("startup_20_kernels_cold", &error.to_string());
            return Ok(());
        }
    };
    let (text, names) = (CString::new(TEXT)?, ENTRIES.map(CString::new));
    let names =
        names.iter().map(|name| Ok(name.as_ref().map_err(Clone::clone)?.as_c_str())).collect::<Result<Vec<&CStr>>>()?;
    let mut number = first_number();
    let mut build = || {
        number += 1;
        VARIANTS.into_iter().try_for_each(|variant| {
            let element = CString::new(format!("-DTYPE={}", variant.c))?;
            let function = CString::new(format!("-DFUNCTION={}", variant.function(number)))?;
            gpu.build(&compiler, &text, &[&element, &function], &names)
        })
    };
    report.micros("startup_20_kernels_cold", &report.runs(|| timed(&mut build))?, 1);
    Ok(())
}
