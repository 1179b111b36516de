//! What is called for an index, a division, a shift and a barrier. A check reads values that the shader computes anyway.
//! Read next: `notes.rs`, for uses of memory.

use spirv::{MemorySemantics, Op, Scope};

use super::pointers::Index;
use super::prelude::code;
use super::rewrite::Instrumenter;
use super::site::Subject;
use crate::binary::code::{Length, with_operands};
use crate::binary::contents::Type;
use crate::binary::instruction::{Checked, Instruction};
use crate::signature::ScalarValue;

/// What a barrier orders: bits of the prelude's `passed`.
const SHARED: u32 = 1;
const BUFFERS: u32 = 2;

impl<'a> Instrumenter<'a> {
    /// Writes an instruction behind what is to be called before it.
    pub(super) fn checked_instruction(
        &mut self,
        instruction: &Instruction<'_>,
        behind: &[Instruction<'_>],
    ) -> Checked<()> {
        let op = instruction.op();
        match op {
            Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject => self.follow(instruction)?,
            Op::Switch => {} // Its labels may be wide, and are no pointers.
            _ => self.check_pointers(instruction)?,
        }
        match op {
            Op::Load => self.used(instruction, (0, 1), false)?,
            Op::Store => self.used(instruction, (0, 2), true)?,
            Op::CopyMemory => {
                self.used(instruction, (1, 2), false)?;
                self.used(instruction, (0, 2), true)?;
            }
            Op::VectorExtractDynamic => self.component(instruction, 1)?,
            Op::VectorInsertDynamic => self.component(instruction, 2)?,
            Op::SDiv | Op::SRem | Op::SMod => return self.division(instruction, true),
            Op::UDiv | Op::UMod => return self.division(instruction, false),
            Op::FunctionCall if self.is_remainder(instruction.operand(0)?) => {
                return self.division(instruction, true);
            }
            Op::ShiftLeftLogical | Op::ShiftRightLogical | Op::ShiftRightArithmetic => self.shift(instruction)?,
            Op::ControlBarrier => return self.barrier(instruction, behind),
            Op::MemoryBarrier => self.state.ordered |= self.orders(instruction, 0),
            _ if instruction.name().starts_with("Atomic") => return self.atomic(instruction),
            _ => {}
        }
        self.code.functions.extend(instruction.words);
        Ok(())
    }

    /// Notes where a chain of indices leads.
    fn follow(&mut self, chain: &Instruction<'_>) -> Checked<()> {
        let base = chain.operand(0)?;
        let to = self.pointers.get(&base).and_then(|from| from.chain(base, &chain.operands[1..], self.layouts));
        self.pointers.extend(chain.id.zip(to));
        Ok(())
    }

    /// Checks the indices behind the pointers that an instruction uses, once in a block.
    fn check_pointers(&mut self, instruction: &Instruction<'_>) -> Checked<()> {
        for id in instruction.ids(|_| false)? {
            let Some(indices) = self.pointers.get(&id).map(|pointer| pointer.indices.clone()) else { continue };
            if !indices.is_empty() && self.state.checked.insert(id) {
                indices.into_iter().for_each(|index| self.bounds(instruction, index));
            }
        }
        Ok(())
    }

    /// Checks an index against the length of what it goes into.
    fn bounds(&mut self, at: &Instruction<'_>, Index { array, value, length }: Index) {
        let is_signed = matches!(self.scalar(value), Some((_, true)));
        let Some(index) = self.as_word(value) else { return };
        let (bool_type, length) = (self.code.bool_type(), self.code.length(length));
        let is_bad = self.code.value(Op::UGreaterThanEqual, bool_type, &[index, length]);
        let array = if array.is_empty() { "a value".to_owned() } else { array };
        self.report(at, Subject::Index { array, is_signed }, (is_bad, code::OUT_OF_RANGE), [index, length]);
    }

    /// Checks the index of a vector's component, which is the operand at a place.
    fn component(&mut self, instruction: &Instruction<'_>, place: usize) -> Checked<()> {
        let (vector, value) = (instruction.operand(0)?, instruction.operand(place)?);
        let Some(&Type::Vector { len, .. }) = self.type_of(vector) else { return Ok(()) };
        let position = self.state.line.map(|[_, line, column]| (line, column));
        let named = position.and_then(|position| self.request.names.get(&position));
        let name = named.map(String::as_str).or_else(|| self.request.part.contents.name(vector));
        let array = name.unwrap_or("a value").to_owned();
        if self.request.part.values.count(value).is_none_or(|index| index >= len) {
            self.bounds(instruction, Index { array, value, length: Length::Fixed(len) });
        }
        Ok(())
    }

    /// Calls `check` for the place of an instruction.
    fn report(&mut self, at: &Instruction<'_>, subject: Subject, (is_bad, what): (u32, u32), [a, b]: [u32; 2]) {
        let (site, what) = (self.site(at.at, subject), self.code.number(what));
        self.call("check", &[is_bad, site, what, a, b]);
    }

    pub(super) fn type_of(&self, value: u32) -> Option<&'a Type> {
        self.request.part.contents.types.get(self.types.get(&value)?)
    }

