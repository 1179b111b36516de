//! SPIR-V cut into instructions, and instructions into operands, as the grammar of `rspirv` has it.
//!
//! The words are not trusted: every length is checked before it is used. What an operand means is not known here, but
//! for one thing: whether it is an id.
//! Read next: `read.rs`.

use std::collections::HashMap;
use std::sync::LazyLock;

use rspirv::grammar::{INSTRUCTION_TABLE, Instruction as Grammar, OperandKind as Kind, OperandQuantifier as Often};
use smallvec::SmallVec;
use spirv::{Capability, Op};

pub(crate) use super::words::HEADER_WORDS;
use crate::error::Malformed;

/// What is wrong, and at which word.
#[derive(Debug)]
pub(crate) struct MalformedAt {
    pub(crate) word: usize,
    pub(crate) problem: Malformed,
}

/// The module's own result: place and problem, still without the source's name.
pub(crate) type Checked<T> = Result<T, MalformedAt>;

/// The grammar by opcode; `rspirv` itself looks along a list of eight hundred.
static GRAMMAR: LazyLock<HashMap<u32, &'static Grammar<'static>>> =
    LazyLock::new(|| INSTRUCTION_TABLE.iter().map(|grammar| (grammar.opcode as u32, grammar)).collect());

/// One instruction of a module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction<'a> {
    grammar: &'static Grammar<'static>,
    /// The index of its first word in the module.
    pub(crate) at: usize,
    /// The type of its result.
    pub(crate) ty: Option<u32>,
    /// Its result.
    pub(crate) id: Option<u32>,
    /// What follows type and result.
    pub(crate) operands: &'a [u32],
    /// All of its words.
    pub(crate) words: &'a [u32],
}

/// The instruction that starts at a word; `None` at the end.
pub(crate) fn instruction_at(words: &[u32], at: usize) -> Checked<Option<Instruction<'_>>> {
    let fault = |problem| Err(MalformedAt { word: at, problem });
    let Some(&first) = words.get(at) else { return Ok(None) };
    let (n_words, opcode) = ((first >> 16) as usize, first & 0xffff);
    let left = words.len() - at;
    if n_words == 0 {
        return fault(Malformed::Empty);
    }
    if n_words > left {
        return fault(Malformed::Truncated { words: n_words, left });
    }
    let Some(&grammar) = GRAMMAR.get(&opcode) else { return fault(Malformed::Opcode { opcode }) };
    let words = &words[at..at + n_words];
    let mut operands = &words[1..];
    let mut take = |kind| match operands {
        _ if !grammar.operands.iter().any(|operand| operand.kind == kind) => Ok(None),
        [first, rest @ ..] => {
            operands = rest;
            Ok(Some(*first))
        }
        [] => fault_missing(grammar, at),
    };
    let ty = take(Kind::IdResultType)?;
    let id = take(Kind::IdResult)?;
    Ok(Some(Instruction { grammar, at, ty, id, operands, words }))
}

/// The instructions in a range of words, up to the first that is wrong.
pub(crate) fn instructions_in(
    words: &[u32],
    range: std::ops::Range<usize>,
) -> impl Iterator<Item = Checked<Instruction<'_>>> {
    let mut at = range.start;
    std::iter::from_fn(move || {
        let found = if at < range.end { instruction_at(words, at).transpose() } else { None };
        at = found.as_ref().and_then(|found| found.as_ref().ok()).map_or(range.end, |found| at + found.words.len());
        found
    })
}

fn fault_missing<T>(grammar: &Grammar<'static>, at: usize) -> Checked<T> {
    Err(MalformedAt { word: at, problem: Malformed::Missing { op: grammar.opname } })
}

