//! How long three of the kernels take. `cargo bench -- --against FOLDER` compares them with those of another checkout.
//!
//! Sizes are small, so that a comparison takes seconds on a CPU driver too.

use std::process::ExitCode;

use downstream::kernel;
use vkarray::prelude::*;
use vkarray_test::{Bencher, benches};

fn adds_a_multiple(bencher: &Bencher) -> vkarray::Result<()> {
    let n = 1 << 16;
    let saxpy = kernel(bencher, "saxpy")?;
    let (x, y) = (bencher.ones::<f32>(n)?, bencher.zeros::<f32>(n)?);
    bencher.iter(|| saxpy.launch(Groups::covering(n), (&x, &y, 2.0_f32)))
}

fn multiplies_matrices(bencher: &Bencher) -> vkarray::Result<()> {
    let n = 64;
    let matmul = kernel(bencher, "matmul")?;
    let (a, b, c) = (bencher.ones::<f32>([n, n])?, bencher.ones::<f32>([n, n])?, bencher.zeros::<f32>([n, n])?);
    bencher.iter(|| matmul.launch(Groups::covering([n, n]), (&a, &b, &c, n as u32)))
}

fn sums(bencher: &Bencher) -> vkarray::Result<()> {
    let n = 1 << 14;
    let sum = kernel(bencher, "sum")?;
    let (x, partial) = (bencher.ones::<u32>(n)?, bencher.zeros::<u32>(n / 64)?);
    bencher.iter(|| sum.launch(Groups::covering(n), (&x, &partial)))
}

fn main() -> ExitCode {
    benches![adds_a_multiple, multiplies_matrices, sums].run()
}
