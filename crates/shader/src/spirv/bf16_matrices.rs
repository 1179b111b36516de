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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::spirv::validator::Validator;
    use crate::{Module, Options, Source, Unvalidated};

    const TEXT: &str = "enable wgpu_cooperative_matrix;
        @group(0) @binding(0) var<storage, read_write> x: array<vec4<u32>>;
        var<workgroup> tile: array<vec4<u32>, 32>;
        var<workgroup> sums: array<f32, 256>;
        @compute @workgroup_size(32) fn main(@builtin(local_invocation_index) i: u32) {
            tile[i] = x[i];
            workgroupBarrier();
            var sum: coop_mat16x16<f32, C>;
            let a = coopLoadT<coop_mat16x16<f32, A>>(&tile[0], 2u);
            let b = coopLoadT<coop_mat16x16<f32, B>>(&tile[0], 2u);
            sum = coopMultiplyAdd(a, b, sum);
            coopStoreT(sum, &sums[0], 16u);
            workgroupBarrier();
            x[i].x = bitcast<u32>(sums[i]);
        }";

    fn words(bf16_matrices: bool) -> Result<Vec<u32>, crate::Error> {
        let options = Options { driver_zeroes: true, bf16_matrices, ..Options::default() };
        Ok(Module::parse(&Source::wgsl(TEXT))?.translate(None, &BTreeMap::new(), &options)?.spirv)
    }

    #[test]
    fn matrices_of_words_become_matrices_of_bf16_and_nothing_else_does() {
        let words = words(true).unwrap();
        let of = |wanted: Op| instructions(&words).filter(move |instruction| op(instruction) == Some(wanted));
        let floats: Vec<_> = of(Op::TypeFloat).map(|float| float[1..].to_vec()).collect();
        let [[f32, 32], [bf16, 16, 0]] = floats.iter().map(Vec::as_slice).collect::<Vec<_>>()[..] else {
            panic!("{floats:?}")
        };
        let components: Vec<_> = of(Op::TypeCooperativeMatrixKHR).map(|matrix| matrix[2]).collect();
        assert_eq!(components, [*f32, *bf16, *bf16]);
        let uses = instructions(&words).filter(|instruction| instruction[1..].contains(bf16));
        assert!(uses.map(|instruction| op(instruction).unwrap()).eq([
            Op::TypeFloat,
            Op::TypeCooperativeMatrixKHR,
            Op::TypeCooperativeMatrixKHR
        ]));
        assert!(*bf16 < words[BOUND]);
        for capability in [Capability::BFloat16TypeKHR, Capability::BFloat16CooperativeMatrixKHR] {
            assert_eq!(of(Op::Capability).filter(|declared| declared[1] == capability as u32).count(), 1);
        }
        // Capabilities come first, then extensions.
        let head: Vec<_> = instructions(&words).map_while(op).take_while(|&op| op != Op::MemoryModel).collect();
        assert!(
            head.is_sorted_by_key(|&op| [Op::Capability, Op::Extension].iter().position(|&of| of == op).unwrap_or(2))
        );
        assert!(of(Op::Extension).any(|name| bytemuck::cast_slice::<u32, u8>(&name[1..]) == EXTENSION));
    }

    #[test]
    fn rows_of_words_are_twice_as_many_numbers() {
        // 16 rows of two `vec4<u32>` are the array, as `bf16`; as `u32` they would be twice as long.
        assert!(words(true).is_ok());
        assert!(matches!(words(false), Err(crate::Error::Spirv { .. })));
    }

    #[test]
    fn an_installed_validator_takes_them_or_is_said_to_be_too_old() {
        match Validator::of_environment(true).check(&words(true).unwrap()) {
            Ok(()) => {}
            Err(Unvalidated::TooOld { reason, .. }) => {
                let old = [Capability::CooperativeMatrixKHR, Capability::BFloat16TypeKHR].map(|of| of as u32);
                assert!(old.iter().any(|of| reason.contains(&format!("Invalid capability operand: {of}"))), "{reason}");
            }
            Err(problem) => panic!("{problem}"),
        }
    }
}
