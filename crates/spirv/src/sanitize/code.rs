//! Words that are added to a module: [`Code`]. Types and constants that the module has already are used again.

use std::collections::HashMap;

use spirv::Op;

use crate::binary::instruction::{Checked, HEADER_WORDS, Instruction, instructions_in};
use crate::binary::words::{BOUND, instruction};

/// What is added to a module, and its functions as they become.
pub(super) struct Code {
    pub(super) next_id: u32,
    pub(super) decorations: Vec<u32>,
    /// Stand in front of the functions.
    pub(super) declarations: Vec<u32>,
    pub(super) functions: Vec<u32>,
    /// Types and constants, by operation, type and operands.
    known: HashMap<Vec<u32>, u32>,
}

impl Code {
    pub(super) fn new(words: &[u32]) -> Checked<Self> {
        let mut code = Self {
            next_id: words.get(BOUND).copied().unwrap_or_default(),
            decorations: Vec::new(),
            declarations: Vec::new(),
            functions: Vec::new(),
            known: HashMap::new(),
        };
        for instruction in instructions_in(words, HEADER_WORDS..words.len()) {
            let instruction = instruction?;
            match instruction.op() {
                Op::Function => break,
                op if is_shared(op) => {
                    let id = instruction.id.unwrap_or_default();
                    code.known.entry(key(op, instruction.ty, instruction.operands)).or_insert(id);
                }
                _ => {}
            }
        }
        Ok(code)
    }

    pub(super) fn new_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// A type or constant, declared unless there is one already.
    pub(super) fn once(&mut self, op: Op, ty: Option<u32>, operands: &[u32]) -> u32 {
        let key = key(op, ty, operands);
        if let Some(&id) = self.known.get(&key) {
            return id;
        }
        let id = self.new_id();
        self.known.insert(key, id);
        self.declarations.extend(instruction(op, ty, Some(id), operands));
        id
    }

    pub(super) fn u32_type(&mut self) -> u32 {
        self.once(Op::TypeInt, None, &[32, 0])
    }

    pub(super) fn bool_type(&mut self) -> u32 {
        self.once(Op::TypeBool, None, &[])
    }

    /// The constant of 32 bits.
    pub(super) fn number(&mut self, value: u32) -> u32 {
        let ty = self.u32_type();
        self.once(Op::Constant, Some(ty), &[value])
    }

    /// Adds an instruction with a result to the function.
    pub(super) fn value(&mut self, op: Op, ty: u32, operands: &[u32]) -> u32 {
        let id = self.new_id();
        self.functions.extend(instruction(op, Some(ty), Some(id), operands));
        id
    }

    /// Adds an instruction without a result to the function.
    pub(super) fn push(&mut self, op: Op, operands: &[u32]) {
        self.functions.extend(instruction(op, None, None, operands));
    }

    /// Begins a block.
    pub(super) fn label(&mut self, id: u32) {
        self.functions.extend(instruction(Op::Label, None, Some(id), &[]));
    }
}

/// What a module may declare once, or may as well.
pub(super) fn is_shared(op: Op) -> bool {
    use Op as O;
    let types = [O::TypeVoid, O::TypeBool, O::TypeInt, O::TypeFloat, O::TypeVector, O::TypePointer, O::TypeFunction];
    types.contains(&op) || matches!(op, O::Constant | O::ConstantNull | O::ConstantComposite)
}

fn key(op: Op, ty: Option<u32>, operands: &[u32]) -> Vec<u32> {
    [op as u32, ty.unwrap_or_default()].into_iter().chain(operands.iter().copied()).collect()
}

/// An instruction with other operands.
pub(super) fn with_operands(of: &Instruction<'_>, operands: &[u32]) -> Vec<u32> {
    instruction(of.op(), of.ty, of.id, operands)
}
