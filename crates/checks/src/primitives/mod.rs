//! Functions of arrays: expressions, reductions, running sums, sorts, elements by index and by mask, products of
//! matrices, Fourier transforms, random numbers. They are compared with loops over the elements on the host; NumPy's recorded answers are
//! among the project's own tests. Read `indexing.rs` first.

pub(crate) mod elementary;
pub(crate) mod elementwise;
pub(crate) mod fourier;
pub(crate) mod indexing;
pub(crate) mod masks;
pub(crate) mod matrices;
pub(crate) mod random;
pub(crate) mod reductions;
pub(crate) mod scan;
pub(crate) mod sorting;
