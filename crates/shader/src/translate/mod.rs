//! From the text of a shader, or SPIR-V of another compiler, to SPIR-V for the driver and a [`Signature`](crate::Signature).
//!
//! No device is opened here. Text goes through naga: parsed (`text.rs`), reflected (`reflect.rs`), changed by `passes/`,
//! written (`emit.rs`),
//! and changed as words by `words/`. SPIR-V goes through `vkarray-spirv`.
//!
//! Read `source.rs` first, then `options.rs`, then `module.rs`, which puts the steps together.

mod emit;
mod fold;
mod linked;
pub(crate) mod module;
mod options;
mod passes;
mod reflect;
mod sizes;
mod source;
mod text;
pub(crate) mod validate;
mod words;

pub use fold::{Fold, Part};
pub use module::Module;
pub use options::{Bounds, BufferBounds, Loops, Options, Translated};
pub use sizes::Sizes;
pub use source::{Library, Source};
pub use words::word_matrices::WordMatrices;
