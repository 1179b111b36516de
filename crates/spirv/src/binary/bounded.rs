//! Bounds for indices that a module computes: [`bounded`].
//!
//! `robustBufferAccess` bounds accesses to buffers only. What an index out of range does in workgroup, private or push
//! memory is undefined, and on a CPU driver it writes the process's own memory. So each computed index there becomes
//! `min(index, length - 1)` of the unsigned index, as naga does it in shaders that are text. Where the device does not
//! bound buffers to the byte, indices into buffers are bounded in the same way, by `OpArrayLength` for those of no fixed
//! length. Where a pointer comes from another instruction than those known here, nothing is added and the module is refused.
//! An index into an array of bindings is bounded always, since no device does, and where the device has it, it is marked as one
//! that may differ between invocations: not to mark such an index is undefined too.
//! Nothing is added to accesses by address, which have no length: only a kernel whose author promises that they are in range is
//! built.
//! Lengths are those that the values of the specialisation constants give. Read next: `constants.rs`.

mod bindings;

use std::collections::{HashMap, HashSet};

use spirv::{Decoration, Op, StorageClass};

use super::DeviceBounds;
use super::binding_arrays::{buffers_in, declares_computed_index, with_index_capabilities};
use super::code::{Code, Length};
use super::constants::Values;
use super::contents::{Contents, Type};
use super::instruction::{HEADER_WORDS, Instruction, MalformedAt, instructions_in};
use super::lines::line_of;
use super::reflect::malformed;
use crate::error::{self, Error};

/// Why a module gets no bounds.
#[derive(Debug)]
enum BoundError {
    Malformed(MalformedAt),
    /// An access that nothing keeps inside its memory.
    Unbounded {
        word: usize,
        op: &'static str,
        what: &'static str,
    },
}

impl From<MalformedAt> for BoundError {
    fn from(fault: MalformedAt) -> Self {
        Self::Malformed(fault)
    }
}

type Bounded<T> = Result<T, BoundError>;

/// Adds bounds to the indices of a module where the device has none.
///
/// # Errors
///
/// [`Error::Malformed`], [`Error::Unbounded`].
pub(super) fn bounded(
    source_name: &str,
    words: &[u32],
    contents: &Contents,
    values: &Values,
    of_device: DeviceBounds,
) -> error::Result<Vec<u32>> {
    with_bounds(words, contents, values, of_device).map_err(|error| match error {
        BoundError::Malformed(fault) => malformed(source_name, fault),
        BoundError::Unbounded { word, op, what } => {
            let line = line_of(words, word).map_or_else(String::new, |line| format!(" of {line}"));
            let (source_name, place) = (source_name.to_owned(), format!("word {word}, Op{op}{line}"));
            Error::Unbounded { source_name, place, what }
        }
    })
}

fn with_bounds(words: &[u32], contents: &Contents, values: &Values, of_device: DeviceBounds) -> Bounded<Vec<u32>> {
    let mut bounder = Bounder {
        contents,
        values,
        of_device,
        value_types: contents.value_types.clone(),
        members: HashMap::new(),
        code: Code::new(words),
        pointers: HashMap::new(),
        non_uniform: HashSet::new(),
        capabilities: Vec::new(),
    };
    let mut front = words[..HEADER_WORDS.min(words.len())].to_vec();
    let mut is_in_functions = false;
    for instruction in instructions_in(words, HEADER_WORDS..words.len()) {
        let instruction = instruction?;
        is_in_functions |= instruction.op() == Op::Function;
        if is_in_functions {
            bounder.take(&instruction)?;
            continue;
        }
        bounder.check_constant(&instruction)?;
        if !promises_no_overflow(&instruction)? && !declares_computed_index(&instruction)? {
            front.extend(instruction.words);
        }
    }
    let Bounder { code, capabilities, .. } = bounder;
    let result = code.assembled(&front);
    Ok(if capabilities.is_empty() { result } else { with_index_capabilities(&result, &capabilities) })
}

/// Whether an instruction promises that the arithmetic of another never overflows. Where it does all the same, the result is
/// undefined, and so is a comparison of it with a length: so the promise is left out, and the arithmetic wraps.
fn promises_no_overflow(instruction: &Instruction<'_>) -> Bounded<bool> {
    let promises = [Decoration::NoSignedWrap as u32, Decoration::NoUnsignedWrap as u32];
    Ok(instruction.op() == Op::Decorate && promises.contains(&instruction.operand(1)?))
}

