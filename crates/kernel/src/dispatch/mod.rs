//! A call that `call` found to fit, recorded into a stream or a graph.
//!
//! Everything is checked before anything is recorded, so a refused call changes nothing. What the kernel must wait for
//! follows from how its parameters use their arrays, which the shader itself says.
//!
//! Read `stream.rs` first ([`Kernel::dispatch`](crate::Kernel::dispatch)), then `launch.rs` (what is checked, and what
//! recording takes), then `graph.rs`; `memory.rs` checks the arrays, `preparation.rs` is what comes before a launch, and
//! `image.rs` copies arrays to images and back.

pub(crate) mod graph;
mod image;
mod indirect;
pub(crate) mod launch;
mod memory;
mod preparation;
mod sanitized;
mod stream;

pub use graph::DispatchNode;
