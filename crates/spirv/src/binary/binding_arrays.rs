//! Arrays of bindings: [`buffers_in`] says what such an array holds, and [`counted`] gives a length to those without one.
//!
//! No device bounds the index into an array of bindings, and no instruction asks for the length of one that has none. A
//! kernel is built for the number of arrays that a call gives, so its length is known like any other and `bounded.rs`
//! bounds the index.
//! Called by `mod.rs`. Read next: `bounded.rs`.

use std::collections::{BTreeMap, HashMap};

use spirv::{Capability, Decoration, Op};

use super::constants::Values;
use super::contents::{Contents, Global, Type};
use super::instruction::{Checked, Instruction};
use super::reflect::place;
use super::sections::is_declaration;
use super::uses::Use;
use super::words::{HEADER_WORDS, instruction, instructions, new_id, op, text_words};
use crate::signature::{Bindings, MAX_COUNTED};

/// The type of the buffers in an array of bindings, and the id of the constant that is its length, which is the call's if
/// there is none; `None` for any other type.
pub(super) fn buffers_in(contents: &Contents, ty: u32) -> Option<(u32, Option<u32>)> {
    let (element, length) = match *contents.types.get(&ty)? {
        Type::Array { element, len } => (element, Some(len)),
        Type::RuntimeArray { element } => (element, None),
        _ => return None,
    };
    let is_block = [Decoration::Block, Decoration::BufferBlock].iter().any(|of| contents.has(element, None, *of));
    is_block.then_some((element, length))
}

/// The type of the buffers that a variable is, and how many there are; `None` in place of a number that is not known.
pub(super) fn buffer_of(contents: &Contents, values: &Values, global: &Global) -> (u32, Option<Bindings>) {
    match buffers_in(contents, global.pointee) {
        None => (global.pointee, Some(Bindings::One)),
        Some((block, len)) => (block, len.and_then(|len| values.count(len)).filter(|&n| n > 0).map(Bindings::Fixed)),
    }
}

/// Set and binding of an array of bindings without a length, with the length that it got.
pub(super) type Counts = BTreeMap<(Option<u32>, Option<u32>), u32>;

/// The module with a length for each array of bindings without one: those that the entry point uses get `counts`, in the
/// order of set and binding. `None` if there is none, or more than can be counted.
pub(super) fn counted(
    words: &[u32],
    contents: &Contents,
    used: &HashMap<u32, Use>,
    counts: [u32; MAX_COUNTED],
) -> Option<(Vec<u32>, Counts)> {
    let is_open = |global: &&Global| matches!(buffers_in(contents, global.pointee), Some((_, None)));
    let open: Vec<&Global> = contents.globals.iter().filter(is_open).collect();
    let taken = open.iter().filter(|global| used.contains_key(&global.id));
    let mut lengths: Counts = taken.map(|global| (place(contents, global), 1)).collect();
    if open.is_empty() || lengths.len() > MAX_COUNTED {
        return None;
    }
    lengths.values_mut().zip(counts).for_each(|(length, count)| *length = count.max(1));
    let of_variable =
        |global: &&Global| (global.id, lengths.get(&place(contents, global)).copied().unwrap_or(1), global.pointee);
    Some((with_lengths(words, contents, &open.iter().map(of_variable).collect::<Vec<_>>()), lengths))
}

