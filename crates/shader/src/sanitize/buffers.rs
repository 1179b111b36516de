//! The buffers whose uses are noted: [`Buffers`], those that the kernel writes, and where their notes lie in the report.
//!
//! The notes take two words for each granule, the smallest scalar in these buffers, and are made for each dispatch. A buffer
//! whose notes do not fit is not looked at.

use naga::valid::{FunctionInfo, GlobalUse};
use naga::{AddressSpace, GlobalVariable, Handle, Module, TypeInner};

use super::shared::smallest_scalar;
use super::site::MemorySpan;
use crate::signature::Signature;

/// In place of an offset: the buffer's notes are not kept.
pub(crate) const NO_NOTES: u32 = u32::MAX;

/// The buffers that an entry point writes.
pub(super) struct Buffers {
    /// Each with the place of its parameter in the signature.
    variables: Vec<(Handle<GlobalVariable>, usize)>,
    /// Bytes of the smallest scalar in them; four if there is none.
    pub(super) granule: u32,
}

impl Buffers {
    pub(super) fn of(module: &Module, uses: &FunctionInfo, signature: &Signature) -> Self {
        let mut buffers = Self { variables: Vec::new(), granule: 4 };
        for (handle, variable) in module.global_variables.iter() {
            let is_written =
                matches!(variable.space, AddressSpace::Storage { .. }) && uses[handle].contains(GlobalUse::WRITE);
            let Some(at) = variable.binding.filter(|_| is_written) else { continue };
            let place = signature.params.iter().position(|p| (p.group, p.binding) == (at.group, at.binding));
            let Some(place) = place else { continue };
            buffers.variables.push((handle, place));
            buffers.granule = buffers.granule.min(smallest_scalar(module, variable.ty));
        }
        buffers
    }

    /// The buffer's number, if its uses are noted.
    pub(super) fn number(&self, variable: Handle<GlobalVariable>) -> Option<u32> {
        let index = self.variables.iter().position(|(handle, _)| *handle == variable)?;
        u32::try_from(index).ok()
    }

    /// Their parameters' places in the signature, by number.
    pub(super) fn params(&self) -> Vec<usize> {
        self.variables.iter().map(|(_, place)| *place).collect()
    }
}

/// The whole of a variable, for messages.
pub(super) fn span(module: &Module, variable: Handle<GlobalVariable>) -> MemorySpan {
    let variable = &module.global_variables[variable];
    let stride = match module.types[variable.ty].inner {
        TypeInner::Array { stride, .. } => Some(stride),
        _ => None,
    };
    MemorySpan { name: called(variable).to_owned(), start: 0, bytes: u32::MAX, stride }
}

/// A variable's name.
fn called(variable: &GlobalVariable) -> &str {
    variable.name.as_deref().unwrap_or("a buffer")
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
