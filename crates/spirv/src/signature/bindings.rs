//! How many arrays one parameter takes: [`Bindings`].
//!
//! A shader may declare an array of buffers at one binding, `buffer B { float x[]; } b[4]`. Its parameter takes a list of
//! arrays.

use serde::{Deserialize, Serialize};

/// The most arrays of bindings without a length in one kernel.
pub const MAX_COUNTED: usize = 4;

/// How many arrays a parameter takes.
///
/// ```
/// use vkarray_spirv::Bindings;
///
/// assert_eq!((Bindings::One.count(), Bindings::Fixed(4).count()), (1, 4));
/// assert!(Bindings::Counted(1).is_list() && !Bindings::One.is_list());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Bindings {
    /// One array.
    #[default]
    One,
    /// A list of as many arrays as the shader says: `b[4]`.
    Fixed(u32),
    /// A list of as many arrays as a call gives: `b[]`. This kernel was built for so many; another number of arrays builds
    /// a variant of it.
    Counted(u32),
}

impl Bindings {
    /// The number of arrays.
    pub const fn count(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Fixed(count) | Self::Counted(count) => count,
        }
    }

    /// Whether it takes a list.
    pub const fn is_list(self) -> bool {
        !matches!(self, Self::One)
    }
}
