//! SPIR-V that runs over several axes of a device as if over one: [`with_folded_launch`], and [`counts_workgroups`].
//!
//! `translate/fold.rs` of `vkarray-shader` says how a launch is folded. Here the built-in values that number workgroups and
//! invocations give way to private variables of the same content, which the entry point computes before its first
//! statement. For modules that were WGSL or GLSL, which use these values by loads and by access chains. Pure.

use std::collections::HashMap;

use spirv::{BuiltIn, Decoration, Op, StorageClass};

use super::code::Code;
use super::words::{HEADER_WORDS, instructions, op};

/// The variables that hold a built-in value.
fn built_in(words: &[u32], wanted: BuiltIn) -> Option<u32> {
    let is_it = |words: &&[u32]| {
        op(words) == Some(Op::Decorate) && words.get(2..) == Some(&[Decoration::BuiltIn as u32, wanted as u32])
    };
    let is_variable = |id: u32| instructions(words).any(|words| op(words) == Some(Op::Variable) && words[2] == id);
    instructions(words).filter(is_it).map(|words| words[1]).find(|&id| is_variable(id))
}

/// Whether the module reads the number of workgroups.
pub fn counts_workgroups(words: &[u32]) -> bool {
    built_in(words, BuiltIn::NumWorkgroups).is_some()
}

/// The module with the numbers of a launch along x. A module that asks for none of them stays as it is.
///
/// `axes` are the workgroups that fit the axes x and y, `n_workgroups` those in all, for a kernel that reads their number, and
/// `size` are the invocations of a workgroup along x.
pub fn with_folded_launch(words: &[u32], axes: [u32; 2], n_workgroups: Option<u32>, size: u32) -> Vec<u32> {
    let replaced = [BuiltIn::GlobalInvocationId, BuiltIn::WorkgroupId, BuiltIn::NumWorkgroups];
    let replaced: Vec<(BuiltIn, u32)> =
        replaced.into_iter().filter_map(|built_in_| Some((built_in_, built_in(words, built_in_)?))).collect();
    if replaced.is_empty() {
        return words.to_vec();
    }
    let mut folder = Folder::new(words);
    let [workgroup, local] =
        [BuiltIn::WorkgroupId, BuiltIn::LocalInvocationId].map(|wanted| folder.input(words, wanted));
    let class = StorageClass::Private as u32;
    let pointer = folder.code.once(Op::TypePointer, None, &[class, folder.vector]);
    let component = folder.code.once(Op::TypePointer, None, &[class, folder.word]);
    let workgroup = folder.workgroup(workgroup, axes);
    let mut own = HashMap::new();
    for (wanted, variable) in replaced {
        let value = folder.value(wanted, (workgroup, local), n_workgroups, size);
        let private = folder.code.declare(Op::Variable, Some(pointer), &[class]);
        folder.interface.push(private);
        folder.code.push(Op::Store, &[private, value]);
        own.insert(variable, private);
    }
    folder.put_together(words, &own, component)
}

struct Folder {
    /// What is added, whose functions are what the entry point begins with.
    code: Code,
    /// The types of the built-in values and of their components.
    vector: u32,
    word: u32,
    /// Variables that are added to the entry point.
    interface: Vec<u32>,
}

impl Folder {
    fn new(words: &[u32]) -> Self {
        let mut code = Code::new(words);
        let word = code.u32_type();
        Self { vector: code.once(Op::TypeVector, None, &[word, 3]), word, code, interface: Vec::new() }
    }

    /// The variable that holds a built-in value.
    fn input(&mut self, words: &[u32], wanted: BuiltIn) -> u32 {
        built_in(words, wanted).unwrap_or_else(|| {
            let variable = self.code.input(wanted, self.vector);
            self.interface.push(variable);
            variable
        })
    }

    /// The components of a vector in memory.
    fn components(&mut self, variable: u32) -> [u32; 3] {
        let vector = self.code.value(Op::Load, self.vector, &[variable]);
        [0, 1, 2].map(|index| self.code.value(Op::CompositeExtract, self.word, &[vector, index]))
    }

    /// `a * factor + b`.
    fn multiply_add(&mut self, a: u32, factor: u32, b: u32) -> u32 {
        let factor = self.code.number(factor);
        let product = self.code.value(Op::IMul, self.word, &[a, factor]);
        self.code.value(Op::IAdd, self.word, &[product, b])
    }

    /// The number of this workgroup, unfolded.
    fn workgroup(&mut self, variable: u32, [row, n_rows]: [u32; 2]) -> u32 {
        let [x, y, z] = self.components(variable);
        let rows = self.multiply_add(z, n_rows, y);
        self.multiply_add(rows, row, x)
    }

    /// A built-in value as the shader is to see it.
    fn value(&mut self, wanted: BuiltIn, (workgroup, local): (u32, u32), n_workgroups: Option<u32>, size: u32) -> u32 {
        let mut number = |value: u32| self.code.number(value);
        let components = match wanted {
            BuiltIn::NumWorkgroups => [number(n_workgroups.unwrap_or(0)), number(1), number(1)],
            BuiltIn::WorkgroupId => [workgroup, number(0), number(0)],
            _ => {
                let [x, y, z] = self.components(local);
                [self.multiply_add(workgroup, size, x), y, z]
            }
        };
        self.code.value(Op::CompositeConstruct, self.vector, &components)
    }

    /// The module with what was added, and with its own variables in place of the built-in ones.
    fn put_together(mut self, words: &[u32], own: &HashMap<u32, u32>, component: u32) -> Vec<u32> {
        let begin = std::mem::take(&mut self.code.functions);
        let mut front = words[..HEADER_WORDS].to_vec();
        let (mut entry, mut is_in_functions, mut at_start) = (None, false, false);
        for instruction in instructions(words) {
            let op = op(instruction);
            is_in_functions |= op == Some(Op::Function);
            let out = if is_in_functions { &mut self.code.functions } else { &mut front };
            if op == Some(Op::Function) {
                at_start = entry == instruction.get(2).copied();
            } else if at_start && !matches!(op, Some(Op::Label | Op::Variable | Op::Line | Op::NoLine)) {
                out.extend(&begin);
                at_start = false;
            }
            match (op, instruction) {
                (Some(Op::EntryPoint), &[first, _, function, ..]) => {
                    entry = Some(function);
                    let n_added = u32::try_from(self.interface.len()).unwrap_or(u32::MAX);
                    out.push(first + (n_added << 16));
                    out.extend(&instruction[1..]);
                    out.extend(&self.interface);
                }
                (Some(Op::Load), &[first, ty, id, from, ref rest @ ..]) if own.contains_key(&from) => {
                    out.extend([first, ty, id, own[&from]]);
                    out.extend(rest);
                }
                (Some(Op::AccessChain), &[first, _, id, from, ref rest @ ..]) if own.contains_key(&from) => {
                    out.extend([first, component, id, own[&from]]);
                    out.extend(rest);
                }
                _ => out.extend(instruction),
            }
        }
        self.code.assembled(&front)
    }
}
