//! Which rank owns which elements, and which elements the ranks exchange.

mod axis;
mod divide;
mod error;
mod grid;
mod halo;
mod region;
#[cfg(test)]
mod tests;

pub use axis::Border;
pub use divide::{Decomposition, Overlap};
pub use error::DecompositionError;
pub use halo::{HaloMessage, HaloSchedule};
pub use region::Region;