struct Bounder<'a> {
    contents: &'a Contents,
    values: &'a Values,
    of_device: DeviceBounds,
    /// The type of each value, also of those that were added.
    value_types: HashMap<u32, u32>,
    /// Of a pointer to a member of a struct: the pointer to the struct, and the member's number.
    members: HashMap<u32, (u32, u32)>,
    /// What is added, and the functions with their bounds.
    code: Code,
    /// Storage class and pointee of the types of pointers to buffers that were added.
    pointers: HashMap<u32, (u32, u32)>,
    /// Pointers that may lead to another buffer in each invocation.
    non_uniform: HashSet<u32>,
    capabilities: Vec<spirv::Capability>,
}

impl Bounder<'_> {
    /// Refuses pointers without a pointee: an access through one is undefined behaviour.
    fn check_constant(&self, instruction: &Instruction<'_>) -> Bounded<()> {
        let is_empty = matches!(instruction.op(), Op::Undef | Op::ConstantNull);
        if is_empty && self.pointer(instruction.ty).is_some() && !self.is_address(instruction.ty) {
            return unbounded(instruction, "a pointer to nothing");
        }
        Ok(())
    }

    fn take(&mut self, instruction: &Instruction<'_>) -> Bounded<()> {
        match instruction.op() {
            Op::AccessChain | Op::InBoundsAccessChain => return self.chain(instruction),
            Op::PtrAccessChain | Op::InBoundsPtrAccessChain if self.is_left(instruction.ty) => {}
            Op::VectorExtractDynamic => return self.component(instruction, 1),
            Op::VectorInsertDynamic => return self.component(instruction, 2),
            Op::CooperativeMatrixLoadKHR | Op::CooperativeMatrixStoreKHR => {
                let pointer = self.value_types.get(&instruction.operand(0)?).copied();
                if !(self.of_device.matrices && self.is_left(pointer) || self.is_address(pointer)) {
                    return unbounded(instruction, "a cooperative matrix in memory of which the device bounds none");
                }
            }
            Op::Variable | Op::FunctionParameter | Op::FunctionCall | Op::CopyObject | Op::Select | Op::Phi => {}
            Op::ImageTexelPointer => {} // Bounded by `robustImageAccess`, which every device has.
            _ if self.pointer(instruction.ty).is_some() && !self.is_address(instruction.ty) => {
                return unbounded(
                    instruction,
                    "a pointer that is not made from a variable by constant steps and indices",
                );
            }
            _ => {}
        }
        self.code.functions.extend(instruction.words);
        Ok(())
    }

    /// The storage class and the pointee of a pointer type.
    fn pointer(&self, ty: Option<u32>) -> Option<(u32, u32)> {
        match self.contents.types.get(&ty?) {
            Some(&Type::Pointer { class, pointee }) => Some((class, pointee)),
            Some(_) => None,
            None => self.pointers.get(&ty?).copied(),
        }
    }

    /// Whether accesses through the pointer are left as they are: to the device, or to the author of the kernel.
    fn is_left(&self, pointer: Option<u32>) -> bool {
        let buffers = [StorageClass::StorageBuffer as u32, StorageClass::Uniform as u32];
        let is_of_buffer = self.pointer(pointer).is_some_and(|(class, _)| buffers.contains(&class));
        (self.of_device.buffers && is_of_buffer) || self.is_address(pointer)
    }

    fn is_address(&self, pointer: Option<u32>) -> bool {
        self.pointer(pointer).is_some_and(|(class, _)| class == StorageClass::PhysicalStorageBuffer as u32)
    }

    /// Bounds each computed index on the way from a pointer to a part of what it leads to.
    fn chain(&mut self, instruction: &Instruction<'_>) -> Bounded<()> {
        let (base, indices) = (instruction.operand(0)?, &instruction.operands[1..]);
        let base_type = self.value_types.get(&base).copied();
        if let (Some((class, pointee)), [_, ..]) = (self.pointer(base_type), indices)
            && !self.is_address(base_type)
            && let Some((buffer, length)) = buffers_in(self.contents, pointee)
        {
            return self.pick(instruction, ((base, class), (buffer, length)));
        }
        if let Some(id) = instruction.id
            && self.non_uniform.contains(&base)
        {
            self.mark_non_uniform(id);
        }
        if let (Some(id), [member]) = (instruction.id, indices) {
            self.members.extend(self.values.count(*member).map(|member| (id, (base, member))));
        }
        if self.is_left(base_type) {
            self.code.functions.extend(instruction.words);
            return Ok(());
        }
        let Some((_, mut part)) = self.pointer(base_type) else {
            return unbounded(instruction, "a part of something that is no pointer");
        };
        let mut changed = instruction.words.to_vec();
        let first = changed.len() - indices.len();
        for (position, &index) in indices.iter().enumerate() {
            let (next, length) = match &self.contents.types[&part] {
                Type::Struct { members } => {
                    let member = self.values.count(index).and_then(|number| members.get(number as usize));
                    let Some(&member) = member else {
                        return unbounded(instruction, "a member of a struct that has no such member");
                    };
                    part = member;
                    continue;
                }
                Type::RuntimeArray { element } => (*element, self.runtime_length(position, base, indices)),
                Type::Array { element, len } => (*element, self.values.count(*len).map(Length::Fixed)),
                Type::Vector { component, len } => (*component, Some(Length::Fixed(*len))),
                Type::Matrix { column, columns } => (*column, Some(Length::Fixed(*columns))),
                _ => return unbounded(instruction, "a part of something whose parts have no numbers"),
            };
            let Some(length) = length else { return unbounded(instruction, "an array whose length nothing says") };
            changed[first + position] = self.clamped(instruction, index, length)?;
            part = next;
        }
        self.code.functions.extend(changed);
        Ok(())
    }

    /// `OpArrayLength` takes a pointer to the struct that ends with the array: that of this chain, or of the chain before.
    fn runtime_length(&self, position: usize, base: u32, indices: &[u32]) -> Option<Length> {
        let (pointer, member) = match position {
            0 => *self.members.get(&base)?,
            1 => (base, self.values.count(indices[0])?),
            _ => return None,
        };
        Some(Length::Runtime { pointer, member })
    }

    /// Bounds the index of a vector's component. `place` is that of the index among the operands.
    fn component(&mut self, instruction: &Instruction<'_>, place: usize) -> Bounded<()> {
        let vector = self.contents.type_of(instruction.operand(0)?);
        let Some(&Type::Vector { len, .. }) = vector else {
            return unbounded(instruction, "a component of something that is no vector");
        };
        let index = self.clamped(instruction, instruction.operand(place)?, Length::Fixed(len))?;
        let mut changed = instruction.words.to_vec();
        changed[instruction.words.len() - instruction.operands.len() + place] = index;
        self.code.functions.extend(changed);
        Ok(())
    }

    /// An index that is below the length, in front of the instruction that uses it.
    fn clamped(&mut self, instruction: &Instruction<'_>, index: u32, length: Length) -> Bounded<u32> {
        if let (Length::Fixed(len), Some(index_value)) = (length, self.values.count(index))
            && index_value < len
        {
            return Ok(index);
        }
        // An index that is negative is too large.
        let Some(index) = self.code.as_u32(index, self.contents.type_of(index)) else {
            return unbounded(instruction, "an index that is no integer");
        };
        if matches!(length, Length::Fixed(0)) {
            return unbounded(instruction, "an element of an array that has none");
        }
        let (u32_type, len) = (self.code.u32_type(), self.code.length(length));
        let last = match length {
            Length::Fixed(len) => self.code.number(len - 1),
            Length::Runtime { .. } => {
                let one = self.code.number(1);
                self.code.value(Op::ISub, u32_type, &[len, one])
            }
        };
        let bool_type = self.code.bool_type();
        let is_inside = self.code.value(Op::ULessThan, bool_type, &[index, len]);
        Ok(self.code.value(Op::Select, u32_type, &[is_inside, index, last]))
    }
}

fn unbounded<T>(instruction: &Instruction<'_>, what: &'static str) -> Bounded<T> {
    Err(BoundError::Unbounded { word: instruction.at, op: instruction.name(), what })
}
