//! Bounds for indices into arrays of bindings, and the mark of those that may differ between invocations.
//!
//! `bounded.rs` finds the chains of indices; `binding_arrays.rs` says what an array of bindings holds.

use spirv::{Decoration, Op, StorageClass};

use super::{Bounded, Bounder, unbounded};
use crate::binary::binding_arrays::non_uniform_capabilities;
use crate::binary::code::Length;
use crate::binary::instruction::{Instruction, instruction_at};

impl Bounder<'_> {
    /// Bounds the index that picks a buffer of an array of bindings. The rest of the chain starts at that buffer.
    pub(super) fn pick(
        &mut self,
        instruction: &Instruction<'_>,
        ((base, class), (buffer, length)): ((u32, u32), (u32, Option<u32>)),
    ) -> Bounded<()> {
        let (index, rest) = (instruction.operand(1)?, &instruction.operands[2..]);
        let Some(count) = length.and_then(|len| self.values.count(len)) else {
            return unbounded(instruction, "an array of bindings whose length nothing says");
        };
        // The only buffer is picked by a constant, which drivers compile to less, and lavapipe 25.0.7 rightly.
        let bounded = match count {
            1 => self.code.number(0),
            _ => self.clamped(instruction, index, Length::Fixed(count))?,
        };
        let is_storage = self.contents.has(buffer, None, Decoration::BufferBlock);
        let is_uniform = class == StorageClass::Uniform as u32 && !is_storage;
        let is_marked = count > 1 && bounded != index && self.of_device.non_uniform[usize::from(is_uniform)];
        if is_marked {
            self.capabilities.extend(non_uniform_capabilities(is_uniform));
        }
        let [head, ty, id, ..] = *instruction.words else { return unbounded(instruction, "nothing") };
        if rest.is_empty() {
            self.code.functions.extend([head, ty, id, base, bounded]);
            if is_marked {
                self.mark_non_uniform(id);
            }
            return Ok(());
        }
        let pointer = self.pointer_type(class, buffer);
        let picked = self.code.value(Op::AccessChain, pointer, &[base, bounded]);
        self.value_types.insert(picked, pointer);
        if is_marked {
            self.mark_non_uniform(picked);
        }
        let mut chain = vec![head - (1 << 16), ty, id, picked];
        chain.extend(rest);
        match instruction_at(&chain, 0)? {
            Some(mut found) => {
                found.at = instruction.at;
                self.chain(&found)
            }
            None => Ok(()),
        }
    }

    fn pointer_type(&mut self, class: u32, pointee: u32) -> u32 {
        let id = self.code.once(Op::TypePointer, None, &[class, pointee]);
        self.pointers.insert(id, (class, pointee));
        id
    }

    /// Says that a pointer may lead to another buffer in each invocation.
    pub(super) fn mark_non_uniform(&mut self, id: u32) {
        let decoration = Decoration::NonUniform as u32;
        if self.non_uniform.insert(id) && !self.contents.has(id, None, Decoration::NonUniform) {
            self.code.decorations.extend([3 << 16 | Op::Decorate as u32, id, decoration]);
        }
    }
}
