//! SPIR-V of compute shaders: read, reflected and bounded; what a kernel takes and needs; the checks of the sanitizer.
//!
//! **Is:** signatures ([`Signature`]) and their comparison with the limits of a device ([`Limits`]), modules of SPIR-V from
//! any compiler, and the checks that the sanitizer builds into them ([`Sanitize`]). Words in, words and plain data out.
//! **Is not:** a front end: `vkarray-shader` turns WGSL and GLSL into words and calls this crate, which does not depend on
//! naga; or anything that opens a device. The public names are in `vkarray-shader` too, where programs find them.
//!
//! Each folder is a subsystem, and its `mod.rs` says which file to read first. A folder uses those above it in this table
//! and none below:
//!
//! | folder | is |
//! |---|---|
//! | `names.rs` | names in messages: those that exist, and the one that may have been meant |
//! | `signature` | what a kernel takes and needs: parameters, element types, capabilities |
//! | `error` | what can be wrong with SPIR-V, with a signature and with its limits |
//! | `limits.rs` | a signature compared with the limits of a device |
//! | `tool.rs` | a program of another project, run as a process |
//! | `binary` | modules of SPIR-V: parsed, reflected, bounded, validated |
//! | `sanitize` | checks that are built into a module, and what they report |
//!
//! **Start here:** [`Signature`], then `Binary` in `binary`.

mod binary;
mod error;
mod limits;
mod names;
mod sanitize;
mod signature;
mod tool;

pub use error::{Error, Malformed, Resource, Result, Unvalidated};
pub use limits::{Limits, check_bindings, check_workgroup};
pub use names::{Hint, Names};
pub use sanitize::{Fault, Finding, MemorySpan, OtherAccess, Sanitize, Sanitized, Site, SitePlace, Subject};
pub use signature::{
    Access, Alias, BadScalar, Bindings, Bool, ByteOrder, Capability, Complex32, Complex64, Constant, ConstantDefault,
    DType, Element, ElementType, Field, FloatAtomic, FloatAtomicOp, ImageDim, ImageRole, ImageType, Leaf,
    MatrixProduct, MatrixRole, MatrixUse, Param, ParamKind, Parameter, PushConstants, PushMember, ScalarValue,
    SharedVar, Signature, Subgroups, TexelFormat, UnknownDType, assert_field, assert_size,
};

/// What serves the crates of shaders and of kernels alone.
#[doc(hidden)]
pub mod internal {
    pub use crate::binary::binding_arrays::{non_uniform_capabilities, with_capabilities, with_index_capabilities};
    pub use crate::binary::capabilities::{capabilities, declared};
    pub use crate::binary::extensions::SERVED;
    pub use crate::binary::folded::{counts_workgroups, with_folded_launch};
    pub use crate::binary::lines::line_of;
    pub use crate::binary::sources::without_sources;
    pub use crate::binary::validator::Validator;
    pub use crate::binary::words::{
        BOUND, HEADER_WORDS, asks_for_length, instruction, instructions, new_id, op, samples_plainly, text_words,
        with_annotations,
    };
    pub use crate::binary::zero_shared::with_zeroed_shared;
    pub use crate::binary::{Binary, Check, Chosen, ChosenPart, DeviceBounds, EntryOptions, matrices_of, with_checks};
    pub use crate::limits::AXES;
    pub use crate::names::nearest;
    pub use crate::sanitize::{InstrumentRequest, REPORT_BYTES, REPORT_WORDS, instrument, place_notes};
    pub use crate::signature::{MAX_COUNTED, column_stride, range_of};
    pub use crate::tool::{Answer, Tool, ToolError};
}
