//! The atomic operations in SPIR-V that a device has features of their own for: [`atomics`].
//!
//! One capability stands for 64-bit integers in workgroup memory and in buffers, and likewise for floats, and none for
//! floats that are exchanged; but a device has a feature for each. So the instructions have to be looked at. Pure: words in,
//! capabilities out. Called by `capabilities.rs`.

use std::collections::{BTreeSet, HashMap};

use spirv::{Op, StorageClass};

use crate::binary::instruction::{HEADER_WORDS, instructions_in};
use crate::signature::{Capability, FloatAtomic, FloatAtomicOp};

/// A type of numbers.
#[derive(Clone, Copy)]
enum Number {
    WideInteger,
    Float(u8),
}

/// What the atomic operations need, other than those on 64-bit integers in buffers.
pub(crate) fn atomics(words: &[u32]) -> BTreeSet<Capability> {
    let (mut numbers, mut types, mut pointers) = (HashMap::new(), HashMap::new(), HashMap::new());
    let mut found = BTreeSet::new();
    for instruction in instructions_in(words, HEADER_WORDS..words.len()).map_while(Result::ok) {
        match (instruction.op(), instruction.id, instruction.operands) {
            (Op::TypeInt, Some(id), [64, ..]) => drop(numbers.insert(id, Number::WideInteger)),
            (Op::TypeFloat, Some(id), &[bits, ..]) => {
                numbers.extend(u8::try_from(bits).ok().map(|bits| (id, Number::Float(bits))));
            }
            (Op::TypePointer, Some(id), &[class, pointee]) => {
                let is_shared = class == StorageClass::Workgroup as u32;
                types.extend(numbers.get(&pointee).map(|number| (id, (*number, is_shared))));
            }
            (op, _, operands) => {
                let pointee = operands.first().and_then(|pointer| pointers.get(pointer));
                found.extend(pointee.and_then(|pointee| needed(op, *pointee)));
            }
        }
        pointers.extend(instruction.id.zip(instruction.ty.and_then(|ty| types.get(&ty).copied())));
    }
    found
}

/// What an operation on a number needs.
fn needed(op: Op, (number, is_shared): (Number, bool)) -> Option<Capability> {
    let of_floats = match op {
        Op::AtomicFAddEXT => FloatAtomicOp::Add,
        Op::AtomicFMinEXT | Op::AtomicFMaxEXT => FloatAtomicOp::MinMax,
        _ if (Op::AtomicLoad as u32..=Op::AtomicXor as u32).contains(&(op as u32)) => FloatAtomicOp::Exchange,
        _ => return None,
    };
    match number {
        Number::Float(bits) => Some(Capability::FloatAtomic(FloatAtomic { bits, op: of_floats, is_shared })),
        Number::WideInteger => is_shared.then_some(Capability::Int64SharedAtomics),
    }
}
