//! Tests of the primitives crate on a device, in addition to the checks of `vkarray check` (`crates/checks`).
//!
//! | file | behaviour |
//! |---|---|
//! | `elementary.rs` | elementary functions of `f64`, compared with recorded results; errors of the other functions |
//! | `expressions.rs` | targets, types and refusals of expressions, compared with the host |
//! | `forms.rs` | many forms of expressions, whose kernels are dropped |
//! | `fourier.rs` | Fourier transforms of all lengths, of views, of several axes |
//! | `histograms.rs` | histograms of every type, number of bins and kind of data |
//! | `indexing.rs` | writes of elements by index, beside other writes |
//! | `long.rs` | functions of long arrays, past 2^32 bytes where the device has the memory |
//! | `numpy_functions.rs` | functions on arrays, compared with NumPy's recorded results |
//! | `products.rs` | products of matrices around the sides of tiles, of all types, of views |
//! | `repeats.rs` | the same bits of floats on every run |
//! | `refusals.rs` | refused calls, long launches, several streams |
//! | `texts.rs` | kernels whose computation is a text in WGSL |
//! | `numpy_expressions.rs` | random expressions and reductions, compared with NumPy's recorded results |
//! | `reductions.rs` | refused reductions, and their streams |
//! | `sorting.rs` | sorts of every type, length and pattern |
//! | `scan_tiles.rs` | running sums without the sums of other workgroups |
//! | `scans.rs` | running sums of every type and length |
//! | `steady.rs` | the allocations of evaluating a known expression |

mod convolutions;
mod elementary;
mod expressions;
mod forms;
mod fourier;
mod histograms;
mod indexing;
mod long;
mod memory;
mod numpy_expressions;
mod numpy_functions;
mod parts;
mod products;
mod reduced_expressions;
mod reductions;
mod refusals;
mod repeats;
mod scan_tiles;
mod scans;
mod sorting;
mod steady;
mod texts;
mod top_k;
