//! Leaves out of a module what only debuggers read, and what validators know in their own version alone:
//! [`without_sources`].
//!
//! A validator refuses a module for the number of a source language, or of an instruction of debug information, that is
//! newer than itself; neither changes what the module does. So both are left out of what is validated, and since no driver
//! is given what was not validated, the driver gets the module without them too. Names, lines and
//! `NonSemantic.DebugPrintf` stay. Pure: words in, words out. Called by `translate/` of `vkarray-shader`.

use std::collections::HashSet;

use spirv::Op;

use super::lines::text;
use super::words::{HEADER_WORDS, instructions, op};

/// How the set of extended instructions begins that describes the source.
const DEBUG_INFO: &str = "NonSemantic.Shader.DebugInfo.";

/// The module without its source's language and text, and without its debug information.
pub fn without_sources(words: &[u32]) -> Vec<u32> {
    let (mut sets, mut left_out) = (HashSet::new(), HashSet::new());
    for instruction in instructions(words) {
        match (op(instruction), instruction) {
            (Some(Op::ExtInstImport), &[_, id, ref name @ ..]) if text(name).starts_with(DEBUG_INFO) => {
                sets.insert(id);
                left_out.insert(id);
            }
            (Some(Op::ExtInst), &[_, _, id, set, ..]) if sets.contains(&set) => drop(left_out.insert(id)),
            _ => {}
        }
    }
    let is_kept = |instruction: &&[u32]| match (op(instruction), *instruction) {
        (Some(Op::Source | Op::SourceContinued | Op::SourceExtension), _) => false,
        (Some(Op::ExtInstImport | Op::Name | Op::Decorate), &[_, id, ..]) => !left_out.contains(&id),
        (Some(Op::ExtInst), &[_, _, id, ..]) => !left_out.contains(&id),
        _ => true,
    };
    let header = words.iter().take(HEADER_WORDS).copied();
    header.chain(instructions(words).filter(is_kept).flatten().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binary::tests::compiled;
    use crate::binary::validator::Validator;

    fn words(bytes: &[u8]) -> Vec<u32> {
        bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
    }

    fn op_words(op: Op, operands: &[u32]) -> Vec<u32> {
        let n_words = u32::try_from(operands.len() + 1).unwrap();
        [&[n_words << 16 | op as u32], operands].concat()
    }

    /// The words of a text.
    fn text(text: &str) -> Vec<u32> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize((bytes.len() / 4 + 1) * 4, 0);
        words(&bytes)
    }

    #[test]
    fn what_a_newer_compiler_says_of_its_source_is_left_out() {
        const NEWER_LANGUAGE: u32 = 9999;
        const NEWER_INSTRUCTION: u32 = 9999;
        let validator = Validator::of_environment(true);
        let saxpy = words(&compiled("saxpy"));
        let mut newer = saxpy[..HEADER_WORDS].to_vec();
        let [set, info] = [newer[3], newer[3] + 1];
        newer[3] += 2;
        let mut void = 0;
        for instruction in instructions(&saxpy) {
            match op(instruction).unwrap() {
                Op::ExtInstImport => {
                    newer.extend(op_words(Op::Extension, &text("SPV_KHR_non_semantic_info")));
                    let name = text("NonSemantic.Shader.DebugInfo.100");
                    newer.extend(op_words(Op::ExtInstImport, &[&[set], &name[..]].concat()));
                }
                Op::Source => {
                    newer.extend(op_words(Op::Source, &[NEWER_LANGUAGE, 1]));
                    newer.extend(op_words(Op::SourceExtension, &text("x")));
                    newer.extend(op_words(Op::Name, &[&[info], &text("info")[..]].concat()));
                    continue;
                }
                Op::TypeVoid => void = instruction[1],
                Op::Function if void != 0 => {
                    newer.extend(op_words(Op::ExtInst, &[void, info, set, NEWER_INSTRUCTION]));
                    void = 0;
                }
                _ => {}
            }
            newer.extend(instruction);
        }
        validator.check(&newer).unwrap_err();
        validator.check(&without_sources(&newer)).unwrap();
        let without = without_sources(&newer);
        let bound = without[3];
        assert_eq!((bound, instructions(&without).count()), (newer[3], instructions(&newer).count() - 5));
    }

    #[test]
    fn nothing_else_is_left_out() {
        let layouts = words(&compiled("layouts"));
        let n_sources =
            instructions(&layouts).filter(|words| matches!(op(words), Some(Op::Source | Op::SourceExtension))).count();
        assert_eq!(instructions(&without_sources(&layouts)).count(), instructions(&layouts).count() - n_sources);
        assert_eq!(without_sources(&[]), [0; 0]);
    }
}
