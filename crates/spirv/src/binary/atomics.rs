//! The atomic operations in SPIR-V that a device has features of their own for: [`atomics`].
//!
//! One capability stands for 64-bit integers in workgroup memory and in buffers, and likewise for floats, and none for
//! floats that are exchanged; but a device has a feature for each. So the instructions have to be looked at. Pure: words in,
//! capabilities out. Called by `capabilities.rs`.

use std::collections::{BTreeSet, HashMap};

use spirv::{Op, StorageClass};

use crate::binary::words::{instructions, op};
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
    for instruction in instructions(words) {
        match (op(instruction), instruction) {
            (Some(Op::TypeInt), &[_, id, 64, ..]) => drop(numbers.insert(id, Number::WideInteger)),
            (Some(Op::TypeFloat), &[_, id, bits, ..]) => {
                numbers.extend(u8::try_from(bits).ok().map(|bits| (id, Number::Float(bits))));
            }
            (Some(Op::TypePointer), &[_, id, class, pointee]) => {
                let is_shared = class == StorageClass::Workgroup as u32;
                types.extend(numbers.get(&pointee).map(|number| (id, (*number, is_shared))));
            }
            (Some(made), &[_, ty, id, ..]) if makes_pointer(made) => {
                pointers.extend(types.get(&ty).map(|pointee| (id, *pointee)));
            }
            (Some(made), _) => {
                let place = if made == Op::AtomicStore { 1 } else { 3 };
                let pointee = instruction.get(place).and_then(|pointer| pointers.get(pointer));
                found.extend(pointee.and_then(|pointee| needed(made, *pointee)));
            }
            (None, _) => {}
        }
    }
    found
}

fn makes_pointer(op: Op) -> bool {
    matches!(
        op,
        Op::Variable
            | Op::AccessChain
            | Op::InBoundsAccessChain
            | Op::PtrAccessChain
            | Op::CopyObject
            | Op::FunctionParameter
            | Op::FunctionCall
            | Op::Select
            | Op::Phi
    )
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
