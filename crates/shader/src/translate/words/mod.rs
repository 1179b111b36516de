//! What is changed in the words that naga writes: functions from words to words, one to a file. Pure.
//!
//! naga 30 does not write all that Vulkan demands and that kernels ask for. `emit.rs` calls these functions, and says in
//! which order. What changes words of any compiler is in `binary` of `vkarray-spirv`.
//!
//! Read `plain_types.rs` first.

pub(super) mod exact_floats;
pub(super) mod not_equal;
pub(super) mod plain_types;
pub(super) mod shared_accesses;
pub(super) mod word_matrices;