    /// Width of a number, or of a vector's numbers, and whether they are signed. `None` if they are no integers.
    fn scalar(&self, value: u32) -> Option<(u32, bool)> {
        let ty = match self.type_of(value)? {
            Type::Vector { component, .. } => self.request.part.contents.types.get(component)?,
            ty => ty,
        };
        if let &Type::Int { width, is_signed } = ty { Some((width, is_signed)) } else { None }
    }

    /// The integers of a value, each with its type.
    fn integers(&mut self, value: u32) -> Vec<u32> {
        let Some(&ty) = self.types.get(&value) else { return Vec::new() };
        let Some(&Type::Vector { component, len }) = self.request.part.contents.types.get(&ty) else {
            return vec![value];
        };
        let part = |index| {
            let id = self.code.value(Op::CompositeExtract, component, &[value, index]);
            self.types.insert(id, component);
            id
        };
        (0..len).map(part).collect()
    }

    /// An integer in 32 bits, cut or filled.
    pub(super) fn as_word(&mut self, value: u32) -> Option<u32> {
        self.code.as_u32(value, self.type_of(value))
    }

    /// The words of an integer, the low one first.
    fn words(&mut self, value: u32) -> Option<[u32; 2]> {
        let low = self.as_word(value)?;
        if !matches!(self.scalar(value), Some((64, _))) {
            return Some([low, self.code.number(0)]);
        }
        let (ty, word, bits) = (self.types[&value], self.code.u32_type(), self.code.number(32));
        let high = self.code.value(Op::ShiftRightLogical, ty, &[value, bits]);
        Some([low, self.code.value(Op::UConvert, word, &[high])])
    }

    /// A constant of an integer type, or a vector of such.
    fn constant(&mut self, ty: u32, value: i64) -> u32 {
        match self.request.part.contents.types.get(&ty) {
            Some(&Type::Vector { component, len }) => {
                let parts = vec![self.constant(component, value); len as usize];
                self.code.once(Op::ConstantComposite, Some(ty), &parts)
            }
            Some(&Type::Int { width: 64, .. }) => {
                let wide = value.cast_unsigned();
                #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
                self.code.once(Op::Constant, Some(ty), &[wide as u32, (wide >> 32) as u32])
            }
            Some(&Type::Int { width, is_signed }) => {
                #[expect(clippy::cast_possible_truncation, reason = "the type has no more bits")]
                let word = value.cast_unsigned() as u32;
                let cut = if is_signed || width >= 32 { word } else { word & ((1 << width) - 1) };
                self.code.once(Op::Constant, Some(ty), &[cut])
            }
            _ => unreachable!("the validator refuses a division of what are no integers"),
        }
    }

