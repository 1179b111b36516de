//! What is called for a use of shared memory, or of a buffer that the kernel writes.
//!
//! Addresses are computed anew from the indices behind a pointer.

use spirv::{Op, StorageClass};

use super::layout::Run;
use super::memory::Root;
use super::rewrite::Instrumenter;
use super::site::Subject;
use crate::binary::contents::Type;
use crate::binary::instruction::{Checked, Instruction};

/// Granules of one use that are noted one after the other, at most. More are noted in a loop.
const MAX_UNROLLED: u32 = 4;

/// Bits of a memory operand: the use is volatile, or orders itself with uses elsewhere.
const ORDERS_ITSELF: u32 = 0x1 | 0x8 | 0x10;

impl Instrumenter<'_> {
    /// Writes an atomic operation, and what is called before and after it.
    pub(super) fn atomic(&mut self, instruction: &Instruction<'_>) -> Checked<()> {
        let pointer = instruction.operand(0)?;
        let name = if instruction.op() == Op::AtomicStore { "atomic_write" } else { "atomic_read" };
        if let Some(Root::Shared(_)) = self.pointers.get(&pointer).and_then(|pointer| pointer.noted()) {
            self.note(instruction, pointer, name);
        }
        self.code.functions.extend(instruction.words);
        let local = [StorageClass::Workgroup, StorageClass::Private, StorageClass::Function].map(|class| class as u32);
        if matches!(self.type_of(pointer), Some(Type::Pointer { class, .. }) if !local.contains(class)) {
            self.call("synchronise", &[]);
        }
        Ok(())
    }

    /// Notes that an instruction reads or writes what an operand points to. `mask` is the place of its memory operand.
    pub(super) fn used(
        &mut self,
        instruction: &Instruction<'_>,
        (place, mask): (usize, usize),
        is_write: bool,
    ) -> Checked<()> {
        let pointer = instruction.operand(place)?;
        let name = match (self.pointers.get(&pointer).and_then(|pointer| pointer.noted()), is_write) {
            (Some(Root::Shared(_)), false) => "shared_read",
            (Some(Root::Shared(_)), true) => "shared_write",
            (Some(Root::Buffer(_)), false) => "buffer_read",
            (Some(Root::Buffer(_)), true) => "buffer_write",
            _ => return Ok(()),
        };
        if instruction.operands.get(mask).is_none_or(|mask| mask & ORDERS_ITSELF == 0) {
            self.note(instruction, pointer, name);
        }
        Ok(())
    }

    /// Calls that function for each granule that a pointer leads to, or its form with a loop.
    fn note(&mut self, at: &Instruction<'_>, pointer: u32, function: &str) {
        let pointer = self.pointers[&pointer].clone();
        let (granule, subject, buffer) = match pointer.noted() {
            Some(Root::Shared(_)) => (self.memory.granule, Subject::Shared(pointer.span()), None),
            Some(Root::Buffer(buffer)) => {
                (self.memory.buffer_granule, Subject::Buffer(pointer.span()), Some(self.code.number(buffer)))
            }
            _ => return,
        };
        let site = self.site(at.at, subject);
        let steps = self.steps(&pointer.steps);
        for run in self.layouts.runs(pointer.part) {
            let Run { offset, bytes, stride, count } = run;
            let first = pointer.start.saturating_add(offset);
            if count == 1 && bytes.div_ceil(granule) <= MAX_UNROLLED {
                for granule in (0..bytes).step_by(granule as usize) {
                    let byte = self.byte(first.saturating_add(granule), steps);
                    let arguments: Vec<u32> = buffer.into_iter().chain([byte, site]).collect();
                    self.call(function, &arguments);
                }
                continue;
            }
            let byte = self.byte(first, steps);
            let numbers = [bytes, stride, count].map(|value| self.code.number(value));
            let arguments: Vec<u32> = buffer.into_iter().chain([byte]).chain(numbers).chain([site]).collect();
            self.call(&format!("{function}s"), &arguments);
        }
    }

    /// The bytes of the steps to a part, if there are any.
    fn steps(&mut self, steps: &[(u32, u32)]) -> Option<u32> {
        let word = self.code.u32_type();
        let mut sum = None;
        for &(value, stride) in steps {
            let (index, stride) = (self.as_word(value)?, self.code.number(stride));
            let bytes = self.code.value(Op::IMul, word, &[index, stride]);
            sum = Some(sum.map_or(bytes, |sum| self.code.value(Op::IAdd, word, &[sum, bytes])));
        }
        sum
    }

    fn byte(&mut self, start: u32, steps: Option<u32>) -> u32 {
        let (word, number) = (self.code.u32_type(), self.code.number(start));
        steps.map_or(number, |steps| self.code.value(Op::IAdd, word, &[steps, number]))
    }
}
