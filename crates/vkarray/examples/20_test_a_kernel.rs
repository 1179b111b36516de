//! Testing a kernel of one's own: against plain code of the host, on odd sizes, with the sanitizer.
//!
//! In a project these functions are `#[test]`s, and `VKARRAY_VALIDATION=1 VKARRAY_DEVICE=cpu cargo test` runs them on the
//! CPU driver, under the validation layer.

use vkarray::kernel;
use vkarray::prelude::*;

/// The mean of each element and its neighbours; an element at an end has one neighbour.
const SMOOTH: &str = "
    @group(0) @binding(0) var<storage, read> x: array<f32>;
    @group(0) @binding(1) var<storage, read_write> y: array<f32>;
    @compute @workgroup_size(64) fn smooth_all(@builtin(global_invocation_id) id: vec3<u32>) {
        let n = arrayLength(&x);
        if id.x >= n { return; }
        let first = max(id.x, 1u) - 1u;
        let last = min(id.x + 1u, n - 1u);
        var sum = 0.0;
        for (var i = first; i <= last; i++) { sum += x[i]; }
        y[id.x] = sum / f32(last - first + 1u);
    }";

/// The mean in other words and in double precision: a test that repeats the kernel line by line repeats its mistakes.
fn smooth_on_host(x: &[f32]) -> Vec<f64> {
    let around = |i: usize| &x[i.saturating_sub(1)..x.len().min(i + 2)];
    let mean = |part: &[f32]| part.iter().map(|v| f64::from(*v)).sum::<f64>() / part.len() as f64;
    (0..x.len()).map(|i| mean(around(i))).collect()
}

/// Runs a kernel on sizes around the size of a workgroup, and compares with the host.
fn check(ctx: &Context, source: &str) -> vkarray::Result<()> {
    let smooth = ctx.kernel(Source::wgsl(source.to_owned()).named("smooth.wgsl")).sanitize(true).build()?;
    for n in [1, 2, 63, 64, 65, 1009] {
        let values: Vec<f32> = (0..n).map(|i| (i * i % 17) as f32).collect(); // The values are asymmetric.
        let x = ctx.slice_to_device(&values)?;
        let y = ctx.full([n], f32::NAN)?; // An element that nothing writes stays NaN, which is not near anything.
        smooth.launch(Groups::covering(n), (&x, &y))?;
        for (i, (found, expected)) in y.to_vec()?.into_iter().zip(smooth_on_host(&values)).enumerate() {
            assert!((f64::from(found) - expected).abs() < 1e-6, "{n} elements: {found} at {i}, expected {expected}");
        }
    }
    Ok(())
}

fn main() -> vkarray::Result<()> {
    let ctx = Context::open_default()?;
    check(&ctx, SMOOTH)?;

    // A test that cannot fail shows nothing: break the kernel, and see the test fail.
    let broken = SMOOTH.replace("if id.x >= n { return; }", "");
    match check(&ctx, &broken) {
        Err(Error::Kernel(kernel::Error::Found(finding))) => println!("found: {finding}"),
        other => panic!("the fault was not found: {other:?}"),
    }
    Ok(())
}
