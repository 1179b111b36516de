//! Fills of any range of bytes with a pattern of any length.
//!
//! The device fills whole words (`vkCmdFillBuffer`). Blocks share buffers, so the bytes before the first word and after the
//! last are written by copies. A pattern longer than a word is uploaded once, and doubled by copies on the device.

use std::ops::Range;
use std::sync::Arc;

use vkarray_driver::Stream;

use super::FILL_WORD;
use crate::allocator::Block;
use crate::error::{Error, Result};
use crate::memory::route::MAX_PATTERN;

impl Block {
    /// Writes `pattern` repeatedly to the bytes `range`, in the order of `stream`. Returns at once.
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, MemoryKind};
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let (allocator, stream) = (Allocator::new(&device)?, Stream::new(&device)?);
    /// let block = allocator.allocate(8, MemoryKind::Pinned)?;
    /// block.fill_range(&stream, 0..8, &[0])?;
    /// block.fill_range(&stream, 1..7, &[1, 2, 3])?;
    /// assert_eq!(*block.read_on_host(0..8)?, [0, 1, 2, 3, 1, 2, 3, 0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::BadPattern`] if the pattern is empty or its length does not divide that of the range;
    /// [`Error::OutOfBounds`], [`Error::ReversedRange`], [`Error::ForeignDevice`]; and the errors of recording.
    #[doc(alias = "urEnqueueMemBufferFill")]
    #[doc(alias = "urEnqueueUSMFill")]
    pub fn fill_range(self: &Arc<Self>, stream: &Stream, range: Range<u64>, pattern: &[u8]) -> Result<()> {
        self.check_pattern(&range, pattern)?;
        let Range { start, end } = range;
        match repeated_word(pattern) {
            Some(word) => self.fill_words(stream, start..end, word),
            None => self.fill_by_doubling(stream, start..end, pattern),
        }
    }

    /// `word` are the bytes from `range.start` on; words at other offsets are rotations of it.
    fn fill_words(self: &Arc<Self>, stream: &Stream, range: Range<u64>, word: [u8; 4]) -> Result<()> {
        let [head, middle, tail] = split_at_words(&range);
        for part in [head, tail] {
            // Also where the part is empty, since this refuses a stream of another device.
            let bytes: Vec<u8> = part.clone().map(|at| word[((at - range.start) % FILL_WORD) as usize]).collect();
            self.copy_from_host(stream, part.start, &bytes)?;
        }
        let rotated = [0, 1, 2, 3].map(|i| word[((middle.start - range.start + i) % FILL_WORD) as usize]);
        self.fill_aligned(stream, middle, u32::from_ne_bytes(rotated))
    }

    /// The number of bytes of a range that the pattern fills.
    pub(super) fn check_pattern(&self, range: &Range<u64>, pattern: &[u8]) -> Result<u64> {
        self.check_bytes(range)?;
        let size = range.end - range.start;
        if pattern.is_empty() || !size.is_multiple_of(pattern.len() as u64) {
            return Err(Error::BadPattern { pattern: pattern.len(), size });
        }
        Ok(size)
    }

    fn fill_by_doubling(self: &Arc<Self>, stream: &Stream, range: Range<u64>, pattern: &[u8]) -> Result<()> {
        let size = range.end - range.start;
        let mut done = size.min(uploaded_bytes(pattern.len() as u64));
        let uploaded: Vec<u8> = (0..done).zip(pattern.iter().cycle()).map(|(_, &byte)| byte).collect();
        self.copy_from_host(stream, range.start, &uploaded)?;
        while done < size {
            let more = done.min(size - done);
            self.copy_from_block(stream, range.start + done, self, range.start..range.start + more)?;
            done += more;
        }
        Ok(())
    }
}

/// How many bytes of a repeated pattern are uploaded: whole patterns, so that doubling continues the repetition.
fn uploaded_bytes(pattern: u64) -> u64 {
    (MAX_PATTERN / pattern).max(1) * pattern
}

/// The bytes before the first whole word, the whole words, and the bytes after the last.
fn split_at_words(range: &Range<u64>) -> [Range<u64>; 3] {
    let first = range.start.next_multiple_of(FILL_WORD).min(range.end);
    let last = (range.end - range.end % FILL_WORD).max(first);
    [range.start..first, first..last, last..range.end]
}

/// The word whose repetition has the same bytes as that of the pattern, if there is one.
fn repeated_word(pattern: &[u8]) -> Option<[u8; 4]> {
    let first = [0, 1, 2, 3].map(|i| pattern[i % pattern.len()]);
    (0..4 * pattern.len()).all(|i| pattern[i % pattern.len()] == first[i % 4]).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_parts_are_the_range_and_the_middle_is_words() {
        for start in 0..12 {
            for end in start..24 {
                let parts = split_at_words(&(start..end));
                let all: Vec<u64> = parts.iter().cloned().flatten().collect();
                assert!(all.iter().copied().eq(start..end), "{start}..{end}: {parts:?}");
                let [head, middle, tail] = parts;
                assert!(head.end - head.start < 4 && tail.end - tail.start < 4, "{start}..{end}");
                let is_words = middle.is_empty() || (middle.start % 4 == 0 && middle.end % 4 == 0);
                assert!(is_words, "{start}..{end}: {middle:?}");
            }
        }
    }

    #[test]
    fn whole_patterns_are_uploaded() {
        for (pattern, bytes) in [(3, 4095), (16, 4096), (4096, 4096), (4097, 4097), (1 << 40, 1 << 40)] {
            assert_eq!(uploaded_bytes(pattern), bytes, "{pattern}");
        }
    }

    #[test]
    fn a_pattern_is_a_word_when_its_bytes_repeat_every_four() {
        // Pattern, word.
        let cases: [(&[u8], Option<[u8; 4]>); 10] = [
            (&[7], Some([7; 4])),
            (&[1, 2], Some([1, 2, 1, 2])),
            (&[1, 2, 3, 4], Some([1, 2, 3, 4])),
            (&[1, 2, 3, 4, 1, 2, 3, 4], Some([1, 2, 3, 4])),
            (&[1, 2, 3, 4, 1, 2, 3, 5], None),
            (&[0; 16], Some([0; 4])),
            (&[5; 3], Some([5; 4])),
            (&[1, 2, 3], None), // The second word begins with 2.
            (&[1, 2, 1, 2, 1, 2], Some([1, 2, 1, 2])),
            (&[1, 2, 3, 4, 1, 2], None),
        ];
        for (pattern, word) in cases {
            assert_eq!(repeated_word(pattern), word, "{pattern:?}");
        }
    }
}
