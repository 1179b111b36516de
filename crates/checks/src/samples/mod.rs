//! The shaders of `shaders/samples/`, each against a computation on the host that does not follow its code: in double
//! precision, by a closed formula, or in exact integers. Sizes are odd, and lie around the size of a workgroup.
//!
//! `pictures.rs` has the shaders that draw pictures, `filters.rs` the filters, `motion.rs` the steps of simulations,
//! `numbers.rs` the other kernels of one launch, `sums.rs` the reductions, products of matrices, scans, sorts and
//! transforms. Read `motion.rs` first. That each command of `docs/samples.md` succeeds is tested in
//! `crates/cli/tests/cli/guide.rs`.

pub(crate) mod filters;
pub(crate) mod motion;
pub(crate) mod numbers;
pub(crate) mod pictures;
pub(crate) mod sums;

use vkarray::{Context, Kernel, Source};

use crate::Result;

/// The text of the sample `name`.
fn text(name: &str) -> &'static str {
    vkarray_shaders::sample(name).unwrap_or_else(|| panic!("no sample {name}"))
}

/// Builds the sample `name`.
fn sample(ctx: &Context, name: &'static str) -> Result<Kernel> {
    Ok(ctx.kernel(Source::wgsl(text(name)).named(name)).build()?)
}

/// `n` numbers from 0 to 1, determined by the seed.
fn noise(n: usize, seed: u64) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..n).map(|_| random.f32()).collect()
}

/// Compares each number with the expected number at its position; `tolerance` is relative to numbers above one.
fn assert_near(what: &str, found: &[f32], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (&found, &expected)) in found.iter().zip(expected).enumerate() {
        let error = (f64::from(found) - expected).abs();
        // NaN is not near anything.
        assert!(error <= tolerance * expected.abs().max(1.0), "{what}: {found} at {i}, expected {expected}");
    }
}

/// The numbers in double precision.
fn doubles(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(value)).collect()
}

#[cfg(test)]
mod tests {
    /// The sources of this folder.
    const SOURCES: [&str; 5] = [
        include_str!("filters.rs"),
        include_str!("motion.rs"),
        include_str!("numbers.rs"),
        include_str!("pictures.rs"),
        include_str!("sums.rs"),
    ];

    #[test]
    fn every_sample_is_checked() {
        let is_named = |name: &str| SOURCES.iter().any(|source| source.contains(&format!("\"{name}\"")));
        let missing: Vec<_> =
            vkarray_shaders::SAMPLES.iter().map(|(name, _)| *name).filter(|name| !is_named(name)).collect();
        assert_eq!(missing, [] as [&str; 0]);
    }
}
