//! SPIR-V as words: the instructions of a module that is known to be well-formed, one slice each ([`instructions`]). Pure.
//!
//! For what naga wrote, and for what `read.rs` has passed. `instruction.rs` reads words of unknown origin.

use std::iter;

use spirv::{ImageOperands, Op};

use super::sections::is_declaration;

/// Words before the first instruction.
pub const HEADER_WORDS: usize = 5;

/// The word of a header that holds the bound of ids.
pub const BOUND: usize = 3;

/// The instructions behind the header. If one's length makes no sense, what is left is the last.
pub fn instructions(words: &[u32]) -> impl Iterator<Item = &[u32]> {
    let mut rest = words.get(HEADER_WORDS..).unwrap_or_default();
    iter::from_fn(move || {
        let stated = (rest.first()? >> 16) as usize;
        let length = if (1..=rest.len()).contains(&stated) { stated } else { rest.len() };
        let (instruction, tail) = rest.split_at(length);
        rest = tail;
        Some(instruction)
    })
}

/// A new id of a module: the bound of ids, which grows by one.
pub fn new_id(module: &mut [u32]) -> u32 {
    let id = module[BOUND];
    // Only a module that is no output of a compiler comes near the end.
    module[BOUND] = id.wrapping_add(1);
    id
}

/// The words of an instruction.
pub fn instruction(op: Op, ty: Option<u32>, id: Option<u32>, operands: &[u32]) -> Vec<u32> {
    let mut words: Vec<u32> = [op as u32].into_iter().chain(ty).chain(id).chain(operands.iter().copied()).collect();
    words[0] |= u32::try_from(words.len()).unwrap_or(u32::MAX) << 16;
    words
}

/// A text as operands.
pub fn text_words(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize((bytes.len() / 4 + 1) * 4, 0);
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// The module with more annotations, in front of its first declaration.
pub fn with_annotations(words: &[u32], annotations: &[u32]) -> Vec<u32> {
    let is_before = |instruction: &&[u32]| op(instruction).is_none_or(|op| !is_declaration(op) && op != Op::Function);
    let before: usize = instructions(words).take_while(is_before).map(<[u32]>::len).sum();
    let (head, rest) = words.split_at((HEADER_WORDS + before).min(words.len()));
    [head, annotations, rest].concat()
}

/// What an instruction is; `None` for what the enumeration does not know.
pub fn op(instruction: &[u32]) -> Option<Op> {
    Op::from_u32(instruction.first()? & 0xffff)
}

/// Whether `OpArrayLength` is in the module, or the module is cut short.
pub fn asks_for_length(spirv: &[u32]) -> bool {
    let is_cut = |words: &[u32]| words.first().is_some_and(|first| (first >> 16) as usize != words.len());
    instructions(spirv).any(|words| op(words) == Some(Op::ArrayLength) || is_cut(words))
}

/// Whether an instruction samples or gathers texels of an image with a sampler.
pub(crate) fn is_sample(op: Op) -> bool {
    let samples = Op::ImageSampleImplicitLod as u32..=Op::ImageSampleProjDrefExplicitLod as u32;
    samples.contains(&(op as u32)) || matches!(op, Op::ImageGather | Op::ImageDrefGather)
}

/// Whether images are sampled in the one way that unnormalised coordinates have: at an explicit level, without a projection,
/// a comparison, a gather, a bias or an offset.
pub fn samples_plainly(spirv: &[u32]) -> bool {
    let plain = (ImageOperands::LOD | ImageOperands::GRAD).bits();
    instructions(spirv).all(|words| match op(words) {
        Some(Op::ImageSampleExplicitLod) => words.get(5).is_some_and(|operands| operands & !plain == 0),
        op => !op.is_some_and(is_sample),
    })
}
