//! A module without what one entry point does not use: [`kept`].
//!
//! A module may hold kernels for several devices, and a driver must have every capability that it declares. So where an
//! entry point does not need all of them, the driver is given the module without the other entry points, the functions,
//! variables, types and constants that only they use, and the capabilities and extensions that nothing is left to need.
//! A capability that is not in the table here counts as needed. A module with debug information that refers
//! to functions stays whole. Read next: `uses.rs`, whose order of functions this follows.

use std::collections::{HashMap, HashSet};

use rspirv::dr::Operand;
use spirv::{BuiltIn, Capability, Decoration, Op};

use super::contents::{Contents, EntryPoint, Type};
use super::instruction::{Checked, HEADER_WORDS, Instruction, instruction_at, instructions_in};
use super::uses::callers_first;
use crate::binary::extensions::is_needed as is_extension_needed;
use crate::signature;

/// The module without what the entry point leaves unused; `None` if it declares no capability that is unused.
pub(super) fn kept(words: &[u32], contents: &Contents, entry: &EntryPoint) -> Checked<Option<Vec<u32>>> {
    let mut marks = Marks::new(words)?;
    if marks.has_debug_info {
        return Ok(None);
    }
    for function in callers_first(contents, entry.function)? {
        marks.functions.insert(function.at);
        for instruction in instructions_in(words, function.words.clone()) {
            let instruction = instruction?;
            marks.ids.extend(instruction.id);
            marks.note(&instruction)?;
        }
    }
    marks.roots.extend(entry.interface.iter().copied());
    marks.take_roots(words, contents, entry)?;
    let mut needed = Needed::of(words, &marks)?;
    let mut kept = contents.globals.iter().filter(|global| marks.ids.contains(&global.id));
    needed.has_open_lists = kept.any(|global| matches!(contents.types[&global.pointee], Type::RuntimeArray { .. }));
    let capabilities: Vec<u32> = contents.capabilities.iter().copied().filter(|&number| needed.has(number)).collect();
    if capabilities.len() == contents.capabilities.len() {
        return Ok(None);
    }
    marks.write(words, entry, &capabilities).map(Some)
}

/// What is kept.
#[derive(Default)]
struct Marks {
    /// Where each declaration outside functions begins, by its id.
    declared: HashMap<u32, usize>,
    /// Declarations that are kept, by id; with them every id inside the functions that are kept.
    ids: HashSet<u32>,
    /// Functions that are kept, by where they begin.
    functions: HashSet<usize>,
    /// Ids whose declarations are still to be looked at.
    roots: Vec<u32>,
    has_debug_info: bool,
}

impl Marks {
    fn new(words: &[u32]) -> Checked<Self> {
        let (mut marks, mut is_in_function) = (Self::default(), false);
        for instruction in instructions_in(words, HEADER_WORDS..words.len()) {
            let instruction = instruction?;
            is_in_function |= instruction.op() == Op::Function;
            match instruction.op() {
                Op::FunctionEnd => is_in_function = false,
                _ if is_in_function => {}
                Op::ExtInst => marks.has_debug_info = true,
                // Sets of instructions and texts are always kept.
                Op::ExtInstImport | Op::String => marks.ids.extend(instruction.id),
                _ => marks.declared.extend(instruction.id.map(|id| (id, instruction.at))),
            }
        }
        Ok(marks)
    }

    /// Notes the ids in an instruction. Where ids may follow a mask, or numbers of unknown length, every word counts as one:
    /// a declaration that is kept without need does no harm.
    fn note(&mut self, instruction: &Instruction<'_>) -> Checked<()> {
        if instruction.may_hide_ids() || instruction.op() == Op::Switch {
            self.roots.extend(instruction.ty);
            self.roots.extend(instruction.operands);
            return Ok(());
        }
        self.roots.extend(instruction.ids(|_| false)?);
        Ok(())
    }

    /// Marks the declarations that are reached from the roots.
    fn take_roots(&mut self, words: &[u32], contents: &Contents, entry: &EntryPoint) -> Checked<()> {
        let sizes = contents.decorations.iter().filter(|((_, _, decoration), value)| {
            *decoration == Decoration::BuiltIn as u32 && **value == BuiltIn::WorkgroupSize as u32
        });
        self.roots.extend(sizes.map(|((id, ..), _)| *id));
        for instruction in instructions_in(words, HEADER_WORDS..words.len()) {
            let instruction = instruction?;
            match instruction.op() {
                Op::Function => break,
                Op::ExecutionModeId if instruction.operand(0)? == entry.function => self.note(&instruction)?,
                _ => {}
            }
        }
        while let Some(id) = self.roots.pop() {
            let Some(&at) = self.declared.get(&id) else { continue };
            if self.ids.insert(id)
                && let Some(instruction) = instruction_at(words, at)?
            {
                self.note(&instruction)?;
            }
        }
        Ok(())
    }

    fn write(&self, words: &[u32], entry: &EntryPoint, capabilities: &[u32]) -> Checked<Vec<u32>> {
        let mut result = words[..HEADER_WORDS].to_vec();
        if !capabilities.contains(&(Capability::Shader as u32)) {
            result.extend([2 << 16 | Op::Capability as u32, Capability::Shader as u32]); // Others had implied it.
        }
        let mut is_kept_function = None;
        for instruction in instructions_in(words, HEADER_WORDS..words.len()) {
            let instruction = instruction?;
            if instruction.op() == Op::Function {
                is_kept_function = Some(self.functions.contains(&instruction.at));
            }
            let is_kept = is_kept_function.map_or_else(|| self.keeps(&instruction, entry, capabilities), Ok)?;
            if is_kept {
                result.extend(instruction.words);
            }
            if instruction.op() == Op::FunctionEnd {
                is_kept_function = None;
            }
        }
        Ok(result)
    }

