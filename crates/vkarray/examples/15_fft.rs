//! A fast Fourier transform: one launch for each stage, there and back.

use std::f32::consts::TAU;

use vkarray::prelude::*;

/// The number of signals, and the length of each: a power of two.
const ROWS: u32 = 3;
const N: u32 = 256;

/// Transforms the rows of an array of (ROWS, N, 2) numbers; the sign is -1 forward and 1 back.
fn transform(fft: &Kernel, x: &DeviceNDArray<f32>, sign: f32) -> vkarray::Result<DeviceNDArray<f32>> {
    let mut now = x.copy()?; // The transform does not change `x`.
    let mut next = x.context().device_array_like(x)?;
    let mut block = 1_u32;
    while block < N {
        let groups = Groups::covering([N as usize / 2, ROWS as usize]);
        fft.launch(groups, (&now, &next, N, ROWS, block, sign))?;
        std::mem::swap(&mut now, &mut next);
        block *= 2;
    }
    Ok(now)
}

fn main() -> vkarray::Result<()> {
    let ctx = Context::open_default()?;
    let source = vkarray::shaders::sample("fft").expect("fft is a sample");
    let fft = ctx.kernel(Source::wgsl(source)).build()?;

    // Three signals of two tones each, as complex numbers whose imaginary part is zero.
    let (rows, n) = (ROWS as usize, N as usize);
    let tones = [(5, 12), (3, 40), (17, 100)];
    let tone = |k: usize, i: usize| (TAU * (k * i) as f32 / n as f32).cos();
    let signal = |row: usize, i: usize| tone(tones[row].0, i) + 0.5 * tone(tones[row].1, i);
    let values: Vec<f32> = (0..rows * n).flat_map(|at| [signal(at / n, at % n), 0.0]).collect();
    let x = ctx.shaped_to_device(&values, [rows, n, 2])?;

    // A tone of height 1 is n / 2 at its number, and zero elsewhere.
    let spectrum = transform(&fft, &x, -1.0)?;
    let host = spectrum.copy_to_host()?;
    for row in 0..rows {
        let found: Vec<usize> = (0..n / 2).filter(|&k| host[[row, k, 0]].hypot(host[[row, k, 1]]) > 1.0).collect();
        println!("row {row}: tones {found:?}");
        assert_eq!(found, [tones[row].0, tones[row].1]);
    }

    // The inverse transform, divided by n, gives the signals again.
    let back = transform(&fft, &spectrum, 1.0)?.to_vec()?;
    let error = back.iter().zip(&values).fold(0.0_f32, |most, (a, b)| most.max((a / n as f32 - b).abs()));
    println!("there and back, the largest error is {error:e}");
    assert!(error < 5e-3); // Vulkan lets sine and cosine err by 2^-11; most devices come below 1e-6.
    Ok(())
}
