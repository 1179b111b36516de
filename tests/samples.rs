//! The shaders of `shaders/samples/`, each against a computation on the host that does not follow its code: in double
//! precision, by a closed formula, or in exact integers. Sizes are odd, and lie around the size of a workgroup.
//!
//! `pictures.rs` has what draws and filters pictures, `motion.rs` the steps of simulations, `numbers.rs` the other kernels
//! of one launch, `sums.rs` the reductions, products of matrices, scans, sorts and transforms. Read `motion.rs` first.
//! `convolve`, `invert` and `julia` are tested through the command, in `crates/cli/tests/cli/device.rs`. That each command
//! of `docs/samples.md` succeeds is tested in `crates/cli/tests/cli/guide.rs`.

mod motion;
mod numbers;
mod pictures;
mod sums;

use vkarray::{Context, Kernel, Source};

/// Builds the sample `name`.
fn sample(ctx: &Context, name: &'static str) -> Kernel {
    let text = vkarray_shaders::sample(name).unwrap_or_else(|| panic!("no sample {name}"));
    ctx.kernel(Source::wgsl(text).named(name)).build().unwrap_or_else(|error| panic!("{error}"))
}

/// `n` numbers from 0 to 1, the same ones for the same seed.
fn noise(n: usize, seed: u64) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..n).map(|_| random.f32()).collect()
}

/// Compares each number with the one in its place; `tolerance` is relative to numbers above one.
fn assert_near(what: &str, found: &[f32], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (&found, &expected)) in found.iter().zip(expected).enumerate() {
        let error = (f64::from(found) - expected).abs();
        // NaN is not near anything.
        assert!(error <= tolerance * expected.abs().max(1.0), "{what}: {found} at {i}, expected {expected}");
    }
}

/// The same numbers in double precision.
fn doubles(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(value)).collect()
}

/// A size of an array, as a push constant.
fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap()
}
