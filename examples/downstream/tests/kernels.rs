//! The tests of the twelve kernels: one function for each, and the suite at the end.
//!
//! Each compares with plain code of the host, or with a golden array, on sizes around those of a workgroup.

use std::process::ExitCode;

use downstream::{kernel, planted};
use vkarray::ndarray::{Array1, Array2, ArrayD, Axis};
use vkarray::prelude::*;
use vkarray_test::{Profile, Sequence, Suite, TestContext, Tolerance, assert_close, assert_golden, suite};

type Outcome = vkarray::Result<()>;

/// Sizes: one element, around a workgroup of 64, and a prime.
const SIZES: [usize; 5] = [1, 63, 64, 65, 1009];

/// Numbers that differ from their neighbours.
fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * i + 3 * i) % 101) as f32 - 50.0).collect()
}

fn integers(n: usize) -> Vec<u32> {
    (0..n as u32).map(|i| (i * i + 7 * i) % 19).collect()
}

fn adds_a_multiple(ctx: &TestContext) -> Outcome {
    let saxpy = kernel(ctx, "saxpy")?;
    for n in SIZES {
        let x = ctx.slice_to_device(&numbers(n))?;
        let y = ctx.arange(0.0_f32, n as f32, 1.0)?;
        saxpy.launch(Groups::covering(n), (&x, &y, 2.0_f32))?;
        let expected: Vec<f32> = numbers(n).iter().zip(0..).map(|(x, i)| 2.0 * x + i as f32).collect();
        assert_close!(y, expected, ulp = 1);
    }
    Ok(())
}

fn reverses(ctx: &TestContext) -> Outcome {
    let reverse = kernel(ctx, "reverse")?;
    for n in SIZES {
        let (x, y) = (ctx.slice_to_device(&integers(n))?, ctx.zeros::<u32>(n)?);
        reverse.launch(Groups::covering(n), (&x, &y))?;
        let expected: Vec<u32> = integers(n).into_iter().rev().collect();
        assert_close!(y, expected);
        if planted("leaked-array") {
            std::mem::forget(y);
        }
    }
    Ok(())
}

fn gathers(ctx: &TestContext) -> Outcome {
    let gather = kernel(ctx, "gather")?;
    let x = ctx.slice_to_device(&[10.0_f32, 20.0, 30.0])?;
    let indices = ctx.slice_to_device(&[2_u32, 0, 1, 7, 2])?; // 7 is past the end.
    let y = ctx.zeros::<f32>(5)?;
    gather.launch(Groups::covering(5), (&x, &indices, &y))?;
    assert_close!(y, [30.0, 10.0, 20.0, 30.0, 30.0]);
    Ok(())
}

fn transposes(ctx: &TestContext) -> Outcome {
    let transpose = kernel(ctx, "transpose")?;
    for (rows, columns) in [(1_usize, 1_usize), (8, 8), (7, 9), (40, 33)] {
        let host = Array2::from_shape_vec((rows, columns), numbers(rows * columns)).expect("so many numbers");
        let (x, y) = (ctx.to_device(&host)?, ctx.zeros::<f32>([columns, rows])?);
        let size = [rows as u32, columns as u32];
        transpose.launch(Groups::covering([columns, rows]), (&x, &y, size[0], size[1]))?;
        assert_close!(y, host.t());
    }
    Ok(())
}

fn sums(ctx: &TestContext) -> Outcome {
    let sum = kernel(ctx, "sum")?;
    for n in SIZES {
        let x = ctx.slice_to_device(&integers(n))?;
        let partial = ctx.zeros::<u32>(n.div_ceil(64))?;
        sum.launch(Groups::covering(n), (&x, &partial))?;
        let expected: Vec<u32> = integers(n).chunks(64).map(|part| part.iter().sum()).collect();
        assert_close!(partial, expected);
    }
    Ok(())
}

fn scans(ctx: &TestContext) -> Outcome {
    let scan = kernel(ctx, "scan")?;
    for n in SIZES {
        let (x, y) = (ctx.slice_to_device(&integers(n))?, ctx.zeros::<u32>(n)?);
        scan.launch(Groups::covering(n), (&x, &y))?;
        let mut expected = integers(n);
        expected.chunks_mut(64).for_each(|part| (1..part.len()).for_each(|i| part[i] += part[i - 1]));
        assert_close!(y, expected);
    }
    Ok(())
}

fn computes_exponentials(ctx: &TestContext) -> Outcome {
    let exponential = kernel(ctx, "exp")?;
    let n = ctx.scaled(100_000);
    let host: Vec<f32> = (0..n).map(|i| i as f32 / n as f32 * 40.0 - 20.0).collect();
    let (x, y) = (ctx.slice_to_device(&host)?, ctx.zeros::<f32>(n)?);
    exponential.launch(Groups::covering(n), (&x, &y))?;
    let expected: Vec<f32> = host.iter().map(|x| f64::from(*x).exp() as f32).collect();
    assert_close!(y, expected, ulp = 4);
    Ok(())
}

