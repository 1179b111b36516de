//! Where the host addresses memory, and the flushes and invalidations that non-coherent memory needs.
//!
//! Coherent memory needs neither. Non-coherent memory is invalidated ([`Mapping::invalidate`]) before the host accesses
//! bytes, and flushed ([`Mapping::flush`]) after the host wrote them; in between the device must not use any of the
//! [atoms](Mapping::atoms) with these bytes. All host access goes through this file: guards, copies in place and
//! staging slots. `kind/memory_kind.rs` chooses the memory; the reasons are in `docs/decisions/025`.

use std::ops::Range;
use std::ptr::NonNull;

use ash::vk;
use smallvec::SmallVec;
use vkarray_driver::Device;

use crate::error::Result;

/// The host's address of the first byte of a range of memory, and whether the memory is coherent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapping {
    address: NonNull<u8>,
    /// Null where the memory is coherent.
    memory: vk::DeviceMemory,
    /// The position of the first byte in `memory`.
    offset: u64,
}

// SAFETY: the address is plain data here. Only `Block` and `StagingSlot` make references from it, under their own contracts.
unsafe impl Send for Mapping {}
// SAFETY: shared access hands out copies of plain values.
unsafe impl Sync for Mapping {}

/// What the host will do with the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostIntent {
    /// Read the bytes, or write some of them.
    Access,
    /// Write all bytes before it reads any.
    Overwrite,
}

/// A mapping of coherent memory.
impl From<NonNull<u8>> for Mapping {
    fn from(address: NonNull<u8>) -> Self {
        Self { address, memory: vk::DeviceMemory::null(), offset: 0 }
    }
}

impl Mapping {
    /// A mapping of non-coherent memory. The runtime flushes what the host wrote there, and invalidates before it reads.
    ///
    /// # Safety
    ///
    /// `address` is the address of the byte `offset` of `memory`, and `offset` is a multiple of the device's
    /// `nonCoherentAtomSize`. The bytes that are used from there on, rounded up to that size, lie in the memory, have
    /// no other users, and stay mapped as long as they are used.
    #[must_use]
    pub unsafe fn non_coherent(address: NonNull<u8>, memory: vk::DeviceMemory, offset: u64) -> Self {
        Self { address, memory, offset }
    }

    /// The mapping from the byte at `bytes` on.
    ///
    /// # Safety
    ///
    /// The bytes lie in the mapping, and where it is not coherent they are a multiple of the device's
    /// `nonCoherentAtomSize`. A multiple of 256 suffices on every device.
    #[must_use]
    pub unsafe fn after(self, bytes: u64) -> Self {
        let skipped = usize::try_from(bytes).expect("a mapping is smaller than the address space");
        // SAFETY: the caller promises that these bytes lie in the mapping.
        Self { address: unsafe { self.address.add(skipped) }, offset: self.offset + bytes, ..self }
    }

    /// The address of the mapping's first byte.
    #[inline]
    pub fn address(&self) -> NonNull<u8> {
        self.address
    }

    /// Whether host and device see each other's writes without flushes and invalidations.
    #[inline]
    pub fn is_coherent(&self) -> bool {
        self.memory == vk::DeviceMemory::null()
    }

    /// The bytes that the device must not use while the host writes `range`: the range itself if the memory is
    /// coherent, else all atoms that share bytes with it.
    #[inline]
    pub(crate) fn atoms(&self, device: &Device, range: Range<u64>) -> Range<u64> {
        if self.is_coherent() { range } else { whole_atoms(&range, atom(device)) }
    }

    /// Makes writes of the device visible to the host. The device's uses of the range's atoms must be over, and the
    /// device must not use the atoms again before the host has read the bytes or flushed its writes.
    ///
    /// # Errors
    ///
    /// The errors of the driver.
    #[inline]
    pub(crate) fn invalidate(&self, device: &Device, range: &Range<u64>, intent: HostIntent) -> Result<()> {
        if self.is_coherent() || range.is_empty() {
            return Ok(());
        }
        let ranges: SmallVec<[_; 2]> = match intent {
            HostIntent::Access => SmallVec::from_iter([whole_atoms(range, atom(device))]),
            HostIntent::Overwrite => partial_atoms(range, atom(device)).into_iter().flatten().collect(),
        };
        if ranges.is_empty() {
            return Ok(());
        }
        let ranges: SmallVec<[_; 2]> = ranges.into_iter().map(|range| self.of_memory(&range)).collect();
        // SAFETY: the memory is mapped, and the ranges are whole atoms of it.
        let invalidated = unsafe { device.raw().invalidate_mapped_memory_ranges(&ranges) };
        Ok(invalidated.map_err(device.failed("vkInvalidateMappedMemoryRanges"))?)
    }

