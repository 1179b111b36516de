//! Makes cooperative matrices of `bf16` of those that WGSL loads from words.
//!
//! naga 30 has no `bf16`, and takes the type of what a matrix is loaded from for that of its numbers. So in a kernel for
//! `bf16` only the component type of such matrices is wrong: their numbers are written and read as words, and no other
//! instruction has a type of `bf16`. Pure: words in, words out. Called by `translate/emit.rs` only.

use spirv::{Capability, FPEncoding, Op};

use super::words::{HEADER_WORDS, instructions, op};

/// The word of a header that holds the bound of ids.
const BOUND: usize = 3;

/// The extension of the type, with its zero byte.
const EXTENSION: [u8; 20] = *b"SPV_KHR_bfloat16\0\0\0\0";

/// The words with `bf16` as the component of each cooperative matrix of `u32`.
pub(crate) fn with_bf16_matrices(words: &[u32]) -> Vec<u32> {
    let mut out = words[..HEADER_WORDS].to_vec();
    let (bf16, mut word, mut is_head, mut is_declared) = (words[BOUND], None, true, false);
    out[BOUND] += 1;
    for instruction in instructions(words) {
        if is_head && op(instruction) != Some(Op::Capability) {
            is_head = false;
            for capability in [Capability::BFloat16TypeKHR, Capability::BFloat16CooperativeMatrixKHR] {
                out.extend([2 << 16 | Op::Capability as u32, capability as u32]);
            }
            out.push(6 << 16 | Op::Extension as u32);
            out.extend(EXTENSION.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)));
        }
        match (op(instruction), instruction) {
            (Some(Op::TypeInt), &[_, id, 32, 0]) => word = Some(id),
            (Some(Op::TypeCooperativeMatrixKHR), &[first, id, component, ref rest @ ..]) if Some(component) == word => {
                if !is_declared {
                    is_declared = true;
                    out.extend([4 << 16 | Op::TypeFloat as u32, bf16, 16, FPEncoding::BFloat16KHR as u32]);
                }
                out.extend([first, id, bf16]);
                out.extend(rest);
                continue;
            }
            _ => {}
        }
        out.extend(instruction);
    }
    out
}