impl Instruction<'_> {
    pub(crate) fn op(&self) -> Op {
        self.grammar.opcode
    }

    pub(crate) fn name(&self) -> &'static str {
        self.grammar.opname
    }

    pub(crate) fn fault<T>(&self, problem: Malformed) -> Checked<T> {
        Err(MalformedAt { word: self.at, problem })
    }

    /// One of these capabilities is needed for the instruction itself; none if there are none.
    pub(crate) fn capabilities(&self) -> &'static [Capability] {
        self.grammar.capabilities
    }

    /// Whether there may be ids among the operands that [`Instruction::ids`] does not list.
    pub(crate) fn may_hide_ids(&self) -> bool {
        self.grammar.operands.iter().any(|operand| has_parameters(operand.kind))
    }

    /// An id is not what the instruction needs there.
    pub(crate) fn needs<T>(&self, id: u32, wanted: &'static str) -> Checked<T> {
        self.fault(Malformed::Kind { op: self.name(), id, wanted })
    }

    /// The operand at a place that the grammar of its instruction promises.
    pub(crate) fn operand(&self, index: usize) -> Checked<u32> {
        self.operands.get(index).copied().map_or_else(|| fault_missing(self.grammar, self.at), Ok)
    }

    /// The text that starts at an operand.
    pub(crate) fn text(&self, first: usize) -> Checked<String> {
        let words = self.operands.get(first..).unwrap_or_default();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let end = bytes.iter().position(|&byte| byte == 0);
        let text = end.and_then(|end| String::from_utf8(bytes[..end].to_vec()).ok());
        text.map_or_else(|| self.fault(Malformed::Text { op: self.name() }), Ok)
    }

    /// Words that the text takes which starts at an operand.
    pub(crate) fn text_words(&self, first: usize) -> Checked<usize> {
        let words = self.operands.get(first..).unwrap_or_default();
        let ends = |word: &u32| word.to_le_bytes().contains(&0);
        let last = words.iter().position(ends);
        last.map_or_else(|| self.fault(Malformed::Text { op: self.name() }), |last| Ok(last + 1))
    }

    /// Checks the operands against the grammar and lists the ids among them, the result's type first.
    ///
    /// `is_wide` tells of an id whether its type is a number of 64 bits. What follows a mask or a decoration is not looked
    /// at: its meaning depends on the value.
    pub(crate) fn ids(&self, is_wide: impl Fn(u32) -> bool) -> Checked<SmallVec<[u32; 8]>> {
        let places = self.id_places(is_wide)?;
        Ok(self.ty.into_iter().chain(places.into_iter().map(|place| self.operands[place])).collect())
    }

    /// As [`Instruction::ids`], the places of the ids among the operands.
    pub(crate) fn id_places(&self, is_wide: impl Fn(u32) -> bool) -> Checked<SmallVec<[usize; 8]>> {
        let mut walk = OperandWalk { instruction: self, is_wide, at: 0, places: SmallVec::new() };
        walk.run(self.grammar)?;
        match self.operands.len() - walk.at {
            0 => Ok(walk.places),
            words => self.fault(Malformed::Surplus { op: self.name(), words }),
        }
    }
}

/// Whether parameters follow such an operand, as many as its value asks for. Some are ids.
fn has_parameters(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::ImageOperands
            | Kind::MemoryAccess
            | Kind::LoopControl
            | Kind::Decoration
            | Kind::ExecutionMode
            | Kind::TensorAddressingOperands
            | Kind::TensorOperands
    )
}

/// A walk along the operands.
struct OperandWalk<'a, F> {
    instruction: &'a Instruction<'a>,
    is_wide: F,
    at: usize,
    places: SmallVec<[usize; 8]>,
}

