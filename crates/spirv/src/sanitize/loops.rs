//! Loops that do not end: [`loops_of`] finds the loops of a function, whose rounds are counted.
//!
//! A loop's header is cut in two. Its first part asks whether there were too many rounds, and if so leaves the function, not
//! only the loop: no value that is computed in the loop has to be there behind it. Whoever called goes on with zeros, and
//! leaves its own loops in their next round.

use std::collections::HashMap;

use spirv::Op;

use super::rewrite::Instrumenter;
use super::site::Subject;
use crate::binary::contents::Type;
use crate::binary::instruction::{Checked, Instruction};
use crate::binary::words::instruction;

/// A loop that is counted.
#[derive(Clone, Debug)]
pub(super) struct CountedLoop {
    /// Its header.
    pub(super) label: u32,
    /// The second part of the header.
    pub(super) tail: u32,
    merge: u32,
    continues: u32,
    /// What else its merge instruction says.
    control: Vec<u32>,
}

/// The loops of a function, by header. Left out are headers that choose between two blocks of the loop, which they may not do
/// without a merge instruction of their own.
pub(super) fn loops_of(instructions: &[Instruction<'_>]) -> Checked<HashMap<u32, CountedLoop>> {
    let (mut loops, mut label) = (HashMap::new(), 0);
    for (index, instruction) in instructions.iter().enumerate() {
        match instruction.op() {
            Op::Label => label = instruction.id.unwrap_or_default(),
            Op::LoopMerge => {
                let (merge, continues) = (instruction.operand(0)?, instruction.operand(1)?);
                let leaves = |target: &u32| [merge, continues].contains(target);
                let is_cut = instructions.get(index + 1).is_some_and(|end| match end.op() {
                    Op::Branch => true,
                    Op::BranchConditional => end.operands.iter().skip(1).take(2).any(leaves),
                    _ => false,
                });
                if is_cut {
                    let control = instruction.operands[2..].to_vec();
                    loops.insert(label, CountedLoop { label, tail: 0, merge, continues, control });
                }
            }
            _ => {}
        }
    }
    Ok(loops)
}

impl Instrumenter<'_> {
    /// Cuts the header that is open: what follows goes into its second part.
    pub(super) fn count_round(&mut self, before: &Instruction<'_>) {
        let Some(CountedLoop { label, tail, merge, continues, control }) = self.state.header.take() else { return };
        let (site, bool_type) = (self.site(before.at, Subject::Loop), self.code.bool_type());
        let is_endless = self.call_for("is_endless", bool_type, &[site]);
        let continues = if continues == label { tail } else { continues };
        let operands: Vec<u32> = [merge, continues].into_iter().chain(control).collect();
        let end = self.code.new_id();
        self.code.push(Op::LoopMerge, &operands);
        self.code.push(Op::BranchConditional, &[is_endless, end, tail]);
        self.code.label(end);
        if matches!(self.request.part.contents.types.get(&self.state.result), Some(Type::Other(Op::TypeVoid)) | None) {
            self.code.push(Op::Return, &[]);
        } else {
            let zero = self.code.once(Op::ConstantNull, Some(self.state.result), &[]);
            self.code.push(Op::ReturnValue, &[zero]);
        }
        self.code.label(tail);
    }

    /// A choice by the block that one comes from: a block that was cut in two is left from its second part.
    pub(super) fn phi(&mut self, phi: &Instruction<'_>) {
        let mut operands = phi.operands.to_vec();
        for from in operands.iter_mut().skip(1).step_by(2) {
            *from = self.state.tails.get(from).copied().unwrap_or(*from);
        }
        self.code.functions.extend(instruction(Op::Phi, phi.ty, phi.id, &operands));
    }
}
