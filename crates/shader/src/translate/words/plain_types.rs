//! Gives workgroup, private and function variables types without an explicit layout.
//!
//! A layout (`ArrayStride`, `Offset` and their like) belongs to memory that the host sees. naga writes it on every array and
//! struct; Vulkan forbids it on workgroup variables, and some drivers rely on it. So each such type that buffers do not
//! use loses its layout here. One that they use too gets a *plain twin*: variables hold the twin, values keep the type
//! that naga gave them, and `OpCopyLogical` (SPIR-V 1.4) stands where a whole value is loaded or stored.
//!
//! Pure: words in, words out. Covers the instructions that naga writes for compute kernels, not all of SPIR-V; other words
//! make no sense afterwards, as before, but no panic.
//! Called by `translate/emit.rs` only; judged by `translate/module/tests/plain_types.rs`.

use std::collections::{HashMap, HashSet};

use spirv::{Decoration, Op, StorageClass};
use vkarray_spirv::internal::{HEADER_WORDS, instruction, instructions, new_id, op};

/// Rewrites a module of SPIR-V 1.4 or later.
pub(crate) fn with_plain_types(words: &[u32]) -> Vec<u32> {
    let Some((header, _)) = words.split_at_checked(HEADER_WORDS) else { return words.to_vec() };
    let mut out = header.to_vec();
    let plan = TypeRewrites::new(&DeclaredTypes::read(words), &mut out);
    let mut rewriter = Rewriter { plan, constants: HashMap::new(), pointers: HashMap::new(), out };
    instructions(words).for_each(|instruction| rewriter.rewrite(instruction));
    rewriter.out
}

/// Whether the device chooses where the parts of such a variable lie.
fn is_plain(class: u32) -> bool {
    [StorageClass::Workgroup, StorageClass::Private, StorageClass::Function].map(|plain| plain as u32).contains(&class)
}

fn is_layout(decoration: u32) -> bool {
    use Decoration as D;
    [D::ArrayStride, D::Offset, D::MatrixStride, D::ColMajor, D::RowMajor]
        .map(|layout| layout as u32)
        .contains(&decoration)
}

/// The arrays, structs and pointers that a module declares.
#[derive(Default)]
struct DeclaredTypes {
    /// Arrays and structs with the types of their elements and members, in the order of declaration: parts come first.
    composites: Vec<(u32, Vec<u32>)>,
    /// What pointers into plain memory point to.
    plain: Vec<u32>,
    /// What other pointers point to.
    laid_out: Vec<u32>,
    /// Pointers into plain memory, by their type, with what they point to.
    pointers: Vec<(u32, u32)>,
}

impl DeclaredTypes {
    fn read(words: &[u32]) -> Self {
        let mut types = Self::default();
        for instruction in instructions(words) {
            match (op(instruction), instruction) {
                (Some(Op::TypeArray | Op::TypeRuntimeArray), &[_, id, element, ..]) => {
                    types.composites.push((id, vec![element]));
                }
                (Some(Op::TypeStruct), [_, id, members @ ..]) => types.composites.push((*id, members.to_vec())),
                (Some(Op::TypePointer), &[_, id, class, pointee]) if is_plain(class) => {
                    types.plain.push(pointee);
                    types.pointers.push((id, pointee));
                }
                (Some(Op::TypePointer), &[_, _, _, pointee]) => types.laid_out.push(pointee),
                _ => {}
            }
        }
        types
    }

    /// Everything that lies in the roots, and they themselves.
    fn closure(&self, roots: &[u32]) -> HashSet<u32> {
        let parts: HashMap<_, _> = self.composites.iter().map(|(id, parts)| (*id, parts)).collect();
        let mut found = HashSet::new();
        let mut open = roots.to_vec();
        while let Some(id) = open.pop() {
            if found.insert(id) {
                open.extend(parts.get(&id).into_iter().copied().flatten());
            }
        }
        found
    }
}

/// What becomes of each type.
struct TypeRewrites {
    /// These lose their layout.
    stripped: HashSet<u32>,
    /// These keep it, and get a twin without.
    twins: HashMap<u32, u32>,
    /// Types of pointers that are to point to a twin, with the type they point to now.
    pointers: HashMap<u32, u32>,
}

impl TypeRewrites {
    fn new(types: &DeclaredTypes, out: &mut [u32]) -> Self {
        let (plain, laid_out) = (types.closure(&types.plain), types.closure(&types.laid_out));
        let mut twins = HashMap::new();
        for (id, parts) in &types.composites {
            // A type that only plain memory holds needs a twin as well if a part of it has one: its values keep the part.
            let is_shared = laid_out.contains(id) || parts.iter().any(|part| twins.contains_key(part));
            if plain.contains(id) && is_shared {
                twins.entry(*id).or_insert_with(|| new_id(out));
            }
        }
        let pointers = types.pointers.iter().copied().filter(|(_, pointee)| twins.contains_key(pointee)).collect();
        Self { stripped: plain.difference(&laid_out).copied().collect(), twins, pointers }
    }