    /// Makes writes of the host visible to work that is submitted after the call. The bytes must have been invalidated
    /// before they were written.
    ///
    /// # Errors
    ///
    /// The errors of the driver. After an error the device must not use the bytes.
    #[inline]
    pub(crate) fn flush(&self, device: &Device, range: &Range<u64>) -> Result<()> {
        if self.is_coherent() || range.is_empty() {
            return Ok(());
        }
        let range = self.of_memory(&whole_atoms(range, atom(device)));
        // SAFETY: the memory is mapped, and the range is whole atoms of it.
        let flushed = unsafe { device.raw().flush_mapped_memory_ranges(&[range]) };
        Ok(flushed.map_err(device.failed("vkFlushMappedMemoryRanges"))?)
    }

    fn of_memory(&self, range: &Range<u64>) -> vk::MappedMemoryRange<'static> {
        let size = range.end - range.start;
        vk::MappedMemoryRange::default().memory(self.memory).offset(self.offset + range.start).size(size)
    }
}

/// The unit of flushes and invalidations, in bytes.
fn atom(device: &Device) -> u64 {
    device.info().limits.non_coherent_atom_size.max(1)
}

/// The atoms with bytes of the range.
fn whole_atoms(range: &Range<u64>, atom: u64) -> Range<u64> {
    range.start - range.start % atom..range.end.next_multiple_of(atom)
}

/// The atoms of which the range has some but not all bytes: the first or the last or both.
fn partial_atoms(range: &Range<u64>, atom: u64) -> [Option<Range<u64>>; 2] {
    let Range { start, end } = whole_atoms(range, atom);
    let first = start..start + atom;
    let last = end - atom..end;
    let is_first = range.start > start || (range.end < end && first == last);
    let is_last = range.end < end && first != last;
    [is_first.then_some(first), is_last.then_some(last)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atoms_are_those_that_hold_bytes_of_the_range() {
        for atom in [1, 4, 8] {
            for (start, end) in (0..20).flat_map(|start| (start + 1..24).map(move |end| (start, end))) {
                let (range, mut held, mut partial) = (start..end, Vec::new(), Vec::new());
                for first in (0..32).step_by(usize::try_from(atom).unwrap()) {
                    let n_inside = (first..first + atom).filter(|byte| range.contains(byte)).count() as u64;
                    held.extend((n_inside > 0).then_some(first));
                    partial.extend((n_inside > 0 && n_inside < atom).then_some(first..first + atom));
                }
                let whole = whole_atoms(&range, atom);
                assert_eq!((whole.start, whole.end - atom), (held[0], held[held.len() - 1]), "{range:?} of {atom}");
                let found: Vec<_> = partial_atoms(&range, atom).into_iter().flatten().collect();
                assert_eq!(found, partial, "{range:?} of {atom}");
            }
        }
    }

    #[test]
    fn a_part_of_a_mapping_is_as_coherent_as_the_whole() {
        let mut bytes = [0_u8; 512];
        let address = NonNull::from(&mut bytes).cast::<u8>();
        let memory = <vk::DeviceMemory as vk::Handle>::from_raw(7);
        // SAFETY: nothing is flushed here.
        let whole = [Mapping::from(address), unsafe { Mapping::non_coherent(address, memory, 1024) }];
        // SAFETY: the bytes are in the array.
        let [coherent, other] = whole.map(|mapping| unsafe { mapping.after(256) });
        assert!(coherent.is_coherent() && !other.is_coherent());
        assert_eq!(coherent.address().addr().get() - address.addr().get(), 256);
        let range = other.of_memory(&(64..192));
        assert_eq!((range.memory, range.offset, range.size), (memory, 1024 + 256 + 64, 128));
    }
}
