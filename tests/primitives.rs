//! Tests of the primitives crate on a device.
//!
//! | file | behaviour |
//! |---|---|
//! | `expressions.rs` | layouts, targets, types and refusals of expressions, compared with the host |
//! | `elementary.rs` | how exact the elementary functions are, and their special values |
//! | `numpy_functions.rs` | functions on arrays, compared with NumPy's recorded results |
//! | `matrices.rs` | products of fractions, `eye` |
//! | `random.rs` | random numbers, compared with the host and with NumPy |
//! | `refusals.rs` | refused calls, long launches, several streams |
//! | `texts.rs` | kernels whose computation is a text in WGSL |
//! | `numpy_expressions.rs` | random expressions and reductions, compared with NumPy's recorded results |
//! | `reductions.rs` | reductions: axes, layouts, types, special values, how exact sums are |
//! | `masks.rs` | elements that a mask selects, of any number and type |
//! | `steady.rs` | what evaluating a known expression allocates |

mod elementary;
mod expressions;
mod masks;
mod matrices;
mod numpy_expressions;
mod numpy_functions;
mod random;
mod reductions;
mod refusals;
mod steady;
mod texts;
