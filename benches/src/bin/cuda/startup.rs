//! The time to open the device, and to build the kernels of `bench startup` with NVIDIA's compiler of texts (NVRTC).
//!
//! A text has five kernels, which are compiled to the device's code and loaded together. NVRTC is loaded when the program
//! runs; without it the figure is left out.

use std::ffi::CString;

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
    let text = CString::new(TEXT)?;
    let names = ENTRIES.map(CString::new).into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut number = first_number();
    let mut build = || {
        number += 1;
        VARIANTS.into_iter().try_for_each(|variant| {
            let (element, function) = (variant.c, variant.function(number));
            let options = [format!("-DTYPE={element}"), format!("-DFUNCTION={function}")];
            gpu.build(&compiler, &text, options, &names)
        })
    };
    report.micros("startup_20_kernels_cold", &report.runs(|| timed(&mut build))?, 1);
    Ok(())
}