    /// Whether a constant divides whatever there is.
    fn divides_all(&self, divisor: u32, is_signed: bool, width: u32) -> bool {
        let values = self.request.part.values;
        // An unsigned number may have the bits of -1.
        let most = if is_signed { (1 << (width - 1)) - 1 } else { i128::MAX };
        let divides =
            |id| values.scalar(id).and_then(ScalarValue::integer).is_some_and(|value| value > 0 && value <= most);
        divides(divisor) || values.parts(divisor).is_some_and(|parts| parts.iter().all(|&part| divides(part)))
    }

    /// Checks each component of a quotient or remainder, and divides by one where there is no result: some devices stop the
    /// process.
    fn division(&mut self, instruction: &Instruction<'_>, is_signed: bool) -> Checked<()> {
        let first = usize::from(instruction.op() == Op::FunctionCall);
        let (left, right) = (instruction.operand(first)?, instruction.operand(first + 1)?);
        let types = [left, right].map(|value| self.types.get(&value).copied());
        let width = self.scalar(right).map(|(width, _)| width);
        let width = width.filter(|&width| !self.divides_all(right, is_signed, width));
        let ([Some(left_type), Some(right_type)], Some(width)) = (types, width) else {
            self.code.functions.extend(instruction.words);
            return Ok(());
        };
        let truth = self.truth_like(right_type);
        let zero = self.constant(right_type, 0);
        let mut is_bad = self.code.value(Op::IEqual, truth, &[right, zero]);
        self.divided(instruction, (left, is_bad), (is_signed, width), code::DIVISION_BY_ZERO);
        if is_signed {
            let (least, minus_one) =
                (self.constant(left_type, i64::MIN >> (64 - width)), self.constant(right_type, -1));
            let is_least = self.code.value(Op::IEqual, truth, &[left, least]);
            let is_minus_one = self.code.value(Op::IEqual, truth, &[right, minus_one]);
            let overflows = self.code.value(Op::LogicalAnd, truth, &[is_least, is_minus_one]);
            self.divided(instruction, (left, overflows), (true, width), code::DIVISION_OVERFLOW);
            is_bad = self.code.value(Op::LogicalOr, truth, &[is_bad, overflows]);
        }
        let one = self.constant(right_type, 1);
        let mut operands = instruction.operands.to_vec();
        operands[first + 1] = self.code.value(Op::Select, right_type, &[is_bad, one, right]);
        self.code.functions.extend(with_operands(instruction, &operands));
        Ok(())
    }

    /// Whether a function is what naga calls for a signed `%`, with the two numbers.
    fn is_remainder(&self, function: u32) -> bool {
        self.request.part.contents.name(function).is_some_and(|name| name.starts_with("naga_mod"))
    }

    /// The type of a comparison of values of a type.
    fn truth_like(&mut self, ty: u32) -> u32 {
        let bool_type = self.code.bool_type();
        match self.request.part.contents.types.get(&ty) {
            Some(&Type::Vector { len, .. }) => self.code.once(Op::TypeVector, None, &[bool_type, len]),
            _ => bool_type,
        }
    }

    /// Checks each component of what is divided.
    fn divided(
        &mut self,
        at: &Instruction<'_>,
        (left, is_bad): (u32, u32),
        (is_signed, width): (bool, u32),
        what: u32,
    ) {
        let (parts, bool_type) = (self.integers(left), self.code.bool_type());
        let is_vector = matches!(self.type_of(left), Some(Type::Vector { .. }));
        for (index, part) in (0..).zip(parts) {
            let is_bad = match is_vector {
                true => self.code.value(Op::CompositeExtract, bool_type, &[is_bad, index]),
                false => is_bad,
            };
            let Some(words) = self.words(part) else { return };
            let subject = Subject::Division { is_signed, width: u8::try_from(width / 8).unwrap_or(4) };
            self.report(at, subject, (is_bad, what), words);
        }
    }

