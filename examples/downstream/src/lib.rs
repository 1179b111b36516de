//! Twelve kernels, as a project that uses vkarray has them. `tests/kernels.rs` tests them.
//!
//! So that the tests can be shown to find faults, the environment variable `DOWNSTREAM_FAULT` plants one of [`FAULTS`] in
//! the text of a kernel. A project of your own does not need this.

use vkarray::prelude::*;

/// Faults of kernels: the name, the kernel, and what is replaced by what in its text.
pub const FAULTS: [(&str, &str, &str, &str); 7] = [
    ("wrong-index", "saxpy", "y[i] += a * x[i]", "y[i] += a * x[max(i, 1u) - 1u]"),
    ("out-of-range", "gather", "x[min(indices[at.x], arrayLength(&x) - 1u)]", "x[indices[at.x]]"),
    (
        "race",
        "sum",
        "part[rank] += part[rank + half];\n        }\n        workgroupBarrier();",
        "part[rank] += part[rank + half];\n        }",
    ),
    ("missing-barrier", "transpose", "    workgroupBarrier();\n", ""),
    (
        "divergent-barrier",
        "scan",
        "        workgroupBarrier();\n        sums[rank] += left;",
        "        if rank >= step { workgroupBarrier(); }\n        sums[rank] += left;",
    ),
    ("ulp-drift", "exp", "k = 9.0", "k = 5.0"),
    (
        "stale-golden",
        "blur",
        "0.25 * x[left] + 0.5 * x[at.x] + 0.25 * x[right]",
        "(x[left] + x[at.x] + x[right]) / 3.0",
    ),
];

/// The fault that is planted, if one is.
pub fn planted(fault: &str) -> bool {
    std::env::var("DOWNSTREAM_FAULT").is_ok_and(|planted| planted == fault)
}

/// Builds a kernel of `src/kernels/`.
///
/// # Panics
///
/// If there is no kernel of that name.
pub fn kernel(ctx: &Context, name: &str) -> vkarray::Result<Kernel> {
    macro_rules! text {
        ($($kernel:literal)*) => {
            match name {
                $($kernel => include_str!(concat!("kernels/", $kernel, ".wgsl")),)*
                _ => panic!("there is no kernel `{name}`"),
            }
        };
    }
    let text = text! {
        "blur" "exp" "gather" "histogram" "life" "mandelbrot" "matmul" "reverse" "saxpy" "scan" "sum" "transpose"
    };
    let fault = FAULTS.iter().find(|(fault, of, ..)| *of == name && planted(fault));
    let text = fault.map_or_else(|| text.to_owned(), |(_, _, from, to)| text.replace(from, to));
    let tile = if name == "matmul" && planted("limit-exceeded") { "TILE = 32u" } else { "TILE = 16u" };
    let text = text.replace("TILE = 16u", tile);
    Ok(ctx.kernel(Source::wgsl(text).named(format!("{name}.wgsl"))).build()?)
}