fn counts(ctx: &TestContext) -> Outcome {
    if planted("silent-test") {
        return Ok(()); // As a test does that looks for a feature and returns.
    }
    let histogram = kernel(ctx, "histogram")?;
    for n in SIZES {
        let (x, bins) = (ctx.slice_to_device(&integers(n))?, ctx.zeros::<u32>(16)?);
        histogram.launch(Groups::covering(n), (&x, &bins))?;
        let mut expected = [0; 16];
        integers(n).into_iter().for_each(|value| expected[value.min(15) as usize] += 1);
        assert_close!(bins, expected);
    }
    Ok(())
}

fn blurs(ctx: &TestContext) -> Outcome {
    let blur = kernel(ctx, "blur")?;
    let host = Array2::from_shape_vec((12, 20), numbers(240)).expect("240 numbers");
    let (x, y) = (ctx.to_device(&host)?, ctx.zeros::<f32>([12, 20])?);
    blur.launch(Groups::covering(240), (&x, &y, 20_u32))?;
    assert_golden!("tests/golden/blurred.npy", y, rtol = 1e-6, atol = 1e-5);
    Ok(())
}

fn draws_the_mandelbrot_set(ctx: &TestContext) -> Outcome {
    let steps = ctx.zeros::<u32>([33, 48])?;
    kernel(ctx, "mandelbrot")?.launch(Groups::covering(33 * 48), (&steps, 48_u32))?;
    assert_golden!("tests/golden/mandelbrot.npy", steps);
    Ok(())
}

fn multiplies_matrices(ctx: &TestContext) -> Outcome {
    let n = 64_usize;
    let a = Array2::from_shape_fn((n, n), |(i, j)| ((i * 5 + j * 3) % 11) as f32);
    let b = Array2::from_shape_fn((n, n), |(i, j)| ((i * 2 + j * 7) % 13) as f32);
    let (x, y, z) = (ctx.to_device(&a)?, ctx.to_device(&b)?, ctx.zeros::<f32>([n, n])?);
    kernel(ctx, "matmul")?.launch(Groups::covering([n, n]), (&x, &y, &z, n as u32))?;
    assert_close!(z, a.dot(&b)); // Small integers: exact.
    Ok(())
}

fn lives(ctx: &TestContext) -> Outcome {
    let (rows, columns) = (17_usize, 23_usize);
    let cells = Array1::from_iter(integers(rows * columns)).mapv(|n| u32::from(n % 3 == 0));
    let next = Array1::zeros(rows * columns);
    let mut generations = Sequence::new([cells.into_dyn(), next.into_dyn()]);
    for generation in 0..6 {
        // The two arrays take turns.
        let (from, to) = (generation % 2, 1 - generation % 2);
        let on_device = move |ctx: &Context, arrays: &[DeviceNDArray<u32>]| {
            let size = (rows as u32, columns as u32);
            let life = kernel(ctx, "life")?;
            Ok(life.launch(Groups::covering([columns, rows]), (&arrays[from], &arrays[to], size.0, size.1))?)
        };
        let on_host = move |arrays: &mut [ArrayD<u32>]| arrays[to] = next_generation(&arrays[from], rows, columns);
        generations = generations.step(format!("generation {generation}"), on_device, on_host);
    }
    generations.compare_with_host(ctx, Tolerance::EXACT).unwrap_or_else(|difference| panic!("{difference}"));
    // On a machine with several devices, another one for all but the first.
    let other = ctx.other_device("0")?;
    generations.compare_with_device(ctx, &other, Tolerance::EXACT).unwrap_or_else(|difference| panic!("{difference}"));
    Ok(())
}

/// The rules in other words: neighbours are counted by moving the whole picture.
fn next_generation(cells: &ArrayD<u32>, rows: usize, columns: usize) -> ArrayD<u32> {
    let cells = cells.to_shape((rows, columns)).expect("so many cells").to_owned();
    let rolled = |x: &Array2<u32>, axis, by: usize| {
        let n = x.len_of(Axis(axis));
        x.select(Axis(axis), &(0..n).map(|i| (i + by) % n).collect::<Vec<_>>())
    };
    let moves = [
        (0, 1),
        (1, 0),
        (1, 1),
        (0, columns - 1),
        (rows - 1, 0),
        (rows - 1, columns - 1),
        (1, columns - 1),
        (rows - 1, 1),
    ];
    let mut neighbours = Array2::<u32>::zeros((rows, columns));
    moves.iter().for_each(|&(down, right)| neighbours += &rolled(&rolled(&cells, 0, down), 1, right));
    let next = Array2::from_shape_fn((rows, columns), |at| {
        u32::from(neighbours[at] == 3 || neighbours[at] == 2 && cells[at] == 1)
    });
    next.into_shape_with_order(rows * columns).expect("so many cells").into_dyn()
}

fn all() -> Suite {
    let suite = suite![
        adds_a_multiple,
        blurs,
        computes_exponentials,
        counts,
        draws_the_mandelbrot_set,
        gathers,
        lives,
        multiplies_matrices,
        reverses,
        scans,
        sums
    ];
    // A test that was left out of the list.
    if planted("unlisted-test") { suite } else { suite.function("transposes", transposes) }
}

fn main() -> ExitCode {
    let expectations = if planted("expired-expectation") { "tests/expired.toml" } else { "tests/expectations.toml" };
    all()
        .profiles([Profile::Plain, Profile::Sanitized, Profile::Limits("mobile".to_owned())])
        .expectations(expectations)
        .min_tests(12)
        .cpu_scale(0.1)
        .run()
}
