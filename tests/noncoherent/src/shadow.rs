//! The program's copy of the bytes of non-coherent memory, and its copies to and from the memory.

use std::ops::Range;
use std::ptr;

use ash::vk;

use crate::shape::ATOM;

/// The value of bytes that were never invalidated.
const UNKNOWN: u8 = 0xA5;

/// A page, aligned as any program may expect.
#[derive(Clone, Copy)]
#[repr(C, align(4096))]
struct Page([u8; 4096]);

/// The program's copy of mapped memory.
pub(crate) struct Shadow {
    /// The driver's mapping of the whole memory.
    real: *mut u8,
    pages: Vec<Page>,
    /// The size of the memory.
    size: u64,
    /// The bytes that are mapped.
    mapped: Range<u64>,
}

// SAFETY: the address is the address of mapped memory, which any thread may use; the program orders its uses.
unsafe impl Send for Shadow {}

impl Shadow {
    /// A copy of `size` bytes at `real`, of which `mapped` are mapped.
    pub(crate) fn new(real: *mut u8, size: u64, mapped: Range<u64>) -> Self {
        let n_pages = usize::try_from(size).expect("mapped memory has addresses").div_ceil(size_of::<Page>());
        Self { real, pages: vec![Page([UNKNOWN; 4096]); n_pages], size, mapped }
    }

    /// The address that the program gets.
    pub(crate) fn address(&mut self) -> *mut u8 {
        self.at(self.mapped.start)
    }

    /// Copies the program's bytes of the range to the memory.
    ///
    /// # Errors
    ///
    /// The error says what is wrong with the range.
    pub(crate) fn flush(&mut self, range: &vk::MappedMemoryRange<'_>) -> Result<(), String> {
        let (start, len) = self.checked(range)?;
        // SAFETY: the range lies in the copy and in the memory, which do not overlap.
        unsafe { ptr::copy_nonoverlapping(self.at(start), self.real_at(start), len) };
        Ok(())
    }

    /// Copies the memory's bytes of the range to the program's copy.
    ///
    /// # Errors
    ///
    /// The errors of [`Shadow::flush`].
    pub(crate) fn invalidate(&mut self, range: &vk::MappedMemoryRange<'_>) -> Result<(), String> {
        let (start, len) = self.checked(range)?;
        // SAFETY: the range lies in the copy and in the memory, which do not overlap.
        unsafe { ptr::copy_nonoverlapping(self.real_at(start).cast_const(), self.at(start), len) };
        Ok(())
    }

    /// Checks the rules of `VkMappedMemoryRange`.
    fn checked(&self, range: &vk::MappedMemoryRange<'_>) -> Result<(u64, usize), String> {
        let Range { start, end } = self.mapped;
        let is_end = |at: u64| at.is_multiple_of(ATOM) || at == self.size;
        let last = if range.size == vk::WHOLE_SIZE { end } else { range.offset.saturating_add(range.size) };
        if range.offset < start || last > end || last < range.offset {
            return Err(format!("{}..{last} are not among the mapped bytes {start}..{end}", range.offset));
        }
        if !range.offset.is_multiple_of(ATOM) || !is_end(last) {
            return Err(format!("{}..{last} are not whole atoms of {ATOM} bytes, of {}", range.offset, self.size));
        }
        Ok((range.offset, usize::try_from(last - range.offset).expect("as in `new`")))
    }

    fn at(&mut self, offset: u64) -> *mut u8 {
        let offset = usize::try_from(offset).expect("as in `new`");
        // SAFETY: offsets are inside the memory, and therefore inside the pages.
        unsafe { self.pages.as_mut_ptr().cast::<u8>().add(offset) }
    }

    fn real_at(&self, offset: u64) -> *mut u8 {
        // SAFETY: the driver has mapped the whole memory.
        unsafe { self.real.add(usize::try_from(offset).expect("as in `new`")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(offset: u64, size: u64) -> vk::MappedMemoryRange<'static> {
        vk::MappedMemoryRange::default().offset(offset).size(size)
    }

    #[test]
    fn bytes_move_when_they_are_told_to() {
        let mut memory = [1_u8; 700];
        let mut shadow = Shadow::new(memory.as_mut_ptr(), 700, 0..700);
        let seen = |shadow: &Shadow, offset: usize| shadow.pages[0].0[offset];
        assert_eq!((seen(&shadow, 0), seen(&shadow, 699)), (UNKNOWN, UNKNOWN));
        shadow.invalidate(&range(512, 188)).unwrap();
        assert_eq!([511, 512, 699].map(|offset| seen(&shadow, offset)), [UNKNOWN, 1, 1]);
        shadow.pages[0].0[..10].fill(7); // The program writes.
        assert_eq!(memory[0], 1);
        shadow.flush(&range(0, 256)).unwrap();
        assert_eq!((memory[9], memory[10], memory[256]), (7, UNKNOWN, 1), "whole atoms move");
    }

    #[test]
    fn ranges_are_whole_atoms_of_what_is_mapped() {
        let mut memory = [0_u8; 700];
        let mut shadow = Shadow::new(memory.as_mut_ptr(), 700, 256..700);
        // The offset, the size, and whether the range is allowed.
        let cases = [
            (256, 256, true),
            (256, vk::WHOLE_SIZE, true),
            (512, 188, true),  // Up to the end.
            (512, 187, false), // One byte less than the end.
            (300, 212, false), // Not from the start of an atom.
            (0, 256, false),   // Not mapped.
            (512, 256, false), // Past the end.
            (512, u64::MAX - 1, false),
        ];
        for (offset, size, may) in cases {
            assert_eq!(shadow.flush(&range(offset, size)).is_ok(), may, "{size} bytes at {offset}");
            assert_eq!(shadow.invalidate(&range(offset, size)).is_ok(), may, "{size} bytes at {offset}");
        }
    }
}
