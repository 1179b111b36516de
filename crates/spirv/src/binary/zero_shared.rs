//! Shared memory that the driver zeroes: [`with_zeroed_shared`].
//!
//! GLSL leaves undefined what shared memory holds when a workgroup starts, and a driver may leave there what another kernel
//! had written. Vulkan's null initialisers are for that. WGSL has it by itself: `translate/passes/zero_shared.rs`
//! of `vkarray-shader`. Pure.

use std::collections::HashMap;

use spirv::{Op, StorageClass};

use super::words::{HEADER_WORDS, instructions, new_id, op};

/// The module with a null initialiser on each variable of workgroup memory that has none.
pub fn with_zeroed_shared(words: &[u32]) -> Vec<u32> {
    let mut out = words[..HEADER_WORDS.min(words.len())].to_vec();
    let mut pointees = HashMap::new();
    for instruction in instructions(words) {
        match (op(instruction), instruction) {
            (Some(Op::TypePointer), &[_, id, _, pointee]) => drop(pointees.insert(id, pointee)),
            (Some(Op::Variable), &[first, ty, id, class]) if class == StorageClass::Workgroup as u32 => {
                if let Some(&pointee) = pointees.get(&ty) {
                    let null = new_id(&mut out);
                    out.extend([3 << 16 | Op::ConstantNull as u32, pointee, null]);
                    out.extend([first + (1 << 16), ty, id, class, null]);
                    continue;
                }
            }
            _ => {}
        }
        out.extend(instruction);
    }
    out
}
