//! Functions of whole arrays: elementwise expressions, reductions, scans, transposition, sorting, products of matrices.
//!
//! | file | has |
//! |---|---|
//! | `stacked.rs` | arrays that ranks send to each other to combine them |
//! | `elementwise.rs` | [`map`], [`DistArray::assign`] |
//! | `reduce.rs` | sums, extremes and means, of all elements and along axes |
//! | `reproducible.rs` | sums whose bits do not depend on the number of ranks |
//! | `levels.rs` | how such a sum is cut into sums of integers, as plain numbers |
//! | `scan.rs` | running sums along an axis |
//! | `transpose.rs` | arrays with their axes reversed |
//! | `sort.rs`, `cuts.rs` | sorting, and where sorted parts are cut, as plain numbers |
//! | `histogram.rs` | counts of elements in bins |
//! | `product.rs` | products of matrices |

mod cuts;
mod elementwise;
mod histogram;
mod levels;
mod product;
mod reduce;
mod reproducible;
mod scan;
mod sort;
mod stacked;
mod transpose;

pub use elementwise::{Operands, map};
pub use reproducible::Reproducible;
