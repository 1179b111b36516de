//! Where in its source an instruction of a module comes from: [`line_of`], by the module's debug lines. Pure.

use std::collections::HashMap;

use spirv::Op;

use super::words::{HEADER_WORDS, instructions, op};

/// File and line of the instruction that begins at a word, where the module says so.
pub fn line_of(words: &[u32], word: usize) -> Option<String> {
    let (mut at, mut names, mut line) = (HEADER_WORDS, HashMap::new(), None);
    for instruction in instructions(words) {
        match (op(instruction), instruction) {
            (Some(Op::String), &[_, id, ref name @ ..]) => drop(names.insert(id, name)),
            (Some(Op::Line), &[_, file, number, _]) => line = Some((file, number)),
            (Some(Op::NoLine | Op::FunctionEnd), _) => line = None,
            _ => {}
        }
        if at >= word {
            break;
        }
        at += instruction.len();
    }
    let (file, number) = line?;
    Some(format!("{}:{number}", text(names.get(&file)?)))
}

/// Words as the text that they hold, which ends at the first zero.
pub(crate) fn text(words: &[u32]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
