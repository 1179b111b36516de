//! What a module of SPIR-V declares: [`Contents`], tables by id.
//!
//! Filled by `read.rs`, in the module's order, so that whatever an entry names was declared before it: no table holds a
//! circle, but for pointers to memory that is reached by its address, which may hold its own address. Read next: `types.rs`
//! and `constants.rs`, which make sense of it.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use spirv::{Decoration, ExecutionModel, Op, StorageClass};

/// A module's declarations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contents {
    pub(crate) capabilities: Vec<u32>,
    /// Extensions, and sets of extended instructions that not every device has.
    pub(crate) extensions: Vec<String>,
    pub(crate) names: HashMap<u32, String>,
    pub(crate) member_names: HashMap<(u32, u32), String>,
    /// By target, member (`None` for the target itself) and decoration; the value is the first operand.
    pub(crate) decorations: HashMap<(u32, Option<u32>, u32), u32>,
    pub(crate) entry_points: Vec<EntryPoint>,
    /// Workgroup sizes by function.
    pub(crate) sizes: HashMap<u32, WorkgroupSize>,
    pub(crate) types: HashMap<u32, Type>,
    /// The type of each value, inside functions too.
    pub(crate) value_types: HashMap<u32, u32>,
    /// In the order of declaration.
    pub(crate) constants: Vec<DeclaredConstant>,
    pub(crate) constant_ids: HashSet<u32>,
    pub(crate) globals: Vec<Global>,
    pub(crate) functions: HashMap<u32, Function>,
}

/// An entry point for whatever stage.
#[derive(Clone, Debug)]
pub(crate) struct EntryPoint {
    pub(crate) at: usize,
    pub(crate) model: Option<ExecutionModel>,
    pub(crate) function: u32,
    pub(crate) name: String,
    pub(crate) interface: Vec<u32>,
}

/// How an entry point declares its workgroup.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WorkgroupSize {
    /// `LocalSize`.
    Literal([u32; 3]),
    /// `LocalSizeId`.
    Ids([u32; 3]),
}

/// A type, as far as buffers and constants need it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type {
    /// A truth value.
    Bool,
    /// An integer of so many bits.
    Int { width: u32, is_signed: bool },
    /// A float of so many bits, IEEE's or a brain float.
    Float { width: u32, is_brain: bool },
    /// A vector of numbers.
    Vector { component: u32, len: u32 },
    /// A matrix, as its columns.
    Matrix { column: u32, columns: u32 },
    /// An array, with the id of the constant that is its length.
    Array { element: u32, len: u32 },
    /// An array that is as long as its memory.
    RuntimeArray { element: u32 },
    /// A struct with the types of its members.
    Struct { members: Vec<u32> },
    /// A pointer into a storage class, by the number of the specification.
    Pointer { class: u32, pointee: u32 },
    /// A cooperative matrix, whose numbers are ids of constants.
    CooperativeMatrix(CooperativeMatrix),
    /// An image. The numbers are those of the specification.
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
    /// An image with its sampler.
    SampledImage { image: u32 },
    /// A sampler.
    Sampler,
    /// Any other type, by the instruction that declares it.
    Other(Op),
}

/// A cooperative matrix: the type of its elements, and its numbers or the ids of the constants that hold them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CooperativeMatrix {
    pub(crate) component: u32,
    pub(crate) scope: u32,
    pub(crate) rows: u32,
    pub(crate) columns: u32,
    pub(crate) role: u32,
}

/// A constant, still without value.
#[derive(Clone, Debug)]
pub(crate) struct DeclaredConstant {
    pub(crate) at: usize,
    pub(crate) id: u32,
    pub(crate) ty: u32,
    pub(crate) op: Op,
    pub(crate) operands: Vec<u32>,
}

/// A variable of the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Global {
    pub(crate) at: usize,
    pub(crate) id: u32,
    pub(crate) class: Option<StorageClass>,
    pub(crate) pointee: u32,
    /// Whether it begins with a value.
    pub(crate) is_initialised: bool,
}

/// A function's place.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) at: usize,
    /// Words from `OpFunction` to behind `OpFunctionEnd`.
    pub(crate) words: Range<usize>,
    pub(crate) params: Vec<u32>,
    pub(crate) calls: Vec<u32>,
}

impl Contents {
    /// The type of a value.
    pub(crate) fn type_of(&self, value: u32) -> Option<&Type> {
        self.types.get(self.value_types.get(&value)?)
    }

    pub(crate) fn decoration(&self, id: u32, member: Option<u32>, decoration: Decoration) -> Option<u32> {
        self.decorations.get(&(id, member, decoration as u32)).copied()
    }

    pub(crate) fn has(&self, id: u32, member: Option<u32>, decoration: Decoration) -> bool {
        self.decoration(id, member, decoration).is_some()
    }

    /// A name that can be printed and typed; a module may hold anything, or nothing.
    pub(crate) fn name(&self, id: u32) -> Option<&str> {
        self.names.get(&id).map(String::as_str).filter(|name| is_usable(name))
    }

    /// As [`Contents::name`], of a struct's member.
    pub(crate) fn member_name(&self, id: u32, member: u32) -> Option<&str> {
        self.member_names.get(&(id, member)).map(String::as_str).filter(|name| is_usable(name))
    }
}

/// Whether it is a pointer to memory that is reached by its address.
pub(crate) fn is_address(ty: &Type) -> bool {
    matches!(ty, Type::Pointer { class, .. } if *class == StorageClass::PhysicalStorageBuffer as u32)
}

fn is_usable(name: &str) -> bool {
    const MOST: usize = 200;
    !name.is_empty() && name.len() <= MOST && !name.chars().any(|c| c.is_control() || c.is_whitespace())
}
