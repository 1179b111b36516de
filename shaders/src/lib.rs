//! WGSL sources as text, and a few samples in GLSL.
//!
//! The crate has the sample shaders of `samples/`, one kernel a file with its formula in the first comment, and
//! [`library`] and [`channels`], which write the variants of the kernels that the array crate runs, and [`math`],
//! functions for kernels that are generated. It does not compile or run shaders; `vkarray-kernel` does. [`SAMPLES`]
//! lists the samples and [`PIPELINES`] files that run several of them; `docs/samples.md` describes them in the same
//! order, with a command for each.

pub mod channels;
pub mod functions;
pub mod library;
pub mod math;

/// Computes `out[i] = start + i * step`, for `arange`.
///
/// Entries `ramp_words` and `ramp_floats` (one word per element) and `ramp_pairs` (two words, the low one first), each
/// with the immediates `start` and `step`. Covers (number of elements).
pub const RAMP: &str = concat!(include_str!("../library/pairs.wgsl"), include_str!("../library/ramp.wgsl"));

/// The names and texts of files in `samples/`.
macro_rules! samples {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../samples/", $name, ".wgsl")))),*]
    };
}

/// Every sample, by the name of its file and of its entry point, in reading order.
pub const SAMPLES: &[(&str, &str)] = samples![
    "saxpy" "invert"
    "mandelbrot" "julia" "ray_march" "convolve" "bilateral" "rotate"
    "heat" "wave" "life" "nbody" "boids" "colour_map" "points"
    "monte_carlo_pi" "black_scholes" "softmax"
    "reduce_1_atomic" "reduce_2_pairs" "reduce_3_halves" "reduce_4_strided" "reduce_5_subgroups"
    "matmul_1_naive" "matmul_2_tiled" "matmul_3_column" "matmul_4_block" "matmul_5_ahead"
    "scan" "histogram" "radix_count" "radix_scatter" "fft"
];

/// Files of the samples in GLSL, by their names in `samples/`: each `.comp` computes what the sample in WGSL of its name does,
/// and `mandelbrot.comp` includes `colour.glsl`.
pub const GLSL_SAMPLES: &[(&str, &str)] = &[
    ("saxpy.comp", include_str!("../samples/saxpy.comp")),
    ("mandelbrot.comp", include_str!("../samples/mandelbrot.comp")),
    ("colour.glsl", include_str!("../samples/colour.glsl")),
    ("histogram.comp", include_str!("../samples/histogram.comp")),
    ("rotate.comp", include_str!("../samples/rotate.comp")),
];

/// Pipelines of samples for `vkarray run`, by the name of the file in `samples/`.
pub const PIPELINES: &[(&str, &str)] =
    &[("heat.toml", include_str!("../samples/heat.toml")), ("denoise.toml", include_str!("../samples/denoise.toml"))];

/// The text of the sample `name`.
///
/// ```
/// let saxpy = vkarray_shaders::sample("saxpy").unwrap();
/// assert!(saxpy.starts_with("// y[i] = a * x[i] + y[i]"));
/// assert_eq!(vkarray_shaders::sample("absent"), None);
/// ```
#[must_use]
pub fn sample(name: &str) -> Option<&'static str> {
    SAMPLES.iter().find(|(sample, _)| *sample == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests;
