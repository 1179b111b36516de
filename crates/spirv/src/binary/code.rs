//! Words that are added to a module: [`Code`], which puts the module together with them. Types and constants that the module
//! has already are used again.

use std::collections::HashMap;

use spirv::{BuiltIn, Decoration, Op, StorageClass};

use super::contents::Type;
use super::instruction::Instruction;
use super::words::{BOUND, instruction, instructions, op, with_annotations};

/// How many elements there are of what is indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// This number.
    Fixed(u32),
    /// As many as the array that ends a struct has: a pointer to the struct, and the member's number.
    Runtime { pointer: u32, member: u32 },
}

/// What is added to a module, and its functions as they become.
#[derive(Default)]
pub(crate) struct Code {
    pub(crate) next_id: u32,
    pub(crate) decorations: Vec<u32>,
    /// Stand in front of the functions.
    pub(crate) declarations: Vec<u32>,
    pub(crate) functions: Vec<u32>,
    /// Types and constants, by operation, type and operands.
    known: HashMap<Vec<u32>, u32>,
}

impl Code {
    pub(crate) fn new(words: &[u32]) -> Self {
        let mut code = Self { next_id: words.get(BOUND).copied().unwrap_or_default(), ..Self::default() };
        for instruction in instructions(words) {
            let (ty, id, operands) = match (op(instruction), instruction) {
                (Some(Op::Function), _) => break,
                (Some(op), &[_, id, ref operands @ ..]) if is_shared(op) && op.is_type() => (None, id, operands),
                (Some(op), &[_, ty, id, ref operands @ ..]) if is_shared(op) => (Some(ty), id, operands),
                _ => continue,
            };
            code.known.entry(key(instruction[0] & 0xffff, ty, operands)).or_insert(id);
        }
        code
    }

    pub(crate) fn new_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// A type or constant, declared unless there is one already.
    pub(crate) fn once(&mut self, op: Op, ty: Option<u32>, operands: &[u32]) -> u32 {
        let key = key(op as u32, ty, operands);
        if let Some(&id) = self.known.get(&key) {
            return id;
        }
        let id = self.declare(op, ty, operands);
        self.known.insert(key, id);
        id
    }

    /// Adds a declaration, whether or not there is one like it.
    pub(crate) fn declare(&mut self, op: Op, ty: Option<u32>, operands: &[u32]) -> u32 {
        let id = self.new_id();
        self.declarations.extend(instruction(op, ty, Some(id), operands));
        id
    }

    /// Declares a variable for a built-in value that the module has none for.
    pub(crate) fn input(&mut self, wanted: BuiltIn, ty: u32) -> u32 {
        let class = StorageClass::Input as u32;
        let pointer = self.once(Op::TypePointer, None, &[class, ty]);
        let variable = self.declare(Op::Variable, Some(pointer), &[class]);
        let decoration = [variable, Decoration::BuiltIn as u32, wanted as u32];
        self.decorations.extend(instruction(Op::Decorate, None, None, &decoration));
        variable
    }

    pub(crate) fn u32_type(&mut self) -> u32 {
        self.once(Op::TypeInt, None, &[32, 0])
    }

    pub(crate) fn bool_type(&mut self) -> u32 {
        self.once(Op::TypeBool, None, &[])
    }

    /// The constant of 32 bits.
    pub(crate) fn number(&mut self, value: u32) -> u32 {
        let ty = self.u32_type();
        self.once(Op::Constant, Some(ty), &[value])
    }

    /// The length as a value of 32 bits.
    pub(crate) fn length(&mut self, length: Length) -> u32 {
        match length {
            Length::Fixed(len) => self.number(len),
            Length::Runtime { pointer, member } => {
                let ty = self.u32_type();
                self.value(Op::ArrayLength, ty, &[pointer, member])
            }
        }
    }

    /// An integer of this type in 32 bits, cut or filled; `None` for what is no integer.
    pub(crate) fn as_u32(&mut self, value: u32, ty: Option<&Type>) -> Option<u32> {
        let op = match *ty? {
            Type::Int { width: 32, is_signed: false } => return Some(value),
            Type::Int { width: 32, is_signed: true } => Op::Bitcast,
            Type::Int { width: ..32, is_signed: true } => Op::SConvert,
            Type::Int { .. } => Op::UConvert,
            _ => return None,
        };
        let ty = self.u32_type();
        Some(self.value(op, ty, &[value]))
    }

    /// Adds an instruction with a result to the function.
    pub(crate) fn value(&mut self, op: Op, ty: u32, operands: &[u32]) -> u32 {
        let id = self.new_id();
        self.functions.extend(instruction(op, Some(ty), Some(id), operands));
        id
    }

    /// Adds an instruction without a result to the function.
    pub(crate) fn push(&mut self, op: Op, operands: &[u32]) {
        self.functions.extend(instruction(op, None, None, operands));
    }

    /// Begins a block.
    pub(crate) fn label(&mut self, id: u32) {
        self.functions.extend(instruction(Op::Label, None, Some(id), &[]));
    }

    /// The module whose header and declarations are `front`, with what was added.
    pub(crate) fn assembled(self, front: &[u32]) -> Vec<u32> {
        let mut out = with_annotations(front, &self.decorations);
        if let Some(bound) = out.get_mut(BOUND) {
            *bound = self.next_id;
        }
        out.extend(self.declarations);
        out.extend(self.functions);
        out
    }
}

/// What a module may declare once, or may as well.
pub(crate) fn is_shared(op: Op) -> bool {
    use Op as O;
    let types = [O::TypeVoid, O::TypeBool, O::TypeInt, O::TypeFloat, O::TypeVector, O::TypePointer, O::TypeFunction];
    types.contains(&op) || matches!(op, O::Constant | O::ConstantNull | O::ConstantComposite)
}

fn key(op: u32, ty: Option<u32>, operands: &[u32]) -> Vec<u32> {
    [op, ty.unwrap_or_default()].into_iter().chain(operands.iter().copied()).collect()
}

/// An instruction with other operands.
pub(crate) fn with_operands(of: &Instruction<'_>, operands: &[u32]) -> Vec<u32> {
    instruction(of.op(), of.ty, of.id, operands)
}
