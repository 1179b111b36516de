//! What a pointer leads to: [`Pointer`], followed from a variable through access chains.
//!
//! The indices on the way are kept, so that they are checked where the pointer is used: a compiler may move the chain
//! itself in front of the comparison that guards it.

use super::layout::{Count, Layouts, TypedPart};
use super::memory::Root;
use super::site::MemorySpan;
use crate::binary::code::Length;
use crate::binary::contents::Type;

/// A pointer to a part of a variable.
#[derive(Clone, Debug)]
pub(super) struct Pointer {
    pub(super) root: Root,
    pub(super) part: TypedPart,
    /// What the shader calls it.
    pub(super) name: String,
    /// The indices on the way to it that are not known to be in range.
    pub(super) indices: Vec<Index>,
    /// Its first byte, without the steps.
    pub(super) start: u32,
    /// Values that are multiplied by a number of bytes.
    pub(super) steps: Vec<(u32, u32)>,
    /// The outermost array on the way, for messages.
    pub(super) array: Option<MemorySpan>,
    /// The struct that it is a member of: a pointer to that, and the member's number.
    member: Option<(u32, u32)>,
    /// Whether its place is not known, so that its uses are not noted.
    is_lost: bool,
}

/// An index on the way to a part.
#[derive(Clone, Debug)]
pub(super) struct Index {
    /// What is indexed.
    pub(super) array: String,
    pub(super) value: u32,
    pub(super) length: Length,
}

impl Pointer {
    /// The whole of a variable.
    pub(super) fn whole(name: String, root: Root, part: TypedPart) -> Self {
        let start = if let Root::Shared(start) = root { start } else { 0 };
        Self {
            root,
            part,
            name,
            indices: Vec::new(),
            start,
            steps: Vec::new(),
            array: None,
            member: None,
            is_lost: false,
        }
    }

    /// The part that a chain of indices leads to; `base` is the id of this pointer.
    pub(super) fn chain(&self, base: u32, indices: &[u32], layouts: Layouts<'_>) -> Option<Self> {
        let mut pointer = self.clone();
        for (position, &value) in indices.iter().enumerate() {
            let known = layouts.values.count(value);
            if let Some(Type::Struct { members }) = layouts.contents.types.get(&pointer.part.ty) {
                pointer.member(known?, (position == 0).then_some(base), members.len(), layouts)?;
            } else {
                pointer.element(value, known, layouts)?;
            }
        }
        Some(pointer)
    }

    fn member(&mut self, index: u32, of: Option<u32>, n_members: usize, layouts: Layouts<'_>) -> Option<()> {
        let called = layouts.contents.member_name(self.part.ty, index).map(str::to_owned);
        let is_only = n_members == 1;
        match layouts.member(self.part, index) {
            Some((offset, part)) => {
                self.start = self.start.saturating_add(offset);
                self.part = part;
            }
            None => {
                let Some(Type::Struct { members }) = layouts.contents.types.get(&self.part.ty) else { return None };
                self.is_lost = true;
                self.part.ty = *members.get(index as usize)?;
            }
        }
        self.member = of.map(|pointer| (pointer, index));
        self.name = match called {
            Some(member) if self.name.is_empty() => member,
            Some(member) => format!("{}.{member}", self.name),
            None if is_only => std::mem::take(&mut self.name), // What wraps an array in a block.
            None => format!("{}.{index}", self.name),
        };
        Some(())
    }

    fn element(&mut self, value: u32, known: Option<u32>, layouts: Layouts<'_>) -> Option<()> {
        let (count, stride, part) = layouts.element(self.part)?;
        let length = match (count, self.member.take()) {
            (Count::Fixed(length), _) => (known.is_none_or(|index| index >= length)).then_some(Length::Fixed(length)),
            (Count::Runtime, Some((pointer, member))) => Some(Length::Runtime { pointer, member }),
            _ => None,
        };
        self.indices.extend(length.map(|length| Index { array: self.name.clone(), value, length }));
        if self.array.is_none() {
            let (name, start) = (self.name.clone(), self.start);
            self.array = Some(MemorySpan { name, start, bytes: u32::MAX - start, stride: Some(stride) });
        }
        match known {
            Some(index) => self.start = self.start.saturating_add(index.saturating_mul(stride)),
            None => self.steps.push((value, stride)),
        }
        self.name += &known.map_or_else(|| "[…]".to_owned(), |index| format!("[{index}]"));
        self.part = part;
        Some(())
    }

    /// The memory that is noted.
    pub(super) fn noted(&self) -> Option<Root> {
        Some(self.root).filter(|root| *root != Root::Other && !self.is_lost)
    }

    /// What a message calls the memory that it leads to.
    pub(super) fn span(&self) -> MemorySpan {
        self.array.clone().unwrap_or_else(|| {
            let (name, start) = (self.name.clone(), self.start);
            MemorySpan { name, start, bytes: u32::MAX - start, stride: None }
        })
    }
}