    fn twin_or_same(&self, ty: u32) -> u32 {
        self.twins.get(&ty).copied().unwrap_or(ty)
    }
}

/// Walks the module once, in order.
struct Rewriter {
    plan: TypeRewrites,
    /// Twins of constants.
    constants: HashMap<u32, u32>,
    /// Pointers to twins, with the type of the values that go through them.
    pointers: HashMap<u32, u32>,
    out: Vec<u32>,
}

impl Rewriter {
    fn rewrite(&mut self, instruction: &[u32]) {
        let Some(op) = op(instruction) else { return self.out.extend(instruction) };
        match (op, instruction) {
            (Op::Decorate, &[_, ty, decoration, ..]) | (Op::MemberDecorate, &[_, ty, _, decoration, ..])
                if self.plan.stripped.contains(&ty) && is_layout(decoration) => {}
            (Op::Name | Op::MemberName, [first, target, rest @ ..]) => {
                self.out.extend(instruction);
                if let Some(&twin) = self.plan.twins.get(target) {
                    self.out.extend([*first, twin].iter().chain(rest));
                }
            }
            (Op::TypeArray | Op::TypeStruct, [first, id, parts @ ..]) => self.declare(*first, *id, parts),
            (Op::TypePointer, &[first, id, class, pointee]) if self.plan.pointers.contains_key(&id) => {
                self.out.extend([first, id, class, self.plan.twin_or_same(pointee)]);
            }
            (Op::ConstantNull | Op::ConstantComposite, [first, ty, id, parts @ ..]) => {
                self.out.extend(instruction);
                self.constant([*first, *ty, *id], parts);
            }
            (Op::Variable, &[first, ty, id, class, init]) => {
                self.note_pointer(ty, id);
                self.out.extend([first, ty, id, class, self.plain_constant(ty, init)]);
            }
            (
                Op::Variable | Op::FunctionParameter | Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject,
                &[_, ty, id, ..],
            ) => {
                self.note_pointer(ty, id);
                self.out.extend(instruction);
            }
            (Op::Load, [first, ty, id, pointer, rest @ ..]) if self.pointers.contains_key(pointer) => {
                let loaded = new_id(&mut self.out);
                self.out.extend([*first, self.plan.twin_or_same(*ty), loaded, *pointer].iter().chain(rest));
                self.copy(*ty, *id, loaded);
            }
            (Op::Store, [first, pointer, value, rest @ ..]) if self.pointers.contains_key(pointer) => {
                let stored = self.converted(self.pointers[pointer], *value);
                self.out.extend([*first, *pointer, stored].iter().chain(rest));
            }
            _ => self.out.extend(instruction),
        }
    }

    /// Declares an array or struct, and its twin after it.
    fn declare(&mut self, first: u32, id: u32, parts: &[u32]) {
        self.out.extend([first, id].iter().chain(parts));
        if let Some(&twin) = self.plan.twins.get(&id) {
            // An array's length is among the parts; it is no type, so it has no twin.
            let parts = parts.iter().map(|&part| self.plan.twin_or_same(part));
            self.out.extend([first, twin].into_iter().chain(parts));
        }
    }

    /// Declares the twin of a constant, if its type has one.
    fn constant(&mut self, [first, ty, id]: [u32; 3], parts: &[u32]) {
        if let Some(&ty) = self.plan.twins.get(&ty) {
            let twin = new_id(&mut self.out);
            let parts = parts.iter().map(|part| self.constants.get(part).copied().unwrap_or(*part));
            self.out.extend([first, ty, twin].into_iter().chain(parts));
            self.constants.insert(id, twin);
        }
    }

    /// What a variable of this type starts with.
    fn plain_constant(&self, pointer_type: u32, init: u32) -> u32 {
        let twin = self.constants.get(&init).filter(|_| self.plan.pointers.contains_key(&pointer_type));
        twin.copied().unwrap_or(init)
    }

    fn note_pointer(&mut self, ty: u32, id: u32) {
        if let Some(&pointee) = self.plan.pointers.get(&ty) {
            self.pointers.insert(id, pointee);
        }
    }

    /// The value, of this type, as one of its twin.
    fn converted(&mut self, ty: u32, value: u32) -> u32 {
        self.constants.get(&value).copied().unwrap_or_else(|| {
            let twin = new_id(&mut self.out);
            self.copy(self.plan.twin_or_same(ty), twin, value);
            twin
        })
    }

    fn copy(&mut self, ty: u32, id: u32, from: u32) {
        self.out.extend(instruction(Op::CopyLogical, Some(ty), Some(id), &[from]));
    }
}
