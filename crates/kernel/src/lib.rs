//! Compute kernels: from a shader to a pipeline, what it takes, and whether a call fits it.
//!
//! **Is:** translation ([`Module`]), reflection ([`Signature`]), argument checks ([`check()`]), the number of workgroups
//! ([`Groups`]); pipelines built once ([`KernelCache`]), constant memory ([`ConstArray`]) and dispatch ([`Kernel`]).
//! **Is not:** shapes; kernels take whatever the array layer describes as an [`Arg`].
//!
//! Each folder is a subsystem, and its `mod.rs` says which file to read first. A folder uses those above it in this table
//! and none below; `error` names them all:
//!
//! | folder | is | opens a device |
//! |---|---|---|
//! | `signature` | what a kernel takes and needs: parameters, element types, capabilities | no |
//! | `spirv` | SPIR-V of other compilers: parsed, reflected, bounded, validated; what is changed in naga's | no |
//! | `requirements` | a signature compared with a device: limits, capabilities, extensions, subgroups | no |
//! | `sanitize` | checks that are built into a shader, and what they report | no |
//! | `shader` | from source text to SPIR-V and a signature, through naga | no |
//! | `disk_cache` | files that outlive the program, in a folder that others cannot change | no |
//! | `call` | arguments and number of workgroups of one call, checked and packed; constant memory | constant memory only |
//! | `pipeline` | a kernel as Vulkan objects, its builder, its variants, the cache of all of them | yes |
//! | `dispatch` | a checked call recorded into a stream or a graph | yes |
//!
//! **Start here:** [`Source`] and [`Module`] in `shader`, then [`Signature`], then [`Kernel::dispatch`].

mod call;
mod disk_cache;
mod dispatch;
mod error;
mod pipeline;
mod requirements;
mod sanitize;
mod shader;
mod signature;
mod spirv;

pub use self::spirv::{Malformed, Unvalidated};
pub use call::{
    Arg, ArgList, ArgShape, Argument, Arguments, ArrayArg, ArrayShape, AsArg, ConstArray, Groups, Immediate, Items,
    MemoryArg, Mismatch, NamedArg, Packed, check, tuple_text,
};
pub use disk_cache::{CacheCounters, CacheFile, CacheMode, CacheSettings, StoreCounters};
pub use dispatch::DispatchNode;
pub use error::{Error, Hint, Names, Resource, Result};
pub use pipeline::{Kernel, KernelBuilder, KernelCache, KernelLimit, KernelStatistics, WeakKernel};
pub use requirements::{
    Limits, check_bindings, check_capabilities, check_extensions, check_matrices, check_subgroups, check_workgroup,
};
pub use sanitize::{Fault, Finding, MemorySpan, OtherAccess, Sanitize, Sanitized, Site, Subject};
pub use shader::{Bounds, BufferBounds, Fold, Library, Loops, Module, Options, Source, Translated};
pub use signature::{
    Access, Alias, Bool, ByteOrder, Capability, Complex32, Complex64, Constant, ConstantDefault, DType, Element,
    ElementType, Field, FloatAtomic, FloatAtomicOp, Leaf, MatrixRole, MatrixUse, Param, ParamKind, Parameter,
    PushConstants, PushMember, ScalarValue, SharedVar, Signature, Subgroups, assert_field, assert_size,
};
