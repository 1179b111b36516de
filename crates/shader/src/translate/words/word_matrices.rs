//! Gives the cooperative matrices that WGSL loads from words their numbers: `f16`, `bf16` or `i8`.
//!
//! naga 30 lacks the last two, and takes the type of what a matrix is loaded from for that of its numbers. So in a kernel
//! for these only the types of such matrices are wrong: their numbers are written and read as words, and no other instruction
//! has their type. A row of 16 `bf16` is one of 32 `i8`, which is the inner axis of Vulkan's matrices of `i8`; their sums are
//! `i32`, where WGSL has `f32`. Pure: words in, words out. Called by `translate/emit.rs` only.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use spirv::{Capability, CooperativeMatrixOperands as Signed, FPEncoding, Op};
use vkarray_spirv::internal::{BOUND, HEADER_WORDS, instructions, op, with_capabilities};

/// What the numbers of a cooperative matrix are that WGSL loads from words (`u32`), the lowest bits first.
///
/// ```
/// assert_eq!(vkarray_shader::Options::default().word_matrices, vkarray_shader::WordMatrices::Words);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum WordMatrices {
    /// The words, of which no device multiplies matrices.
    #[default]
    Words,
    /// `f16`, two in a word. The shader has no `f16` of its own.
    F16,
    /// `bf16`, two in a word.
    Bf16,
    /// `i8`, four in a word. The inner axis has twice as many numbers as WGSL says, and matrices of `f32` are of `i32`.
    I8,
}

/// What says in a multiplication that all of its integers are signed.
const ALL_SIGNED: u32 = Signed::MATRIX_A_SIGNED_COMPONENTS_KHR.bits()
    | Signed::MATRIX_B_SIGNED_COMPONENTS_KHR.bits()
    | Signed::MATRIX_C_SIGNED_COMPONENTS_KHR.bits()
    | Signed::MATRIX_RESULT_SIGNED_COMPONENTS_KHR.bits();

/// The words with these numbers in each cooperative matrix of `u32`, and `i32` in those of `f32` that add up `i8`.
pub(crate) fn with_word_matrices(words: &[u32], numbers: WordMatrices) -> Vec<u32> {
    let [number, inner, new_sum] = [0, 1, 2].map(|id| words[BOUND] + id);
    let sum = instructions(words).find_map(|instruction| match (op(instruction), instruction) {
        (Some(Op::TypeInt), &[_, id, 32, 1]) => Some(id),
        _ => None,
    });
    let sum = sum.unwrap_or(new_sum);
    let (capabilities, types) = declarations(numbers, number, sum);
    let mut out = words[..HEADER_WORDS].to_vec();
    out[BOUND] += 3;
    let (mut has_types, mut has_inner) = (false, false);
    let (mut word, mut float, mut constants) = (None, None, HashMap::new());
    for instruction in instructions(words) {
        let found = op(instruction);
        // Other types are made of these, so what comes before the first of them comes before all uses.
        if !has_types && matches!(found, Some(Op::TypeVoid | Op::TypeBool | Op::TypeInt | Op::TypeFloat)) {
            has_types = true;
            out.extend_from_slice(&types);
        }
        match (found, instruction) {
            (Some(Op::TypeInt), &[_, id, 32, 0]) => word = Some(id),
            (Some(Op::TypeFloat), &[_, id, 32]) => float = Some(id),
            (Some(Op::Constant), &[_, _, id, value]) => drop(constants.insert(id, value)),
            (Some(Op::TypeInt), &[_, id, ..]) if id == sum && numbers == WordMatrices::I8 => continue,
            (Some(Op::TypeCooperativeMatrixKHR), &[first, id, component, scope, rows, columns, role]) => {
                let is_word = Some(component) == word;
                let (mut component, mut sizes) = (if is_word { number } else { component }, [rows, columns]);
                if let (WordMatrices::I8, Some(ty)) = (numbers, word) {
                    if !has_inner {
                        has_inner = true;
                        out.extend([4 << 16 | Op::Constant as u32, ty, inner, 32]);
                    }
                    match constants.get(&role) {
                        Some(0) if is_word => sizes[1] = inner,
                        Some(1) if is_word => sizes[0] = inner,
                        _ if Some(component) == float => component = sum,
                        _ => {}
                    }
                }
                out.extend([first, id, component, scope, sizes[0], sizes[1], role]);
                continue;
            }
            (Some(Op::CooperativeMatrixMulAddKHR), &[first, ref rest @ ..]) if numbers == WordMatrices::I8 => {
                out.push(first + (1 << 16));
                out.extend_from_slice(rest);
                out.push(ALL_SIGNED);
                continue;
            }
            _ => {}
        }
        out.extend_from_slice(instruction);
    }
    let extension = (numbers == WordMatrices::Bf16).then_some("SPV_KHR_bfloat16");
    with_capabilities(&out, capabilities, extension)
}

