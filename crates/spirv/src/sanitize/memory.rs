//! The memory whose uses are noted: [`Memory`]. It is shared memory, and the buffers that the kernel writes.
//!
//! Bytes of shared memory are numbered by the checks. The notes of buffers take two words for each granule, the smallest
//! number in these buffers, and are made for each dispatch. A buffer whose notes do not fit is not looked at.

use std::collections::HashMap;

use spirv::{Decoration, StorageClass};

use super::InstrumentRequest;
use super::layout::{LayoutRules, Layouts, Run, TypedPart};
use crate::binary::contents::{Global, Type};
use crate::binary::reflect::place;

/// In place of an offset: the buffer's notes are not kept.
pub(crate) const NO_NOTES: u32 = u32::MAX;

/// Where each shared variable starts.
const ALIGNMENT: u32 = 16;

/// Bytes of shared memory that are numbered, at most. No device has so many.
const MAX_SHARED: u32 = 1 << 30;

/// What a pointer leads into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    /// Shared memory, from this byte on.
    Shared(u32),
    /// A buffer, by its number.
    Buffer(u32),
    /// Memory whose uses are not noted.
    Other,
}

/// The memory of an entry point.
pub(super) struct Memory {
    /// What each variable is.
    pub(super) roots: HashMap<u32, (Root, TypedPart)>,
    /// Bytes of the smallest number in shared memory; four if it is empty.
    pub(super) granule: u32,
    pub(super) shared_bytes: u32,
    /// Whether shared memory starts as zeros.
    pub(super) is_zeroed: bool,
    /// The parameters that are noted, by their places in the signature.
    pub(super) buffers: Vec<usize>,
    /// Bytes of the smallest number in these buffers; four if there is none.
    pub(super) buffer_granule: u32,
}

impl Memory {
    pub(super) fn of(request: &InstrumentRequest<'_>, layouts: Layouts<'_>) -> Self {
        let mut memory = Self {
            roots: HashMap::new(),
            granule: 4,
            shared_bytes: 0,
            is_zeroed: true,
            buffers: Vec::new(),
            buffer_granule: 4,
        };
        for global in &request.part.contents.globals {
            let root = match global.class {
                Some(StorageClass::Workgroup) => memory.shared(layouts, global),
                Some(StorageClass::StorageBuffer | StorageClass::Uniform) => memory.buffer(request, layouts, global),
                _ => (Root::Other, layouts.whole(global.pointee, LayoutRules::Declared)),
            };
            memory.roots.insert(global.id, root);
        }
        memory
    }

    fn shared(&mut self, layouts: Layouts<'_>, global: &Global) -> (Root, TypedPart) {
        self.granule = self.granule.min(layouts.granule(global.pointee));
        self.is_zeroed &= global.is_initialised;
        if layouts.contents.has(global.pointee, None, Decoration::Block) {
            // Blocks of shared memory lie on top of each other, each from the first byte. They are numbered first.
            let part = layouts.whole(global.pointee, LayoutRules::Declared);
            let end =
                |run: &Run| run.offset.saturating_add(run.stride.saturating_mul(run.count)).saturating_add(run.bytes);
            let end = layouts.runs(part).iter().map(end).max().unwrap_or(0);
            self.shared_bytes = self.shared_bytes.max(end.min(MAX_SHARED)).next_multiple_of(ALIGNMENT);
            return (Root::Shared(0), part);
        }
        let start = self.shared_bytes;
        let bytes = layouts.packed(global.pointee).0.min(MAX_SHARED);
        self.shared_bytes = start.saturating_add(bytes).min(MAX_SHARED).next_multiple_of(ALIGNMENT);
        (Root::Shared(start), layouts.whole(global.pointee, LayoutRules::Packed))
    }

    /// A buffer is noted if the kernel writes it. One whose uses the shader orders itself is not.
    fn buffer(&mut self, request: &InstrumentRequest<'_>, layouts: Layouts<'_>, global: &Global) -> (Root, TypedPart) {
        let contents = request.part.contents;
        let other = (Root::Other, layouts.whole(global.pointee, LayoutRules::Declared));
        let is_ordered = |id, member| {
            contents.has(id, member, Decoration::Coherent) || contents.has(id, member, Decoration::Volatile)
        };
        let (Some(group), Some(binding)) = place(contents, global) else { return other };
        let Some(Type::Struct { members }) = contents.types.get(&global.pointee) else { return other };
        let mut members = (0..).take(members.len());
        if is_ordered(global.id, None) || members.any(|member| is_ordered(global.pointee, Some(member))) {
            return other;
        }
        let params = &request.part.signature.params;
        let Some(param) = params.iter().position(|p| (p.group, p.binding) == (group, binding) && p.writes) else {
            return other;
        };
        let number = self.buffers.iter().position(|&known| known == param).unwrap_or_else(|| {
            self.buffers.push(param);
            self.buffers.len() - 1
        });
        self.buffer_granule = self.buffer_granule.min(layouts.granule(global.pointee));
        (Root::Buffer(u32::try_from(number).unwrap_or(NO_NOTES)), other.1)
    }
}

/// Where the notes of each buffer begin, in words, the first at `first`; and the words up to the end of the last.
///
/// Of each buffer the bytes are given. One whose notes end past `limit` words has `NO_NOTES`.
pub fn place_notes(first: u64, limit: u64, granule: u32, bytes: impl Iterator<Item = u64>) -> (Vec<u32>, u64) {
    let mut end = first;
    let place = |bytes: u64| {
        let next = end + 2 * bytes.div_ceil(granule.into());
        match u32::try_from(end) {
            Ok(start) if next <= limit => {
                end = next;
                start
            }
            _ => NO_NOTES,
        }
    };
    (bytes.map(place).collect(), end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_lie_one_behind_the_other_as_far_as_they_fit() {
        let check = |(first, limit): (u64, u64), granule, bytes: &[u64], starts: &[u32], end: u64| {
            let placed = place_notes(first, limit, granule, bytes.iter().copied());
            assert_eq!(placed, (starts.to_vec(), end), "{bytes:?} from {first} to {limit}");
        };
        check((0, 100), 4, &[], &[], 0);
        check((0, 100), 4, &[40, 6], &[0, 20], 24);
        check((7, 100), 2, &[40, 6], &[7, 47], 53);
        check((0, 19), 4, &[40, 6], &[NO_NOTES, 0], 4); // What comes behind may still fit.
        let last = u64::from(u32::MAX) - 1;
        check((last, u64::MAX), 4, &[4, 4], &[u32::MAX - 1, NO_NOTES], last + 2);
    }
}
