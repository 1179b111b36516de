//! Fills of any bytes with any pattern, to the byte.
//!
//! The device fills whole words (`vkCmdFillBuffer`); blocks share buffers, so the bytes before the first word and after
//! the last are written by copies of just these bytes. A pattern longer than a word is sent once and doubled on the
//! device. Fills of whole blocks with a word are in `transfer.rs`.

use std::ops::Range;
use std::sync::Arc;

use vkarray_driver::Stream;

use crate::allocator::Block;
use crate::error::{Error, Result};

/// `vkCmdFillBuffer` writes whole words, from a whole word on.
const WORD: u64 = 4;

/// Bytes of a pattern longer than a word that are sent, or once the pattern; the device doubles them.
const MAX_UPLOAD: u64 = 4 << 10;

impl Block {
    /// Writes `pattern` over and over into the bytes `range`, in the order of `stream`. Returns at once. No other byte
    /// changes.
    ///
    /// # Errors
    ///
    /// [`Error::BadPattern`] if the pattern is empty or does not fit a whole number of times;
    /// [`Error::OutOfBounds`], [`Error::ReversedRange`], [`Error::ForeignDevice`]; those of recording.
    pub fn fill_range(self: &Arc<Self>, stream: &Stream, range: Range<u64>, pattern: &[u8]) -> Result<()> {
        let Range { start, end } = range;
        let size = end.checked_sub(start).ok_or(Error::ReversedRange { start, end })?;
        self.check_range(start, size)?;
        if pattern.is_empty() || !size.is_multiple_of(pattern.len() as u64) {
            return Err(Error::BadPattern { pattern: pattern.len(), size });
        }
        match repeated_word(pattern) {
            Some(word) => self.fill_words(stream, start..end, word),
            None => self.fill_by_doubling(stream, start..end, pattern),
        }
    }

    /// `word` is what stands at `range.start`; a word that begins elsewhere is a rotation of it.
    fn fill_words(self: &Arc<Self>, stream: &Stream, range: Range<u64>, word: [u8; 4]) -> Result<()> {
        let [head, middle, tail] = split_at_words(&range);
        for part in [head, tail] {
            // Recorded with the rest even where it is empty: a stream of another device is refused.
            let bytes: Vec<u8> = part.clone().map(|at| word[((at - range.start) % WORD) as usize]).collect();
            self.copy_from_host(stream, part.start, &bytes)?;
        }
        let turned = [0, 1, 2, 3].map(|i| word[((middle.start - range.start + i) % WORD) as usize]);
        self.fill_aligned(stream, middle, u32::from_ne_bytes(turned))
    }

    fn fill_by_doubling(self: &Arc<Self>, stream: &Stream, range: Range<u64>, pattern: &[u8]) -> Result<()> {
        let size = range.end - range.start;
        let mut done = size.min(uploaded_bytes(pattern.len() as u64));
        let sent: Vec<u8> = (0..done).zip(pattern.iter().cycle()).map(|(_, &byte)| byte).collect();
        self.copy_from_host(stream, range.start, &sent)?;
        while done < size {
            let more = done.min(size - done);
            self.copy_from_block(stream, range.start + done, self, range.start..range.start + more)?;
            done += more;
        }
        Ok(())
    }
}

/// So many bytes of a pattern are sent: a whole number of times, so that what is doubled goes on where it left off.
fn uploaded_bytes(pattern: u64) -> u64 {
    (MAX_UPLOAD / pattern).max(1) * pattern
}

/// The bytes before the first whole word, the whole words, and the bytes after the last.
fn split_at_words(range: &Range<u64>) -> [Range<u64>; 3] {
    let first = range.start.next_multiple_of(WORD).min(range.end);
    let last = (range.end - range.end % WORD).max(first);
    [range.start..first, first..last, last..range.end]
}

/// The word that, repeated, gives the same bytes as the pattern repeated.
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
    fn whole_patterns_are_sent() {
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
