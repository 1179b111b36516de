//! The atomic operations in SPIR-V that a device has features of their own for: [`atomics`].
//!
//! One capability stands for 64-bit integers in workgroup memory and in buffers, and likewise for floats, and none for
//! floats that are exchanged; but a device has a feature for each. So the instructions have to be looked at. Pure: words in,
//! capabilities out. Called by `capabilities.rs`.

use std::collections::{BTreeSet, HashMap};

use spirv::{Op, StorageClass};

use crate::signature::{Capability, FloatAtomic, FloatAtomicOp};
use crate::spirv::words::{instructions, op};

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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::spirv::tests::compiled;
    use crate::{Module, Options, Source};

    #[test]
    fn the_memory_and_the_operation_decide() {
        let float = |op, is_shared| Capability::FloatAtomic(FloatAtomic { bits: 32, op, is_shared });
        let int = [Capability::Int64, Capability::Int64Atomics];
        let wide = "@group(0) @binding(0) var<storage, read_write> b: array<atomic<u64>>; var<immediate> n: u64;";
        let shared = "var<workgroup> s: array<atomic<u64>, 4>; var<immediate> n: u64;";
        let narrow = "var<workgroup> t: atomic<u32>; var<immediate> n: u64;";
        let floats = "@group(0) @binding(0) var<storage, read_write> f: array<atomic<f32>>;";
        // Declarations, the statement, and what it needs.
        let cases = [
            (wide, "atomicMax(&b[0], n);", int.to_vec()),
            (shared, "atomicMax(&s[1], n);", [&int[..], &[Capability::Int64SharedAtomics]].concat()),
            (narrow, "atomicMax(&t, u32(n));", vec![Capability::Int64]),
            (floats, "atomicAdd(&f[3], 1.0);", vec![float(FloatAtomicOp::Add, false)]),
            (floats, "atomicSub(&f[1], 1.0);", vec![float(FloatAtomicOp::Add, false)]),
            (floats, "atomicExchange(&f[0], 1.0);", vec![float(FloatAtomicOp::Exchange, false)]),
        ];
        // naga has no floats in shared memory that are changed atomically.
        let module = Module::parse(&Source::spirv(compiled("float_atomics"))).unwrap();
        let signature = module.translate(None, &BTreeMap::new(), &Options::default()).unwrap().signature;
        let both = [float(FloatAtomicOp::Add, false), float(FloatAtomicOp::Add, true)];
        assert_eq!(signature.capabilities, both);
        for (declared, statement, expected) in cases {
            let text = format!("{declared} @compute @workgroup_size(1) fn main() {{ {statement} }}");
            let module = Module::parse(&Source::wgsl(text)).unwrap();
            let by_naga = module.translate(None, &BTreeMap::new(), &Options::default()).unwrap();
            let module = Module::parse(&Source::spirv_words(&by_naga.spirv)).unwrap();
            let by_us = module.translate(None, &BTreeMap::new(), &Options::default()).unwrap();
            assert_eq!(by_us.signature.capabilities, expected, "{statement}");
            // naga declares the capability of addition for each atomic float, needed or not.
            let added = (declared == floats).then(|| float(FloatAtomicOp::Add, false));
            let by_naga: BTreeSet<_> = by_naga.signature.capabilities.into_iter().collect();
            assert_eq!(by_naga, expected.into_iter().chain(added).collect::<BTreeSet<_>>(), "{statement}");
        }
    }
}
