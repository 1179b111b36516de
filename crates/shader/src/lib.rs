//! Compute shaders: from WGSL, GLSL or SPIR-V to checked SPIR-V and what a kernel takes and needs.
//!
//! **Is:** translation ([`Module`]), and the public names of `vkarray-spirv`, which reads and changes the words: reflection
//! ([`Signature`]), the checks that the sanitizer builds into a shader ([`Sanitize`]), a signature compared with the limits
//! of a device ([`Limits`]).
//! **Is not:** anything that opens a device: the crate `vkarray-kernel` makes pipelines of what this crate returns, and
//! compares a signature with a device. The macro `kernel!` runs this crate while a program is compiled.
//!
//! Each folder is a subsystem, and its `mod.rs` says which file to read first. A folder uses those above it in this table
//! and none below:
//!
//! | folder | is |
//! |---|---|
//! | `error` | what can be wrong with the text of a shader |
//! | `chains.rs` | texts on whose chains of operators a compiler would overflow its stack |
//! | `glsl` | GLSL, with what it includes, to SPIR-V by Khronos's front end |
//! | `translate` | from a source to SPIR-V and a signature; WGSL goes through naga |
//!
//! **Start here:** [`Source`] and [`Module`] in `translate`, then [`Signature`].

mod chains;
mod error;
mod glsl;
mod translate;

pub use error::{Error, Result, Uncompiled};
pub use translate::{Bounds, BufferBounds, Fold, Library, Loops, Module, Options, Source, Translated, WordMatrices};
pub use vkarray_spirv::{
    Access, Alias, BadScalar, Bindings, Bool, ByteOrder, Capability, Complex32, Complex64, Constant, ConstantDefault,
    DType, Element, ElementType, Error as SpirvError, Fault, Field, Finding, FloatAtomic, FloatAtomicOp, Hint,
    ImageDim, ImageRole, ImageType, Leaf, Limits, Malformed, MatrixProduct, MatrixRole, MatrixUse, MemorySpan, Names,
    OtherAccess, Param, ParamKind, Parameter, PushConstants, PushMember, Resource, Sanitize, Sanitized, ScalarValue,
    SharedVar, Signature, Site, SitePlace, Subgroups, Subject, TexelFormat, UnknownDType, Unvalidated, assert_field,
    assert_size, check_bindings, check_workgroup,
};

/// What serves the kernel crate alone.
#[doc(hidden)]
pub mod internal {
    pub use crate::translate::{Part, Sizes};
    pub use vkarray_spirv::internal::{
        AXES, MAX_COUNTED, REPORT_BYTES, REPORT_WORDS, SERVED, Validator, asks_for_length, capabilities, nearest,
        place_notes, samples_plainly,
    };

    /// The hash of the translator (`build.rs`). Without one, translations are not stored.
    pub const TRANSLATOR: Option<&str> = option_env!("VKARRAY_TRANSLATOR");
}
