//! Where the parts of a type lie: [`TypedPart`], and the bytes that a value of it fills ([`Run`]).
//!
//! Buffers lie as their decorations say. Shared memory has no layout that a shader sees, so the checks number its bytes by
//! rules of their own: each number behind the one before it, at a multiple of its size. Padding belongs to no value: to
//! read a struct does not read what lies between its members.

use spirv::Decoration;

use crate::binary::constants::Values;
use crate::binary::contents::{Contents, Type};

/// Runs of one value, at most. What lies behind them is not noted.
const MAX_RUNS: usize = 1 << 12;

/// Which rules a type lies by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LayoutRules {
    Declared,
    Packed,
}

/// A type, and what the types around it say about where its numbers lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct TypedPart {
    pub(super) ty: u32,
    rules: LayoutRules,
    /// Bytes between the columns of matrices in it, or between rows.
    matrix: Option<(u32, bool)>,
    /// Bytes between components, of a vector that is the column of a matrix that lies by rows.
    spread: Option<u32>,
}

/// The number of elements of what is indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    Fixed(u32),
    /// The buffer's size says.
    Runtime,
    Unknown,
}

/// Bytes that a value fills: `count` times `bytes`, each `stride` behind the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) offset: u32,
    pub(super) bytes: u32,
    pub(super) stride: u32,
    pub(super) count: u32,
}

/// The types of a module.
#[derive(Clone, Copy)]
pub(super) struct Layouts<'a> {
    pub(super) contents: &'a Contents,
    pub(super) values: &'a Values,
}