/// The capabilities of a type, and its declaration; with `i8` that of the type of sums, too.
fn declarations(numbers: WordMatrices, number: u32, sum: u32) -> (&'static [Capability], Vec<u32>) {
    let int = |id, bits| [4 << 16 | Op::TypeInt as u32, id, bits, 1];
    match numbers {
        WordMatrices::Words => (&[], Vec::new()),
        WordMatrices::F16 => (&[Capability::Float16], vec![3 << 16 | Op::TypeFloat as u32, number, 16]),
        WordMatrices::I8 => (&[Capability::Int8], [int(number, 8), int(sum, 32)].concat()),
        WordMatrices::Bf16 => (
            &[Capability::BFloat16TypeKHR, Capability::BFloat16CooperativeMatrixKHR],
            vec![4 << 16 | Op::TypeFloat as u32, number, 16, FPEncoding::BFloat16KHR as u32],
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{Module, Options, Source, Unvalidated};
    use vkarray_spirv::internal::{Validator, text_words};

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

    fn words(word_matrices: WordMatrices) -> Result<Vec<u32>, crate::Error> {
        let options = Options { driver_zeroes: true, word_matrices, ..Options::default() };
        Ok(Module::parse(&Source::wgsl(TEXT))?.translate(None, &BTreeMap::new(), &options)?.spirv)
    }

    #[test]
    fn matrices_of_words_become_matrices_of_bf16_and_nothing_else_does() {
        let words = words(WordMatrices::Bf16).unwrap();
        let of = |wanted: Op| instructions(&words).filter(move |instruction| op(instruction) == Some(wanted));
        let floats: Vec<_> = of(Op::TypeFloat).map(|float| float[1..].to_vec()).collect();
        let [[bf16, 16, 0], [f32, 32]] = floats.iter().map(Vec::as_slice).collect::<Vec<_>>()[..] else {
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
        assert!(of(Op::Extension).any(|name| name[1..] == text_words("SPV_KHR_bfloat16")[..]));
    }

    #[test]
    fn rows_of_words_are_twice_as_many_numbers() {
        // 16 rows of two `vec4<u32>` are the array, as `bf16`; as `u32` they would be twice as long.
        assert!(words(WordMatrices::Bf16).is_ok());
        assert!(matches!(words(WordMatrices::Words), Err(crate::Error::Unwritable { .. })));
    }

    #[test]
    fn matrices_of_words_become_matrices_of_i8_with_twice_the_inner_axis_and_sums_of_i32() {
        for text in [TEXT.to_owned(), TEXT.replace("bitcast<u32>(sums[i])", "bitcast<u32>(i32(i) - 1i)")] {
            let options = Options { driver_zeroes: true, word_matrices: WordMatrices::I8, ..Options::default() };
            let module = Module::parse(&Source::wgsl(text)).unwrap();
            let words = module.translate(None, &BTreeMap::new(), &options).unwrap().spirv;
            let of = |wanted: Op| instructions(&words).filter(move |instruction| op(instruction) == Some(wanted));
            let ints: Vec<_> = of(Op::TypeInt).map(|int| (int[2], int[3], int[1])).collect();
            let [i8, i32, u32] = [(8, 1), (32, 1), (32, 0)].map(|(bits, sign)| {
                let mut ids = ints.iter().filter(|int| (int.0, int.1) == (bits, sign)).map(|int| int.2);
                (ids.next().unwrap(), assert_eq!(ids.next(), None, "{bits}")).0
            });
            let constants: HashMap<_, _> = of(Op::Constant).filter(|c| c[1] == u32).map(|c| (c[2], c[3])).collect();
            let matrix = |matrix: &[u32]| (matrix[2], [3, 4, 5, 6].map(|at| constants[&matrix[at]]));
            let mut matrices: Vec<_> = of(Op::TypeCooperativeMatrixKHR).map(matrix).collect();
            matrices.sort_by_key(|&(_, [.., role])| role);
            assert_eq!(matrices, [(i8, [3, 16, 32, 0]), (i8, [3, 32, 16, 1]), (i32, [3, 16, 16, 2])]);
            assert_eq!(of(Op::CooperativeMatrixMulAddKHR).map(|product| product[6]).collect::<Vec<_>>(), [15]);
            assert_eq!(of(Op::Capability).filter(|declared| declared[1] == Capability::Int8 as u32).count(), 1);
            assert!([i8, i32].iter().chain(constants.keys()).all(|&id| id < words[BOUND]));
        }
    }

    #[test]
    fn an_installed_validator_takes_them_or_is_said_to_be_too_old() {
        for numbers in [WordMatrices::F16, WordMatrices::Bf16, WordMatrices::I8] {
            match Validator::of_environment(true).check(&words(numbers).unwrap()) {
                Ok(()) => {}
                Err(Unvalidated::TooOld { reason, .. }) => {
                    let old = [Capability::CooperativeMatrixKHR, Capability::BFloat16TypeKHR].map(|of| of as u32);
                    let is_old = |of: &u32| reason.contains(&format!("Invalid capability operand: {of}"));
                    assert!(old.iter().any(is_old), "{reason}");
                }
                Err(problem) => panic!("{problem}"),
            }
        }
    }
}
