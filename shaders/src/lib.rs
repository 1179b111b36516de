//! WGSL sources as text.
//!
//! The crate has the sample shaders of `samples/`, one kernel a file with its formula in the first comment, and
//! [`library`] and [`channels`], which write the variants of the kernels that the array crate runs, and [`math`], functions
//! for kernels that are generated.
//! It does not compile or run shaders; `vkarray-kernel` does.
//! [`SAMPLES`] lists the samples; `samples/invert.wgsl` is the shortest and the one to read first.

pub mod channels;
pub mod functions;
pub mod library;
pub mod math;

/// Convolves an RGBA image with a filter of up to 31 × 31 taps, through a tile in workgroup memory.
///
/// Entry `convolve`; storage `source`, `target_image`; uniform `weights`; immediates `width`, `height`, `radius_x`,
/// `radius_y`; constants `TILE`, `HALO`. Covers (width, height).
pub const CONVOLVE: &str = include_str!("../samples/convolve.wgsl");

/// Turns an image into its negative, in place.
///
/// Entry `invert`; storage `image`. Covers (number of pixels).
pub const INVERT: &str = include_str!("../samples/invert.wgsl");

/// Draws a Julia set with smooth colours.
///
/// Entry `julia`; storage `image`; immediates `width`, `height`, `c_re`, `c_im`, `scale`; constant `MAX_ITER`.
/// Covers (width, height).
pub const JULIA: &str = include_str!("../samples/julia.wgsl");

/// Computes `out[i] = start + i * step`, for `arange`.
///
/// Entries `ramp_words` and `ramp_floats` (one word per element) and `ramp_pairs` (two words, the low one first), each
/// with the immediates `start` and `step`. Covers (number of elements).
pub const RAMP: &str = include_str!("../library/ramp.wgsl");

/// Computes `y = a * x + y` on vectors.
///
/// Entry `saxpy`; storage `x`, `y`; immediate `a`; constant `WORKGROUP`. Covers (length of `y`).
pub const SAXPY: &str = include_str!("../samples/saxpy.wgsl");

/// Every sample, by the name of its entry point, in reading order.
pub const SAMPLES: &[(&str, &str)] = &[("invert", INVERT), ("saxpy", SAXPY), ("julia", JULIA), ("convolve", CONVOLVE)];

#[cfg(test)]
mod tests;
