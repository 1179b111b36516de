//! Whether SPIR-V has atomic operations on 64-bit integers in workgroup memory: [`has_wide_shared_atomics`].
//!
//! One capability stands for them and for those in buffers, but a device has a feature for each; so the instructions
//! have to be looked at. Pure: words in, an answer out.
//! Called where signatures are made, in `shader/text.rs` and `reflect.rs`.

use std::collections::HashSet;

use spirv::{Op, StorageClass};

use crate::spirv::words::{instructions, op};

/// Looks for an atomic operation through a pointer to a 64-bit integer in workgroup memory.
pub(crate) fn has_wide_shared_atomics(words: &[u32]) -> bool {
    let (mut wide, mut types, mut pointers) = (HashSet::new(), HashSet::new(), HashSet::new());
    instructions(words).any(|instruction| {
        match (op(instruction), instruction) {
            (Some(Op::TypeInt), &[_, id, 64, ..]) => drop(wide.insert(id)),
            (Some(Op::TypePointer), &[_, id, class, pointee])
                if class == StorageClass::Workgroup as u32 && wide.contains(&pointee) =>
            {
                types.insert(id);
            }
            (
                Some(Op::Variable | Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject | Op::FunctionParameter),
                &[_, ty, id, ..],
            ) if types.contains(&ty) => drop(pointers.insert(id)),
            (Some(Op::AtomicStore), &[_, pointer, ..]) => return pointers.contains(&pointer),
            (Some(op), &[_, _, _, pointer, ..]) if is_atomic(op) => return pointers.contains(&pointer),
            _ => {}
        }
        false
    })
}

fn is_atomic(op: Op) -> bool {
    (Op::AtomicLoad as u32..=Op::AtomicXor as u32).contains(&(op as u32))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::{Capability, Module, Options, Source};

    #[test]
    fn only_those_in_workgroup_memory_need_the_other_feature() {
        // Declarations, the statement, whether both, one or none of the features is needed.
        let buffer = "@group(0) @binding(0) var<storage, read_write> b: array<atomic<u64>>; var<immediate> n: u64;";
        let shared = "var<workgroup> s: array<atomic<u64>, 4>; var<immediate> n: u64;";
        let narrow = "var<workgroup> t: atomic<u32>; var<immediate> n: u64;";
        let cases = [
            (buffer, "atomicMax(&b[0], n);", [true, false]),
            (shared, "atomicMax(&s[1], n);", [true, true]),
            (narrow, "atomicMax(&t, u32(n));", [false, false]),
        ];
        for (declared, statement, expected) in cases {
            let text = format!("{declared} @compute @workgroup_size(1) fn main() {{ {statement} }}");
            let module = Module::parse(&Source::wgsl(text)).unwrap();
            let by_naga = module.translate(None, &BTreeMap::new(), &Options::default()).unwrap();
            let module = Module::parse(&Source::spirv_words(&by_naga.spirv)).unwrap();
            let by_us = module.translate(None, &BTreeMap::new(), &Options::default()).unwrap();
            for signature in [by_naga.signature, by_us.signature] {
                let needs = [Capability::Int64Atomics, Capability::Int64SharedAtomics];
                assert_eq!(needs.map(|need| signature.capabilities.contains(&need)), expected, "{statement}");
            }
        }
    }
}
