//! Brings the functions of `prelude.rs` into a module: [`graft`]. Their ids become new ones; types and constants that the
//! module has are its own.
//! Read next: `rewrite.rs`, which calls what is brought.

use std::collections::HashMap;

use spirv::{MemoryModel, Op, Scope};

use crate::binary::code::{Code, is_shared};
use crate::binary::instruction::{Checked, HEADER_WORDS, Instruction, instructions_in};
use crate::binary::words::{instruction, instructions, op};

/// What was brought.
pub(super) struct Prelude {
    /// Functions by their name.
    pub(super) functions: HashMap<String, u32>,
    /// Variables of the module.
    pub(super) variables: Vec<u32>,
    /// The words of the functions, which go behind the module's own.
    pub(super) words: Vec<u32>,
}

/// Adds the prelude's declarations to `code`.
pub(super) fn graft(code: &mut Code, prelude: &[u32], module: &[u32]) -> Checked<Prelude> {
    let mut graft = Graft { ids: HashMap::new(), is_vulkan: has_vulkan_memory(module), numbers: HashMap::new() };
    let (mut names, mut functions) = (HashMap::new(), HashMap::new());
    let (mut variables, mut words, mut is_in_functions) = (Vec::new(), Vec::new(), false);
    for part in instructions_in(prelude, HEADER_WORDS..prelude.len()) {
        let part = part?;
        is_in_functions |= part.op() == Op::Function;
        match part.op() {
            Op::Name => drop(names.insert(part.operand(0)?, part.text(1)?)),
            Op::Decorate | Op::MemberDecorate => {
                let target = graft.id(code, part.operand(0)?);
                let operands: Vec<u32> = [target].iter().chain(&part.operands[1..]).copied().collect();
                code.decorations.extend(instruction(part.op(), None, None, &operands));
            }
            _ if is_in_functions => {
                if let (Op::Function, Some(name)) = (part.op(), part.id.and_then(|id| names.remove(&id))) {
                    functions.insert(name, graft.id(code, part.id.unwrap_or_default()));
                }
                let operands = graft.operands(code, &part)?;
                let (ty, id) = (part.ty.map(|ty| graft.id(code, ty)), part.id.map(|id| graft.id(code, id)));
                words.extend(instruction(part.op(), ty, id, &operands));
            }
            op if op.is_type() || op.is_constant() || op == Op::Variable => {
                let ty = part.ty.map(|ty| graft.id(code, ty));
                let (operands, id) = (graft.operands(code, &part)?, part.id.unwrap_or_default());
                if let (Op::Constant, Some(&value)) = (op, part.operands.first()) {
                    graft.numbers.insert(id, value);
                }
                if is_shared(op) && !graft.ids.contains_key(&id) {
                    let own = code.once(op, ty, &operands);
                    graft.ids.insert(id, own);
                    continue;
                }
                let own = graft.id(code, id);
                code.declarations.extend(instruction(op, ty, Some(own), &operands));
                variables.extend((op == Op::Variable).then_some(own));
            }
            _ => {} // Capabilities, the memory model: the module has them.
        }
    }
    Ok(Prelude { functions, variables, words })
}

/// Whether a module has Vulkan's memory model, which has a scope of its own for all of a device.
fn has_vulkan_memory(module: &[u32]) -> bool {
    let model = instructions(module).find(|words| op(words) == Some(Op::MemoryModel));
    model.and_then(|words| words.get(2)) == Some(&(MemoryModel::Vulkan as u32))
}

struct Graft {
    /// New ids by the prelude's.
    ids: HashMap<u32, u32>,
    is_vulkan: bool,
    /// The prelude's constants.
    numbers: HashMap<u32, u32>,
}

impl Graft {
    fn id(&mut self, code: &mut Code, id: u32) -> u32 {
        *self.ids.entry(id).or_insert_with(|| code.new_id())
    }

    fn operands(&mut self, code: &mut Code, part: &Instruction<'_>) -> Checked<Vec<u32>> {
        let mut operands = part.operands.to_vec();
        for place in part.id_places(|_| false)? {
            operands[place] = self.id(code, operands[place]);
        }
        // An atomic operation takes a pointer, then a scope.
        let scope = part.operands.get(1).and_then(|scope| self.numbers.get(scope));
        let is_of_device = scope == Some(&(Scope::Device as u32));
        if self.is_vulkan && part.name().starts_with("Atomic") && is_of_device {
            operands[1] = code.number(Scope::QueueFamily as u32); // The device's needs a feature.
        }
        Ok(operands)
    }
}