/// Replaces the types of variables: each with its id, the length of its array, and the array's type.
fn with_lengths(words: &[u32], contents: &Contents, variables: &[(u32, u32, u32)]) -> Vec<u32> {
    let mut out = words[..HEADER_WORDS].to_vec();
    let known = contents.types.iter().find(|(_, ty)| **ty == Type::Int { width: 32, is_signed: false });
    let u32_type = known.map_or_else(|| new_id(&mut out), |(id, _)| *id);
    let others =
        contents.globals.iter().filter(|global| matches!(contents.types[&global.pointee], Type::RuntimeArray { .. }));
    let keeps_others = others.count() > variables.len(); // Arrays of images without a length.
    let mut is_declared = false;
    for instruction in instructions(words) {
        let op = op(instruction);
        if !is_declared && op.is_some_and(is_declaration) {
            is_declared = true;
            out.extend([4 << 16 | Op::TypeInt as u32, u32_type, 32, 0]);
        }
        match (op, instruction) {
            (Some(Op::TypeInt), &[_, id, ..]) if id == u32_type => {} // Stands before all others now.
            (Some(Op::Capability), &[_, capability])
                if capability == Capability::RuntimeDescriptorArray as u32 && !keeps_others => {}
            (Some(Op::Variable), &[first, _, id, class, ..]) => {
                let Some(&(_, count, ty)) = variables.iter().find(|(variable, ..)| *variable == id) else {
                    out.extend(instruction);
                    continue;
                };
                let Some((element, _)) = buffers_in(contents, ty) else { continue };
                let [len, array, pointer] = [(); 3].map(|()| new_id(&mut out));
                out.extend([4 << 16 | Op::Constant as u32, u32_type, len, count]);
                out.extend([4 << 16 | Op::TypeArray as u32, array, element, len]);
                out.extend([4 << 16 | Op::TypePointer as u32, pointer, class, array]);
                out.extend([first, pointer, id, class]);
                out.extend(&instruction[4..]);
            }
            _ => out.extend(instruction),
        }
    }
    out
}

/// The module with capabilities of descriptor indexing, which an extension provides in modules before SPIR-V 1.5.
pub fn with_index_capabilities(words: &[u32], capabilities: &[Capability]) -> Vec<u32> {
    const VERSION_1_5: u32 = 0x0001_0500;
    let is_of_extension = words[1] < VERSION_1_5 && !capabilities.is_empty();
    with_capabilities(words, capabilities, is_of_extension.then_some("SPV_EXT_descriptor_indexing"))
}

/// The module with these capabilities and this extension, each declared once.
pub fn with_capabilities(words: &[u32], capabilities: &[Capability], extension: Option<&str>) -> Vec<u32> {
    let is_capability = |instruction: &&[u32]| op(instruction) == Some(Op::Capability);
    let (mut front, rest): (Vec<&[u32]>, Vec<&[u32]>) = instructions(words).partition(is_capability);
    let wanted: Vec<_> = capabilities.iter().map(|&of| [2 << 16 | Op::Capability as u32, of as u32]).collect();
    for capability in &wanted {
        if !front.contains(&capability.as_slice()) {
            front.push(capability);
        }
    }
    let extension = extension.map(|name| instruction(Op::Extension, None, None, &text_words(name)));
    front.extend(extension.as_deref().filter(|extension| !rest.contains(extension)));
    [&words[..HEADER_WORDS], &front.concat(), &rest.concat()].concat()
}

/// The capabilities of arrays of bindings whose index may differ between invocations.
pub fn non_uniform_capabilities(is_uniform: bool) -> [Capability; 2] {
    let of_kind = if is_uniform {
        Capability::UniformBufferArrayNonUniformIndexing
    } else {
        Capability::StorageBufferArrayNonUniformIndexing
    };
    [Capability::ShaderNonUniform, of_kind]
}

/// Whether an instruction declares that indices into arrays of bindings are computed. It is left out: compilers do not agree
/// on declaring it, the signature asks for the feature in any case, and SwiftShader, which has the feature, ends the process
/// at the declaration (5.0.0, 2026-11-26).
pub(super) fn declares_computed_index(instruction: &Instruction<'_>) -> Checked<bool> {
    let left_out = [Capability::StorageBufferArrayDynamicIndexing, Capability::UniformBufferArrayDynamicIndexing];
    let declared = |of: &Capability| instruction.operand(0).map(|number| number == *of as u32);
    Ok(instruction.op() == Op::Capability && (declared(&left_out[0])? || declared(&left_out[1])?))
}
