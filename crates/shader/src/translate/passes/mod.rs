//! Changes to naga's form of a shader between parsing and writing, each in a file of its own. Pure.
//!
//! They run in this order: `pointers.rs` while the text is parsed; then, for an entry point whose constants have values,
//! `large_constants.rs`, `binding_arrays.rs`, `loops.rs`, `zero_shared.rs`. With the sanitizer's checks, `lines.rs` comes
//! first, and loops are left to a pass over SPIR-V. `bounds.rs` changes nothing: it finds out whether a device can bound the
//! shader's buffers by itself.

pub(crate) mod binding_arrays;
mod block;
pub(crate) mod bounds;
pub(crate) mod large_constants;
pub(crate) mod lines;
pub(crate) mod loops;
pub(crate) mod pointers;
pub(crate) mod zero_shared;