    /// Checks each component of the number of bits that a value is shifted by.
    fn shift(&mut self, instruction: &Instruction<'_>) -> Checked<()> {
        let (base, amount) = (instruction.operand(0)?, instruction.operand(1)?);
        let (Some((bits, _)), Some((_, is_signed))) = (self.scalar(base), self.scalar(amount)) else { return Ok(()) };
        if self.request.wraps_shifts {
            return Ok(());
        }
        let values = self.request.part.values;
        let is_inside = |id| values.count(id).is_some_and(|amount| amount < bits);
        if is_inside(amount) || values.parts(amount).is_some_and(|parts| parts.iter().all(|&part| is_inside(part))) {
            return Ok(());
        }
        for part in self.integers(amount) {
            let (Some(word), bool_type) = (self.as_word(part), self.code.bool_type()) else { return Ok(()) };
            let bits = self.code.number(bits);
            let is_bad = self.code.value(Op::UGreaterThanEqual, bool_type, &[word, bits]);
            self.report(instruction, Subject::Shift { is_signed }, (is_bad, code::SHIFT_TOO_FAR), [word, bits]);
        }
        Ok(())
    }

    /// What a barrier of memory orders, whose scope is the operand at a place.
    fn orders(&self, barrier: &Instruction<'_>, scope: usize) -> u32 {
        let known = |place: usize| barrier.operands.get(place).and_then(|id| self.request.part.values.count(*id));
        let (Some(reach), Some(semantics)) = (known(scope), known(scope + 1)) else { return SHARED | BUFFERS };
        let semantics = MemorySemantics::from_bits_truncate(semantics);
        let is_ordering = semantics.intersects(ordering());
        if !is_ordering || [Scope::Subgroup as u32, Scope::Invocation as u32].contains(&reach) {
            return 0;
        }
        let bit = |memory, bit| if semantics.contains(memory) { bit } else { 0 };
        bit(MemorySemantics::WORKGROUP_MEMORY, SHARED) | bit(MemorySemantics::UNIFORM_MEMORY, BUFFERS)
    }

    /// A barrier at which arrivals are counted. Barriers of a subgroup stay as they are.
    fn barrier(&mut self, barrier: &Instruction<'_>, behind: &[Instruction<'_>]) -> Checked<()> {
        let known = |id| self.request.part.values.count(id);
        let (reach, semantics) = (known(barrier.operand(1)?), known(barrier.operand(2)?));
        if known(barrier.operand(0)?) != Some(Scope::Workgroup as u32) {
            self.code.functions.extend(barrier.words);
            return Ok(());
        }
        let at_once = |part: &&Instruction<'_>| matches!(part.op(), Op::Line | Op::NoLine | Op::MemoryBarrier);
        let next = behind.iter().take_while(at_once).filter(|part| part.op() == Op::MemoryBarrier);
        let next = next.fold(0, |orders, part| orders | self.orders(part, 0));
        let orders = self.orders(barrier, 1) | next | std::mem::take(&mut self.state.ordered);
        let site = self.site(barrier.at, Subject::Barrier);
        self.call("arrive", &[site]);
        // The counters are in shared memory, so that has to be ordered even where the shader's own is not.
        let mut semantics =
            MemorySemantics::from_bits_retain(semantics.unwrap_or(0)) | MemorySemantics::WORKGROUP_MEMORY;
        if !semantics.intersects(ordering()) {
            semantics |= MemorySemantics::ACQUIRE_RELEASE;
        }
        let workgroup = Scope::Workgroup as u32;
        let reach = reach.filter(|&reach| reach < workgroup || reach == Scope::QueueFamily as u32).unwrap_or(workgroup);
        let operands = [workgroup, reach, semantics.bits()].map(|value| self.code.number(value));
        self.code.push(Op::ControlBarrier, &operands);
        let orders = self.code.number(orders);
        self.call("passed", &[site, orders]);
        Ok(())
    }
}

fn ordering() -> MemorySemantics {
    MemorySemantics::ACQUIRE
        | MemorySemantics::RELEASE
        | MemorySemantics::ACQUIRE_RELEASE
        | MemorySemantics::SEQUENTIALLY_CONSISTENT
}