/// The module's structure was checked, so types end; arrays may be as long as they like.
impl<'a> Layouts<'a> {
    fn ty(&self, id: u32) -> Option<&'a Type> {
        self.contents.types.get(&id)
    }

    /// The whole of a variable.
    pub(super) fn whole(&self, ty: u32, rules: LayoutRules) -> TypedPart {
        TypedPart { ty, rules, matrix: None, spread: None }
    }

    /// A member of a struct, and its first byte.
    pub(super) fn member(&self, part: TypedPart, index: u32) -> Option<(u32, TypedPart)> {
        let Some(Type::Struct { members }) = self.ty(part.ty) else { return None };
        let &ty = members.get(index as usize)?;
        if part.rules == LayoutRules::Packed {
            let (end, _) = self.packed_members(&members[..index as usize]);
            return Some((aligned(end, self.packed(ty).1), self.whole(ty, part.rules)));
        }
        let of_member = |decoration| self.contents.decoration(part.ty, Some(index), decoration);
        let is_by_rows = self.contents.has(part.ty, Some(index), Decoration::RowMajor);
        let matrix = of_member(Decoration::MatrixStride).map(|stride| (stride, is_by_rows));
        Some((of_member(Decoration::Offset)?, TypedPart { ty, matrix, ..part }))
    }

    /// What an index leads to: how many there are, the bytes from one to the next, and one of them.
    pub(super) fn element(&self, part: TypedPart) -> Option<(Count, u32, TypedPart)> {
        let size = |ty| self.packed(ty).0;
        match *self.ty(part.ty)? {
            Type::Vector { component, len } => {
                let stride = part.spread.unwrap_or_else(|| size(component));
                Some((Count::Fixed(len), stride, TypedPart { ty: component, spread: None, ..part }))
            }
            Type::Matrix { column, columns } => {
                let Some(&Type::Vector { component, .. }) = self.ty(column) else { return None };
                let (stride, spread) = match part.matrix {
                    None => (size(column), None),
                    Some((stride, false)) => (stride, None),
                    Some((stride, true)) => (size(component), Some(stride)),
                };
                Some((Count::Fixed(columns), stride, TypedPart { ty: column, spread, ..part }))
            }
            Type::Array { element, len } => {
                let count = self.values.count(len).map_or(Count::Unknown, Count::Fixed);
                Some((count, self.stride(part, element), TypedPart { ty: element, ..part }))
            }
            Type::RuntimeArray { element } => {
                Some((Count::Runtime, self.stride(part, element), TypedPart { ty: element, ..part }))
            }
            _ => None,
        }
    }

    fn stride(&self, part: TypedPart, element: u32) -> u32 {
        let declared = self.contents.decoration(part.ty, None, Decoration::ArrayStride);
        declared.filter(|_| part.rules == LayoutRules::Declared).unwrap_or_else(|| {
            let (bytes, alignment) = self.packed(element);
            aligned(bytes, alignment)
        })
    }

    /// Bytes and alignment by the checks' own rules.
    pub(super) fn packed(&self, ty: u32) -> (u32, u32) {
        match self.ty(ty) {
            Some(Type::Int { width, .. } | Type::Float { width, .. }) => {
                let bytes = (width / 8).clamp(1, 8);
                (bytes, bytes)
            }
            Some(&Type::Vector { component: part, len } | &Type::Matrix { column: part, columns: len }) => {
                let (bytes, alignment) = self.packed(part);
                (bytes.saturating_mul(len), alignment)
            }
            Some(&Type::Array { element, len }) => {
                let (bytes, alignment) = self.packed(element);
                (aligned(bytes, alignment).saturating_mul(self.values.count(len).unwrap_or(0)), alignment)
            }
            Some(Type::Struct { members }) => {
                let (end, most) = self.packed_members(members);
                (aligned(end, most), most)
            }
            _ => (4, 4), // A truth value; others are not counted.
        }
    }

    /// Where the last of these members ends that lie one behind the other, and the largest alignment among them.
    fn packed_members(&self, members: &[u32]) -> (u32, u32) {
        members.iter().map(|&member| self.packed(member)).fold((0, 1), |(end, most), (bytes, alignment)| {
            (aligned(end, alignment).saturating_add(bytes), most.max(alignment))
        })
    }

    /// Bytes of the smallest number, four at most.
    pub(super) fn granule(&self, ty: u32) -> u32 {
        match self.ty(ty) {
            Some(Type::Int { width, .. } | Type::Float { width, .. }) => (width / 8).clamp(1, 4),
            Some(
                &Type::Vector { component: part, .. }
                | &Type::Matrix { column: part, .. }
                | &Type::Array { element: part, .. }
                | &Type::RuntimeArray { element: part },
            ) => self.granule(part),
            Some(Type::Struct { members }) => members.iter().map(|&member| self.granule(member)).min().unwrap_or(4),
            _ => 4,
        }
    }

    /// The bytes that a value fills, by offset.
    pub(super) fn runs(&self, part: TypedPart) -> Vec<Run> {
        match self.ty(part.ty) {
            Some(Type::Struct { members }) => {
                let mut all = Vec::new();
                for index in (0..).take(members.len()) {
                    let Some((offset, member)) = self.member(part, index) else { continue };
                    for run in self.runs(member) {
                        push(&mut all, Run { offset: run.offset.saturating_add(offset), ..run });
                    }
                }
                all
            }
            Some(Type::Bool | Type::Int { .. } | Type::Float { .. }) => {
                vec![Run { offset: 0, bytes: self.packed(part.ty).0, stride: 0, count: 1 }]
            }
            _ => match self.element(part) {
                Some((Count::Fixed(count), stride, element)) => repeated(&self.runs(element), count, stride),
                _ => Vec::new(),
            },
        }
    }
}

/// The next multiple of an alignment, or the largest number: types may be larger than memory.
fn aligned(bytes: u32, alignment: u32) -> u32 {
    bytes.checked_next_multiple_of(alignment).unwrap_or(u32::MAX)
}

/// Adds a run, to the last one if it goes on without a gap.
fn push(all: &mut Vec<Run>, run: Run) {
    match all.last_mut() {
        Some(last) if last.count == 1 && run.count == 1 && last.offset.checked_add(last.bytes) == Some(run.offset) => {
            last.bytes = last.bytes.saturating_add(run.bytes);
        }
        _ => all.push(run),
    }
}

/// The runs of `count` values in a row.
fn repeated(element: &[Run], count: u32, stride: u32) -> Vec<Run> {
    match element {
        [only] if only.count == 1 && only.offset == 0 && only.bytes == stride => {
            vec![Run { bytes: stride.saturating_mul(count), ..*only }]
        }
        flat if flat.iter().all(|run| run.count == 1) => flat.iter().map(|run| Run { stride, count, ..*run }).collect(),
        nested => (0..count)
            .flat_map(|i| nested.iter().map(move |run| (i.saturating_mul(stride), *run)))
            .map(|(start, run)| Run { offset: run.offset.saturating_add(start), ..run })
            .take(MAX_RUNS)
            .collect(),
    }
}
