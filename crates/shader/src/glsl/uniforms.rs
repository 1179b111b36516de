//! OpenGL's uniform variables outside of blocks as push constants: [`as_push_constants`].
//!
//! The compiler gathers them in one uniform block. A program that sets such variables one by one passes numbers, and so
//! does a kernel: the block becomes push constants, each of whose members is one argument. Its layout, std140, is one that
//! push constants may have. Pure: words in, words out.

use std::collections::{HashMap, HashSet};

use spirv::{Decoration, Op, StorageClass};
use vkarray_spirv::internal::{HEADER_WORDS, instructions, new_id, op, text_words};

use super::compiler::UNIFORMS;

/// The module with the block of uniform variables as push constants. `None` if it has no such block, or push constants of its
/// own, of which an entry point can have one block.
pub(super) fn as_push_constants(words: &[u32]) -> Option<Vec<u32>> {
    let block = block(words)?;
    let mut change = ClassChange {
        out: words[..HEADER_WORDS].to_vec(),
        derived: HashSet::from([block.variable]),
        pointers: HashMap::new(),
    };
    let chained = instructions(words).filter(|words| op(words) == Some(Op::AccessChain));
    let mut types = vec![block.pointer];
    for chain in chained {
        if let &[_, ty, id, base, ..] = chain
            && change.derived.contains(&base)
        {
            change.derived.insert(id);
            types.push(ty);
        }
    }
    for instruction in instructions(words) {
        change.take(instruction, &block, &types);
    }
    Some(change.out)
}

/// The block of uniform variables.
struct UniformBlock {
    variable: u32,
    pointer: u32,
}

fn block(words: &[u32]) -> Option<UniformBlock> {
    let name = text_words(UNIFORMS);
    let named: HashSet<u32> = instructions(words)
        .filter(|words| op(words) == Some(Op::Name) && words.get(2..) == Some(&name))
        .map(|words| words[1])
        .collect();
    let of_class = |class: StorageClass| {
        move |words: &&[u32]| op(words) == Some(Op::Variable) && words.get(3) == Some(&(class as u32))
    };
    if instructions(words).any(|words| of_class(StorageClass::PushConstant)(&words)) {
        return None;
    }
    let is_named = |pointer: u32| {
        let is_it = |words: &&[u32]| op(words) == Some(Op::TypePointer) && words.get(1) == Some(&pointer);
        instructions(words).find(is_it).is_some_and(|words| words.get(3).is_some_and(|pointee| named.contains(pointee)))
    };
    let variable = instructions(words).filter(of_class(StorageClass::Uniform)).find(|words| is_named(words[1]))?;
    Some(UniformBlock { variable: variable[2], pointer: variable[1] })
}

struct ClassChange {
    out: Vec<u32>,
    /// The block, and pointers into it.
    derived: HashSet<u32>,
    /// Pointers to push constants, by the pointer to uniform memory in whose place they stand.
    pointers: HashMap<u32, u32>,
}

impl ClassChange {
    fn take(&mut self, instruction: &[u32], block: &UniformBlock, types: &[u32]) {
        match (op(instruction), instruction) {
            (Some(Op::Decorate), &[_, target, decoration, ..])
                if target == block.variable
                    && [Decoration::DescriptorSet as u32, Decoration::Binding as u32].contains(&decoration) => {}
            (Some(Op::TypePointer), &[first, id, _, pointee]) if types.contains(&id) => {
                self.out.extend(instruction);
                let own = new_id(&mut self.out);
                self.pointers.insert(id, own);
                self.out.extend([first, own, StorageClass::PushConstant as u32, pointee]);
            }
            (Some(Op::Variable), &[first, ty, id, _]) if id == block.variable => {
                let ty = self.pointers.get(&ty).copied().unwrap_or(ty);
                self.out.extend([first, ty, id, StorageClass::PushConstant as u32]);
            }
            (Some(Op::AccessChain), &[first, ty, id, ref rest @ ..]) if self.derived.contains(&id) => {
                self.out.extend([first, self.pointers.get(&ty).copied().unwrap_or(ty), id]);
                self.out.extend(rest);
            }
            _ => self.out.extend(instruction),
        }
    }
}
