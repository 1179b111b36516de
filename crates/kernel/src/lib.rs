//! Compute kernels: from a shader's text to SPIR-V, what it takes, and whether a call fits it.
//!
//! *Is*: translation ([`Module`]), reflection ([`Signature`]), argument checks ([`check()`]), launch geometry ([`Groups`]).
//! *Is not*: memory or arrays; kernels take whatever the array layer describes as an [`ArgShape`].
//!
//! *Start here*: `source.rs` → `translate.rs` → `signature.rs` → `check.rs` → `geometry.rs`. These files are pure: no
//! Vulkan, no device, so all of it is tested on any machine.

mod check;
mod dtype;
mod element_type;
mod error;
mod geometry;
mod limits;
mod mismatch;
mod names;
mod reflect;
mod scalar;
mod signature;
mod source;
mod spirv;
mod translate;

pub use check::{ArgShape, Argument, ArrayShape, Packed, check};
pub use dtype::{Bool, Complex32, DType, Element};
pub use element_type::{ElementType, Field, Leaf};
pub use error::{Error, Result};
pub use geometry::Groups;
pub use limits::{Limits, check_workgroup};
pub use mismatch::Mismatch;
pub use names::{Hint, Names};
pub use scalar::ScalarValue;
pub use signature::{
    Access, Capability, Constant, ConstantDefault, Param, ParamKind, Parameter, PushConstants, PushMember, SharedVar,
    Signature,
};
pub use source::Source;
pub use translate::{Bounds, BufferBounds, Module, Options, Translated};
