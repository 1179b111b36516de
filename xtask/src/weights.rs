//! Filters for the demo: the weights that `shaders/samples/convolve.wgsl` reads from constant memory.
//!
//! A filter is a square of `2 × radius + 1` rows and columns, stored row by row. Its weights sum to one, so that neither
//! brightness nor opacity changes. `demo.rs` uses them.

use std::path::Path;

use anyhow::{Context as _, Result};
use ndarray::Array1;

/// The number of weights in the shader's constant block, 256 × `vec4<f32>`.
const CAPACITY: usize = 1024;

/// A square filter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Weights {
    pub(crate) radius: u8,
    rows: Vec<f32>,
}

impl Weights {
    /// A Gaussian of standard deviation `sigma` pixels, which blurs.
    pub(crate) fn gaussian(radius: u8, sigma: f32) -> Self {
        let bell = |offset: i16| (-f32::from(offset * offset) / (2.0 * sigma * sigma)).exp();
        let offsets = || -i16::from(radius)..=i16::from(radius);
        let rows: Vec<f32> = offsets().flat_map(|y| offsets().map(move |x| bell(y) * bell(x))).collect();
        let sum: f32 = rows.iter().sum();
        Self { radius, rows: rows.into_iter().map(|weight| weight / sum).collect() }
    }

    /// The picture minus its Laplacian, which sharpens.
    pub(crate) fn sharpen() -> Self {
        #[rustfmt::skip]
        let rows = vec![
             0.0, -1.0,  0.0,
            -1.0,  5.0, -1.0,
             0.0, -1.0,  0.0,
        ];
        Self { radius: 1, rows }
    }

    /// Writes the weights to a `.npy` file of f32, shape (1024), padded with zeros.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let mut block = Array1::<f32>::zeros(CAPACITY);
        block.iter_mut().zip(&self.rows).for_each(|(to, from)| *to = *from);
        ndarray_npy::write_npy(path, &block).with_context(|| format!("cannot write {}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gaussian_has_the_published_weights() {
        // The 3 × 3 table for a standard deviation of 1, as textbooks of image processing print it.
        let published = [
            0.075_113_61,
            0.123_841_4,
            0.075_113_61, //
            0.123_841_4,
            0.204_179_96,
            0.123_841_4, //
            0.075_113_61,
            0.123_841_4,
            0.075_113_61,
        ];
        let weights = Weights::gaussian(1, 1.0);
        assert_eq!(weights.rows.len(), published.len());
        for (i, (ours, theirs)) in weights.rows.iter().zip(published).enumerate() {
            assert!((ours - theirs).abs() < 1e-7, "weight {i}: {ours}, published {theirs}");
        }
    }

    #[test]
    fn filters_have_the_size_of_their_radius_and_sum_to_one() {
        for weights in
            [Weights::gaussian(0, 1.0), Weights::gaussian(4, 2.0), Weights::gaussian(15, 5.0), Weights::sharpen()]
        {
            let side = 2 * usize::from(weights.radius) + 1;
            assert_eq!(weights.rows.len(), side * side, "{weights:?}");
            assert!(weights.rows.len() <= CAPACITY, "{weights:?}");
            let sum: f32 = weights.rows.iter().sum();
            assert!((sum - 1.0).abs() < 1e-5, "{sum}: {weights:?}");
        }
    }

    #[test]
    fn the_file_contains_the_weights_followed_by_zeros() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sharpen.npy");
        Weights::sharpen().write(&path).unwrap();
        let block: Array1<f32> = ndarray_npy::read_npy(&path).unwrap();
        assert_eq!(block.len(), 1024);
        assert_eq!(block.as_slice().unwrap()[..9], [0.0, -1.0, 0.0, -1.0, 5.0, -1.0, 0.0, -1.0, 0.0]);
        assert!(block.iter().skip(9).all(|&weight| weight == 0.0));
    }
}
