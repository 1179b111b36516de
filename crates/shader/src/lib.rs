//! Compute shaders: from WGSL, GLSL or SPIR-V to checked SPIR-V and what a kernel takes and needs.
//!
//! **Is:** translation ([`Module`]), reflection ([`Signature`]), the checks that the sanitizer builds into a shader
//! ([`Sanitize`]), a signature compared with the limits of a device ([`Limits`]).
//! **Is not:** anything that opens a device: the crate `vkarray-kernel` makes pipelines of what this crate returns, and
//! compares a signature with a device. The macro `kernel!` runs this crate while a program is compiled.
//!
//! Each folder is a subsystem, and its `mod.rs` says which file to read first. A folder uses those above it in this table
//! and none below:
//!
//! | folder | is |
//! |---|---|
//! | `names.rs` | names in messages: those that exist, and the one that may have been meant |
//! | `signature` | what a kernel takes and needs: parameters, element types, capabilities |
//! | `error` | what can be wrong with a shader |
//! | `chains.rs` | texts on whose chains of operators a compiler would overflow its stack |
//! | `tool.rs` | a program of another project, run as a process |
//! | `limits.rs` | a signature compared with the limits of a device |
//! | `spirv` | SPIR-V of other compilers: parsed, reflected, bounded, validated; what is changed in naga's |
//! | `glsl` | GLSL, with what it includes, to SPIR-V by Khronos's front end |
//! | `sanitize` | checks that are built into a shader, and what they report |
//! | `translate` | from a source to SPIR-V and a signature; WGSL goes through naga |
//!
//! **Start here:** [`Source`] and [`Module`] in `translate`, then [`Signature`].

mod chains;
mod error;
mod glsl;
mod limits;
mod names;
mod sanitize;
mod signature;
mod spirv;
mod tool;
mod translate;

pub use error::{Error, Malformed, Resource, Result, Uncompiled, Unvalidated};
pub use limits::{Limits, check_bindings, check_workgroup};
pub use names::{Hint, Names};
pub use sanitize::{Fault, Finding, MemorySpan, OtherAccess, Sanitize, Sanitized, Site, SitePlace, Subject};
pub use signature::{
    Access, Alias, BadScalar, Bindings, Bool, ByteOrder, Capability, Complex32, Complex64, Constant, ConstantDefault,
    DType, Element, ElementType, Field, FloatAtomic, FloatAtomicOp, ImageDim, ImageRole, ImageType, Leaf,
    MatrixProduct, MatrixRole, MatrixUse, Param, ParamKind, Parameter, PushConstants, PushMember, ScalarValue,
    SharedVar, Signature, Subgroups, TexelFormat, UnknownDType, assert_field, assert_size,
};
pub use spirv::word_matrices::WordMatrices;
pub use translate::{Bounds, BufferBounds, Fold, Library, Loops, Module, Options, Source, Translated};

/// What serves the kernel crate alone.
#[doc(hidden)]
pub mod internal {
    pub use crate::limits::AXES;
    pub use crate::names::nearest;
    pub use crate::sanitize::{REPORT_BYTES, REPORT_WORDS, place_notes};
    pub use crate::signature::MAX_COUNTED;
    pub use crate::spirv::capabilities::capabilities;
    pub use crate::spirv::extensions::SERVED;
    pub use crate::spirv::validator::Validator;
    pub use crate::spirv::words::{asks_for_length, samples_plainly};
    pub use crate::translate::{Part, Sizes};

    /// The hash of the translator (`build.rs`). Without one, translations are not stored.
    pub const TRANSLATOR: Option<&str> = option_env!("VKARRAY_TRANSLATOR");
}
