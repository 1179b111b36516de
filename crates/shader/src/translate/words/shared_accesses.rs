//! Orders accesses to shared memory under the Vulkan memory model, which modules with cooperative matrices declare.
//!
//! In that model an access is private to its invocation, whatever barriers there are, unless it says otherwise, and a
//! barrier makes nothing available that it does not say. naga 30 declares the model and says neither. Pure: words in, words
//! out. Called by `translate/emit.rs` only.

use std::collections::{HashMap, HashSet};

use spirv::{Capability, MemoryAccess, MemorySemantics, Op, StorageClass};
use vkarray_spirv::internal::{HEADER_WORDS, declared, instructions, new_id, op};

/// The operand of an access that is not private.
const SHARED: u32 = MemoryAccess::NON_PRIVATE_POINTER.bits();

/// What a barrier says besides its order.
const VISIBLE: u32 = MemorySemantics::MAKE_AVAILABLE.bits() | MemorySemantics::MAKE_VISIBLE.bits();

/// The words with accesses to shared memory that are not private, and barriers that make them available and visible.
pub(crate) fn with_shared_accesses(words: Vec<u32>) -> Vec<u32> {
    if !declared(&words).contains(&(Capability::VulkanMemoryModel as u32)) {
        return words;
    }
    let (pointers, mut semantics) = (shared_pointers(&words), HashMap::new());
    for instruction in instructions(&words) {
        if let Some(id) = semantics_of(instruction) {
            semantics.entry(id).or_insert(0);
        }
    }
    let mut out = words[..HEADER_WORDS].to_vec();
    for instruction in instructions(&words) {
        let start = out.len();
        out.extend_from_slice(instruction);
        // How many words come before an operand for the memory, and which of them is the pointer.
        let access = match op(instruction) {
            Some(Op::Load) => Some((4, 3)),
            Some(Op::Store) => Some((3, 1)),
            Some(Op::CooperativeMatrixLoadKHR) => Some((6, 3)),
            Some(Op::CooperativeMatrixStoreKHR) => Some((5, 1)),
            _ => None,
        };
        if access.is_some_and(|(len, pointer)| instruction.len() == len && pointers.contains(&instruction[pointer])) {
            out.push(SHARED);
            out[start] += 1 << 16;
        }
        if let (Some(Op::Constant), &[first, ty, id, value]) = (op(instruction), instruction)
            && let Some(visible) = semantics.get_mut(&id)
        {
            *visible = new_id(&mut out);
            out.extend([first, ty, *visible, value | VISIBLE]);
        }
        if let Some(id) = semantics_of(instruction)
            && let Some(last) = out.last_mut()
        {
            *last = semantics[&id];
        }
    }
    out
}

/// The constant that says what a barrier orders.
fn semantics_of(instruction: &[u32]) -> Option<u32> {
    let is_barrier = matches!(op(instruction), Some(Op::ControlBarrier | Op::MemoryBarrier));
    instruction.last().copied().filter(|_| is_barrier)
}

/// The ids of all pointers into shared memory.
fn shared_pointers(words: &[u32]) -> HashSet<u32> {
    let (mut types, mut pointers) = (HashSet::new(), HashSet::new());
    for instruction in instructions(words) {
        match (op(instruction), instruction) {
            (Some(Op::TypePointer), &[_, id, class, _]) if class == StorageClass::Workgroup as u32 => {
                types.insert(id);
            }
            (
                Some(Op::Variable | Op::AccessChain | Op::InBoundsAccessChain | Op::FunctionParameter),
                &[_, ty, id, ..],
            ) if types.contains(&ty) => {
                pointers.insert(id);
            }
            _ => {}
        }
    }
    pointers
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{Module, Options, Source};

    #[test]
    fn accesses_to_shared_memory_are_ordered_by_barriers() {
        let text = "enable f16; enable wgpu_cooperative_matrix;
            @group(0) @binding(0) var<storage, read_write> x: array<f16>;
            var<workgroup> tile: array<f16, 256>;
            @compute @workgroup_size(32) fn main(@builtin(local_invocation_index) i: u32) {
                tile[i] = x[i];
                workgroupBarrier();
                var m = coopLoadT<coop_mat16x16<f16, C>>(&tile[0], 16u);
                coopStoreT(m, &tile[0], 16u);
                workgroupBarrier();
                x[i] = tile[i];
            }";
        let module = Module::parse(&Source::wgsl(text)).unwrap();
        let options = Options { driver_zeroes: true, ..Options::default() };
        let words = module.translate(None, &BTreeMap::new(), &options).unwrap().spirv;
        let shared = |wanted: Op| {
            let is_shared = |words: &&[u32]| op(words) == Some(wanted) && words.last() == Some(&SHARED);
            instructions(&words).filter(is_shared).count()
        };
        let accesses = [Op::Load, Op::Store, Op::CooperativeMatrixLoadKHR, Op::CooperativeMatrixStoreKHR].map(shared);
        assert_eq!(accesses, [1, 1, 1, 1]);
        let value =
            |id| instructions(&words).find(|words| words.get(2) == Some(&id) && op(words) == Some(Op::Constant));
        let barriers: Vec<_> = instructions(&words).filter_map(semantics_of).collect();
        assert!(barriers.len() >= 2 && barriers.iter().all(|&id| value(id).unwrap()[3] & VISIBLE == VISIBLE));
    }
}
