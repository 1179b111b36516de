//! What a module of SPIR-V declares: [`Contents`], tables by id.
//!
//! Filled by `read.rs`, in the module's order, so that whatever an entry names was declared before it: no table holds a
//! circle. Read next: `types.rs` and `constants.rs`, which make sense of it.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use spirv::{Decoration, ExecutionModel, Op, StorageClass};

/// A module's declarations.
#[derive(Clone, Debug, Default)]
pub(super) struct Contents {
    pub(super) capabilities: Vec<u32>,
    /// Extensions, and sets of extended instructions that not every device has.
    pub(super) extensions: Vec<String>,
    pub(super) names: HashMap<u32, String>,
    pub(super) member_names: HashMap<(u32, u32), String>,
    /// By target, member (`None` for the target itself) and decoration; the value is the first operand.
    pub(super) decorations: HashMap<(u32, Option<u32>, u32), u32>,
    pub(super) entry_points: Vec<EntryPoint>,
    /// Workgroup sizes by function.
    pub(super) sizes: HashMap<u32, WorkgroupSize>,
    pub(super) types: HashMap<u32, Type>,
    /// In the order of declaration.
    pub(super) constants: Vec<DeclaredConstant>,
    pub(super) constant_ids: HashSet<u32>,
    pub(super) globals: Vec<Global>,
    pub(super) functions: HashMap<u32, Function>,
}

/// An entry point for whatever stage.
#[derive(Clone, Debug)]
pub(super) struct EntryPoint {
    pub(super) at: usize,
    pub(super) model: Option<ExecutionModel>,
    pub(super) function: u32,
    pub(super) name: String,
    pub(super) interface: Vec<u32>,
}

/// How an entry point declares its workgroup.
#[derive(Clone, Copy, Debug)]
pub(super) enum WorkgroupSize {
    /// `LocalSize`.
    Literal([u32; 3]),
    /// `LocalSizeId`.
    Ids([u32; 3]),
}

/// A type, as far as buffers and constants need it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type {
    Bool,
    Int {
        width: u32,
        is_signed: bool,
    },
    Float {
        width: u32,
        is_brain: bool,
    },
    Vector {
        component: u32,
        len: u32,
    },
    Matrix {
        column: u32,
        columns: u32,
    },
    Array {
        element: u32,
        len: u32,
    },
    RuntimeArray {
        element: u32,
    },
    Struct {
        members: Vec<u32>,
    },
    Pointer {
        class: u32,
        pointee: u32,
    },
    /// The numbers are ids of constants.
    CooperativeMatrix {
        component: u32,
        scope: u32,
        rows: u32,
        columns: u32,
        role: u32,
    },
    /// The numbers are those of the specification.
    Image {
        sampled: u32,
        dim: u32,
        depth: u32,
        is_array: bool,
        is_multisampled: bool,
        /// 1 with a sampler, 2 without one.
        use_: u32,
        format: u32,
    },
    SampledImage {
        image: u32,
    },
    Sampler,
    Other(Op),
}

/// A constant, still without value.
#[derive(Clone, Debug)]
pub(super) struct DeclaredConstant {
    pub(super) at: usize,
    pub(super) id: u32,
    pub(super) ty: u32,
    pub(super) op: Op,
    pub(super) operands: Vec<u32>,
}

/// A variable of the module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Global {
    pub(super) at: usize,
    pub(super) id: u32,
    pub(super) class: Option<StorageClass>,
    pub(super) pointee: u32,
}

/// A function's place.
#[derive(Clone, Debug)]
pub(super) struct Function {
    pub(super) at: usize,
    /// Words from `OpFunction` to behind `OpFunctionEnd`.
    pub(super) words: Range<usize>,
    pub(super) params: Vec<u32>,
    pub(super) calls: Vec<u32>,
}

impl Contents {
    pub(super) fn decoration(&self, id: u32, member: Option<u32>, decoration: Decoration) -> Option<u32> {
        self.decorations.get(&(id, member, decoration as u32)).copied()
    }

    pub(super) fn has(&self, id: u32, member: Option<u32>, decoration: Decoration) -> bool {
        self.decoration(id, member, decoration).is_some()
    }

    /// A name that can be printed and typed; a module may hold anything, or nothing.
    pub(super) fn name(&self, id: u32) -> Option<&str> {
        self.names.get(&id).map(String::as_str).filter(|name| is_usable(name))
    }

    /// As [`Contents::name`], of a struct's member.
    pub(super) fn member_name(&self, id: u32, member: u32) -> Option<&str> {
        self.member_names.get(&(id, member)).map(String::as_str).filter(|name| is_usable(name))
    }
}

fn is_usable(name: &str) -> bool {
    const MOST: usize = 200;
    !name.is_empty() && name.len() <= MOST && !name.chars().any(|c| c.is_control() || c.is_whitespace())
}
