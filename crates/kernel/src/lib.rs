//! Compute kernels: from a shader to a pipeline, what it takes, and whether a call fits it.
//!
//! **Is:** translation ([`Module`]), reflection ([`Signature`]), argument checks ([`check()`]), launch geometry
//! ([`Groups`]); pipelines made once ([`KernelCache`]), constant memory ([`ConstArray`]) and dispatch ([`Kernel`]).
//! **Is not:** shapes; kernels take whatever the array layer describes as an [`Arg`].
//!
//! **Start here**, the pure half, tested without a device: `source.rs` → `translate.rs`, then `text.rs` (through naga) and
//! `binary.rs` (SPIR-V of others) → `signature.rs` → `check.rs` →
//! `geometry.rs`. Then the half that calls Vulkan: `args.rs` → `cache.rs` → `kernel.rs` → `dispatch.rs` →
//! `graph.rs`.

mod args;
mod binary;
mod bounds;
mod cache;
mod capabilities;
mod capability;
mod check;
mod constant;
mod digest;
mod disk;
mod dispatch;
mod dtype;
mod element_type;
mod error;
mod extensions;
mod fold;
mod geometry;
mod graph;
mod host_struct;
mod indirect;
mod kernel;
mod large_constants;
mod launch;
mod limits;
mod linked;
mod loops;
mod malformed;
mod matrix;
mod mismatch;
mod names;
mod placement;
mod plain_types;
mod pointers;
mod recipe;
mod reflect;
mod sanitize;
mod sanitized;
mod scalar;
mod shared_atomics;
mod signature;
mod sized;
mod source;
mod spirv;
mod stored;
mod subgroups;
mod text;
mod translate;
mod typestr;
mod validator;

pub use args::{Arg, ArgList, Arguments, ArrayArg, AsArg, Immediate, NamedArg};
pub use cache::{KernelBuilder, KernelCache};
pub use capabilities::check_capabilities;
pub use capability::Capability;
pub use check::{ArgShape, Argument, ArrayShape, Packed, check};
pub use constant::ConstArray;
pub use disk::{CacheCounters, CacheMode, CacheSettings, StoreCounters};
pub use dtype::{Bool, Complex32, Complex64, DType, Element};
pub use element_type::{ElementType, Field, Leaf};
pub use error::{Error, Result};
pub use extensions::check_extensions;
pub use fold::Fold;
pub use geometry::Groups;
pub use graph::DispatchNode;
pub use host_struct::{assert_field, assert_size};
pub use kernel::Kernel;
pub use limits::{Limits, check_bindings, check_workgroup};
pub use malformed::Malformed;
pub use matrix::{MatrixRole, MatrixUse, check_matrices};
pub use mismatch::Mismatch;
pub use names::{Hint, Names};
pub use sanitize::{Fault, Finding, MemorySpan, OtherAccess, Sanitize, Sanitized, Site, Subject};
pub use scalar::ScalarValue;
pub use signature::{
    Access, Constant, ConstantDefault, Param, ParamKind, Parameter, PushConstants, PushMember, SharedVar, Signature,
};
pub use source::{Library, Source};
pub use subgroups::{Subgroups, check_subgroups};
pub use translate::{Bounds, BufferBounds, Loops, Module, Options, Translated};
pub use typestr::ByteOrder;
pub use validator::Unvalidated;