    /// Whether an instruction outside of functions is kept.
    fn keeps(&self, instruction: &Instruction<'_>, entry: &EntryPoint, capabilities: &[u32]) -> Checked<bool> {
        Ok(match instruction.op() {
            Op::Capability => capabilities.contains(&instruction.operand(0)?),
            Op::Extension => is_extension_needed(&instruction.text(0)?, capabilities),
            Op::EntryPoint => instruction.at == entry.at,
            Op::ExecutionMode | Op::ExecutionModeId => instruction.operand(0)? == entry.function,
            Op::Name | Op::MemberName | Op::TypeForwardPointer => self.ids.contains(&instruction.operand(0)?),
            op if op.is_annotation() => self.ids.contains(&instruction.operand(0)?),
            _ => instruction.id.is_none_or(|id| self.ids.contains(&id)),
        })
    }
}

/// What the kept part of a module needs of the device.
#[derive(Default)]
struct Needed {
    /// Capabilities, one of which an instruction asks for.
    by_instructions: HashSet<Capability>,
    has_images: bool,
    /// Widths of integers and of floats.
    integers: HashSet<u32>,
    floats: HashSet<u32>,
    has_subgroups: bool,
    /// Whether an array of bindings has no length. glslang takes an array of addresses in a buffer for one.
    has_open_lists: bool,
}

impl Needed {
    fn of(words: &[u32], marks: &Marks) -> Checked<Self> {
        let mut needed = Self::default();
        let mut is_kept_function = false;
        for instruction in instructions_in(words, HEADER_WORDS..words.len()) {
            let instruction = instruction?;
            if instruction.op() == Op::Function {
                is_kept_function = marks.functions.contains(&instruction.at);
            }
            let is_declared = instruction.id.is_some_and(|id| marks.declared.contains_key(&id));
            let is_kept = match instruction.id {
                Some(id) if is_declared => marks.ids.contains(&id),
                _ => is_kept_function,
            };
            if is_kept {
                needed.take(&instruction)?;
            }
            let is_builtin = instruction.op() == Op::Decorate
                && instruction.operand(1)? == Decoration::BuiltIn as u32
                && marks.ids.contains(&instruction.operand(0)?);
            needed.has_subgroups |= is_builtin && is_of_subgroups(instruction.operand(2)?);
        }
        Ok(needed)
    }

    fn take(&mut self, instruction: &Instruction<'_>) -> Checked<()> {
        match instruction.op() {
            Op::TypeInt => drop(self.integers.insert(instruction.operand(0)?)),
            Op::TypeFloat => drop(self.floats.insert(instruction.operand(0)?)),
            Op::TypeImage => self.has_images = true,
            _ => {}
        }
        self.has_subgroups |= instruction.name().starts_with("GroupNonUniform");
        self.by_instructions.extend(instruction.capabilities());
        Ok(())
    }

    /// Whether a capability is needed; one that is not known here is.
    fn has(&self, number: u32) -> bool {
        use Capability as C;
        let (integer, float) = (|bits| self.integers.contains(&bits), |bits| self.floats.contains(&bits));
        match C::from_u32(number) {
            Some(C::Float16) => float(16),
            Some(C::Float64) => float(64),
            Some(C::Int8) => integer(8),
            Some(C::Int16) => integer(16),
            Some(C::Int64 | C::Int64Atomics) => integer(64),
            Some(C::StorageBuffer8BitAccess | C::UniformAndStorageBuffer8BitAccess | C::StoragePushConstant8) => {
                integer(8) || float(8)
            }
            Some(C::StorageBuffer16BitAccess | C::UniformAndStorageBuffer16BitAccess | C::StoragePushConstant16) => {
                integer(16) || float(16)
            }
            Some(
                named @ (C::AtomicFloat16AddEXT
                | C::AtomicFloat32AddEXT
                | C::AtomicFloat64AddEXT
                | C::AtomicFloat16MinMaxEXT
                | C::AtomicFloat32MinMaxEXT
                | C::AtomicFloat64MinMaxEXT
                | C::DotProduct
                | C::CooperativeMatrixKHR
                | C::RayQueryKHR),
            ) => self.by_instructions.contains(&named),
            Some(C::DotProductInputAll | C::DotProductInput4x8Bit | C::DotProductInput4x8BitPacked) => {
                self.by_instructions.contains(&C::DotProduct)
            }
            Some(named) if is_subgroup_capability(named) => self.has_subgroups,
            Some(C::RuntimeDescriptorArray) => self.has_open_lists,
            Some(
                C::StorageImageExtendedFormats
                | C::StorageImageReadWithoutFormat
                | C::StorageImageWriteWithoutFormat
                | C::ImageBuffer
                | C::SampledBuffer
                | C::ImageQuery
                | C::ImageGatherExtended,
            ) => self.has_images,
            // Of stages whose entry points are gone.
            Some(
                C::Geometry
                | C::Tessellation
                | C::MeshShadingEXT
                | C::InputAttachment
                | C::SampleRateShading
                | C::InterpolationFunction
                | C::ClipDistance
                | C::CullDistance
                | C::DrawParameters
                | C::MultiView,
            ) => false,
            _ => true,
        }
    }
}

/// Whether a built-in value takes a capability of subgroups.
pub(super) fn is_of_subgroups(builtin: u32) -> bool {
    let needed = BuiltIn::from_u32(builtin).map(|builtin| Operand::BuiltIn(builtin).required_capabilities());
    needed.into_iter().flatten().any(is_subgroup_capability)
}

fn is_subgroup_capability(capability: Capability) -> bool {
    signature::Capability::of_spirv(capability as u32).is_some_and(signature::Capability::is_of_subgroups)
}
