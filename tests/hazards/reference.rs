//! Runs a program on the host, one operation after the other.

use super::program::{Op, Program, View, WORDS, counted};
use crate::fixture::kernels::{mixed, stepped};

/// All memory at the end, and all host reads.
#[derive(Default)]
pub(super) struct Reference {
    pub(super) blocks: Vec<Vec<u8>>,
    pub(super) read: Vec<Vec<u8>>,
}

impl Reference {
    pub(super) fn run(program: &Program) -> Self {
        let mut reference = Self::begin(program);
        program.ops.iter().for_each(|op| reference.apply(op));
        reference
    }

    pub(super) fn begin(program: &Program) -> Self {
        Self { blocks: (0..program.n_blocks).map(first_contents).collect(), read: Vec::new() }
    }

    pub(super) fn apply(&mut self, op: &Op) {
        match op {
            Op::Mix { source, sum, add, .. } => {
                for (from, to) in source.words.clone().zip(sum.words.clone()) {
                    let value = mixed(self.word(source.block, from), self.word(sum.block, to), *add);
                    self.set_word(sum.block, to, value);
                }
            }
            Op::Step { view: View { block, words }, add, .. } => {
                for at in words.clone() {
                    let value = stepped(self.word(*block, at), *add);
                    self.set_word(*block, at, value);
                }
            }
            Op::Copy { source, bytes, to, offset, .. } => {
                let copied = self.blocks[*source][bytes.clone()].to_vec();
                self.blocks[*to][*offset..*offset + copied.len()].copy_from_slice(&copied);
            }
            Op::Fill { block, word, .. } => {
                (0..WORDS).for_each(|at| self.set_word(*block, at, *word));
            }
            Op::Upload { block, offset, len, first, .. } => {
                self.blocks[*block][*offset..*offset + *len].copy_from_slice(&counted(*first, *len));
            }
            Op::Download { block, bytes, .. } => {
                let read = self.blocks[*block][bytes.clone()].to_vec();
                self.read.push(read);
            }
            Op::NewBlock { block, first, .. } => self.blocks[*block] = counted(*first, WORDS * 4),
            Op::Wait { .. } | Op::Flush { .. } | Op::NewStream { .. } => {}
        }
    }

    fn word(&self, block: usize, at: usize) -> u32 {
        let bytes = &self.blocks[block][at * 4..at * 4 + 4];
        u32::from_ne_bytes(bytes.try_into().expect("four bytes"))
    }

    fn set_word(&mut self, block: usize, at: usize, value: u32) {
        self.blocks[block][at * 4..at * 4 + 4].copy_from_slice(&value.to_ne_bytes());
    }
}

/// The bytes of the block `nth` before the first operation.
pub(super) fn first_contents(nth: usize) -> Vec<u8> {
    counted(u8::try_from(nth * 60).expect("few blocks"), WORDS * 4)
}