impl<F: Fn(u32) -> bool> OperandWalk<'_, F> {
    fn run(&mut self, grammar: &'static Grammar<'static>) -> Checked<()> {
        let is_result = |kind| matches!(kind, Kind::IdResultType | Kind::IdResult);
        for operand in grammar.operands.iter().filter(|operand| !is_result(operand.kind)) {
            match operand.quantifier {
                Often::One => self.step(operand.kind)?,
                Often::ZeroOrOne if self.has_more() => self.step(operand.kind)?,
                Often::ZeroOrOne => {}
                Often::ZeroOrMore => {
                    while self.has_more() {
                        self.step(operand.kind)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn has_more(&self) -> bool {
        self.at < self.instruction.operands.len()
    }

    fn word(&mut self) -> Checked<u32> {
        let word = self.instruction.operand(self.at)?;
        self.at += 1;
        Ok(word)
    }

    fn id(&mut self) -> Checked<()> {
        self.places.push(self.at);
        self.word().map(drop)
    }

    fn step(&mut self, kind: Kind) -> Checked<()> {
        match kind {
            Kind::IdRef | Kind::IdScope | Kind::IdMemorySemantics => self.id(),
            Kind::PairIdRefIdRef => self.id().and_then(|()| self.id()),
            Kind::PairIdRefLiteralInteger => self.id().and_then(|()| self.word().map(drop)),
            Kind::PairLiteralIntegerIdRef => {
                let is_wide = self.instruction.operands.first().is_some_and(|&selector| (self.is_wide)(selector));
                for _ in 0..if is_wide { 2 } else { 1 } {
                    self.word()?;
                }
                self.id()
            }
            Kind::LiteralString => {
                self.at += self.instruction.text_words(self.at)?;
                Ok(())
            }
            Kind::LiteralSpecConstantOpInteger => self.nested(),
            kind if has_parameters(kind) || kind == Kind::LiteralContextDependentNumber => {
                self.word()?;
                self.at = self.instruction.operands.len();
                Ok(())
            }
            _ => self.word().map(drop),
        }
    }

    /// The operands of the instruction that a constant computes.
    fn nested(&mut self) -> Checked<()> {
        let opcode = self.word()?;
        match GRAMMAR.get(&opcode) {
            Some(grammar) if grammar.opcode != Op::SpecConstantOp => self.run(grammar),
            _ => self.instruction.fault(Malformed::Opcode { opcode }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(op: Op, n_words: u32) -> u32 {
        n_words << 16 | op as u32
    }

    fn ids(words: &[u32]) -> Result<Vec<u32>, Malformed> {
        let instruction = instruction_at(words, 0).map_err(|fault| fault.problem)?.expect("there is a word");
        Ok(instruction.ids(|id| id == 64).map_err(|fault| fault.problem)?.to_vec())
    }

    #[test]
    fn ids_are_told_from_numbers() {
        let cases: &[(&[u32], &[u32])] = &[
            (&[word(Op::Load, 4), 1, 2, 3], &[1, 3]),
            (&[word(Op::Load, 6), 1, 2, 3, 2, 4], &[1, 3]), // Aligned 4: no id.
            (&[word(Op::Switch, 5), 7, 8, 0, 9], &[7, 8, 9]),
            (&[word(Op::Switch, 6), 64, 8, 0, 0, 9], &[64, 8, 9]), // A label behind 64 bits.
            (&[word(Op::SpecConstantOp, 6), 1, 2, Op::IAdd as u32, 3, 4], &[1, 3, 4]),
            (&[word(Op::SpecConstantOp, 8), 1, 2, Op::VectorShuffle as u32, 3, 4, 0, 5], &[1, 3, 4]),
            (&[word(Op::EntryPoint, 6), 5, 9, 0x6e69616d, 0, 12], &[9, 12]), // `main`, then the interface.
            (&[word(Op::Name, 3), 9, 0], &[9]),
            (&[word(Op::Decorate, 4), 9, 34, 99], &[9]), // The set is no id.
        ];
        for (words, expected) in cases {
            assert_eq!(ids(words).unwrap(), *expected, "{words:?}");
        }
    }

    #[test]
    fn lengths_are_not_believed() {
        let cases: &[(&[u32], &str)] = &[
            (&[0], "an instruction is 0 words long"),
            (&[word(Op::Load, 4), 1, 2], "an instruction of 4 words, of which 3 are there"),
            (&[word(Op::Load, 3), 1, 2], "OpLoad lacks an operand"),
            (&[word(Op::Load, 1)], "OpLoad lacks an operand"),
            (&[word(Op::Return, 2), 1], "OpReturn has 1 words too many"),
            (&[word(Op::Name, 3), 9, 0x6e69616d], "OpName holds no text that ends and is UTF-8"),
            (&[word(Op::Name, 3), 9, 0x00ff_ffff], "OpName holds no text that ends and is UTF-8"),
            (&[word(Op::EntryPoint, 4), 5, 9, 0x6e69616d], "OpEntryPoint holds no text that ends and is UTF-8"),
            (&[1 << 16 | 0xfff0], "instruction 65520 is not supported"),
            (&[word(Op::SpecConstantOp, 4), 1, 2, Op::SpecConstantOp as u32], "instruction 52 is not supported"),
        ];
        for (words, message) in cases {
            let error = instruction_at(words, 0).map_err(|fault| fault.problem).and_then(|instruction| {
                let instruction = instruction.expect("there is a word");
                instruction.ids(|_| false).map_err(|fault| fault.problem)?;
                instruction.text(1).map(drop).map_err(|fault| fault.problem)
            });
            assert_eq!(error.unwrap_err().to_string(), *message, "{words:?}");
        }
    }
}
