//! Whether a function is made of blocks: [`Blocks`], fed one instruction after the other.
//!
//! Parameters first, then blocks, each from a label to a terminator; branches lead to labels of the same function.
//! Whether control flow is structured is `spirv-val`'s to say.

use std::collections::HashSet;

use rspirv::grammar::reflect::is_block_terminator;
use spirv::Op;

use super::instruction::{Checked, Instruction};
use crate::spirv::malformed::Malformed;

/// What of a function has been seen.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    labels: HashSet<u32>,
    /// Targets of branches: the instruction's place and name, the label.
    targets: Vec<(usize, &'static str, u32)>,
    is_open: bool,
}

impl Blocks {
    pub(super) fn take(&mut self, instruction: &Instruction<'_>) -> Checked<()> {
        let place = |place| instruction.fault(Malformed::Place { op: instruction.name(), place });
        match instruction.op() {
            Op::Line | Op::NoLine | Op::Nop => {}
            Op::Function => return place("inside a function"),
            Op::FunctionParameter if !self.labels.is_empty() => return place("behind the first block"),
            Op::FunctionParameter => {}
            Op::Label if self.is_open => return place("inside a block"),
            Op::Label => {
                self.labels.extend(instruction.id);
                self.is_open = true;
            }
            Op::FunctionEnd if self.is_open => return place("inside a block"),
            Op::FunctionEnd if self.labels.is_empty() => return place("where the first block should begin"),
            Op::FunctionEnd => return self.check_targets(),
            _ if !self.is_open => return place("between blocks"),
            op => {
                self.note_targets(instruction)?;
                self.is_open = !is_block_terminator(op);
            }
        }
        Ok(())
    }

    fn note_targets(&mut self, instruction: &Instruction<'_>) -> Checked<()> {
        let mut note = |id| self.targets.push((instruction.at, instruction.name(), id));
        match instruction.op() {
            Op::Branch | Op::SelectionMerge => note(instruction.operand(0)?),
            Op::LoopMerge => {
                note(instruction.operand(0)?);
                note(instruction.operand(1)?);
            }
            Op::BranchConditional => {
                note(instruction.operand(1)?);
                note(instruction.operand(2)?);
            }
            Op::Switch => note(instruction.operand(1)?),
            _ => {}
        }
        Ok(())
    }

    fn check_targets(&self) -> Checked<()> {
        match self.targets.iter().find(|(_, _, id)| !self.labels.contains(id)) {
            None => Ok(()),
            Some(&(word, op, id)) => {
                let problem = Malformed::Kind { op, id, wanted: "a label of the same function" };
                Err(super::instruction::MalformedAt { word, problem })
            }
        }
    }
}
