//! One call of a kernel as plain data: its arguments and its number of workgroups, checked against the signature.
//!
//! Nothing here records work, and nothing converts a number or an array: what does not fit is an error. Constant memory
//! ([`ConstArray`]) is the exception to "plain data": it sends its values to the device when a kernel first binds them.
//!
//! Read `shape.rs` first (what a check sees of an argument), then `rules.rs` (what fits one parameter, at little cost for
//! common calls), then `check.rs` (a whole call and every error). `strided.rs` has what arrays with strides need,
//! `image.rs` what images take.

pub(crate) mod args;
pub(crate) mod arguments;
pub(crate) mod check;
pub(crate) mod constant;
pub(crate) mod groups;
pub(crate) mod image;
pub(crate) mod list;
pub(crate) mod memory;
pub(crate) mod packing;
pub(crate) mod rules;
pub(crate) mod shape;
pub(crate) mod strided;

pub use args::{Arg, ArrayArg, AsArg, Immediate, NamedArg};
pub use arguments::{ArgList, Arguments};
pub use check::{Packed, check};
pub use constant::ConstArray;
pub use groups::{Groups, Items};
pub use image::{AddressMode, Filter, Sampled, Sampler, UnknownSampler};
pub use list::{ArrayArgs, AsArray, Reached};
pub use memory::MemoryArg;
pub use shape::{ArgShape, Argument, ArrayShape, tuple_text};
pub use strided::given_numbers;
