//! A ring of frames: which bytes of which frame an allocation gets, and when a frame can be reused. Pure.
//!
//! The ring is generic over the type of the uses of a frame's memory. The arena itself is in `mod.rs`.

/// Memory of a frame starts at multiples of this number of bytes.
pub(super) const ALIGNMENT: u64 = 256;

/// One frame.
#[derive(Debug)]
struct Frame<U> {
    /// The next free byte.
    top: u64,
    n_live: usize,
    /// Uses by blocks that came back since the frame began.
    uses: U,
    /// Uses from before the frame began. New work in the frame comes after them.
    previous_uses: U,
}

/// Frames of the same size, of which one is current.
#[derive(Debug)]
pub(super) struct Ring<U> {
    frame_bytes: u64,
    frames: Vec<Frame<U>>,
    /// The number of the current frame; its index is the remainder by the number of frames.
    current: u64,
}

impl<U: Default + Clone> Ring<U> {
    /// A ring with a frame for each item of `previous_uses`, the uses of that frame's memory so far.
    pub(super) fn new(frame_bytes: u64, previous_uses: Vec<U>) -> Self {
        let frame = |previous_uses| Frame { top: 0, n_live: 0, uses: U::default(), previous_uses };
        Self { frame_bytes, frames: previous_uses.into_iter().map(frame).collect(), current: 0 }
    }

    pub(super) fn current(&self) -> u64 {
        self.current
    }

    /// The bytes left of the current frame.
    pub(super) fn left(&self) -> u64 {
        self.frame_bytes - self.frames[self.place(self.current)].top
    }

    /// Gives out memory of the current frame: the frame's index and the first byte in it.
    ///
    /// An allocation of zero bytes takes as much room as an allocation of one byte, so that two blocks never start at
    /// the same byte.
    pub(super) fn allocate(&mut self, size: u64) -> Option<(usize, u64)> {
        let place = self.place(self.current);
        let frame = &mut self.frames[place];
        let taken = size.max(1).checked_next_multiple_of(ALIGNMENT)?;
        let top = frame.top.checked_add(taken).filter(|&top| top <= self.frame_bytes)?;
        let offset = std::mem::replace(&mut frame.top, top);
        frame.n_live += 1;
        Some((place, offset))
    }

    /// Takes memory of that frame back. `note` adds the uses of the memory to the frame's. Returns `false`, and changes
    /// nothing, if all of the frame's memory is back already.
    #[must_use]
    pub(super) fn free(&mut self, place: usize, note: impl FnOnce(&mut U)) -> bool {
        let frame = &mut self.frames[place];
        let Some(n_live) = frame.n_live.checked_sub(1) else { return false };
        frame.n_live = n_live;
        note(&mut frame.uses);
        true
    }

    /// How many blocks of that frame were given out and are not back.
    pub(super) fn n_live(&self, place: usize) -> usize {
        self.frames[place].n_live
    }

    /// The earlier uses of the current frame's memory.
    pub(super) fn previous_uses(&mut self) -> &mut U {
        let place = self.place(self.current);
        &mut self.frames[place].previous_uses
    }

    /// Begins the next frame. Fails with the number of the frame that still has live blocks, and their number.
    pub(super) fn advance(&mut self) -> Result<u64, (u64, usize)> {
        let (next, n_frames) = (self.current + 1, self.frames.len() as u64);
        let place = self.place(next);
        let frame = &mut self.frames[place];
        if frame.n_live > 0 {
            return Err((next - n_frames, frame.n_live));
        }
        // Blocks were given out with the previous uses and brought back the uses that are left. If no block was given
        // out, the previous uses stand.
        if frame.top > 0 {
            frame.previous_uses = std::mem::take(&mut frame.uses);
        }
        frame.top = 0;
        self.current = next;
        Ok(next)
    }

    /// All uses that may still be made of a frame's memory.
    pub(super) fn take_uses(&mut self, place: usize) -> U {
        let frame = &mut self.frames[place];
        std::mem::take(if frame.top > 0 { &mut frame.uses } else { &mut frame.previous_uses })
    }

    fn place(&self, frame: u64) -> usize {
        let n_frames = self.frames.len() as u64;
        usize::try_from(frame % n_frames).expect("less than the number of frames")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(n_frames: usize) -> Ring<Vec<u32>> {
        Ring::new(1024, vec![Vec::new(); n_frames])
    }

    #[test]
    fn memory_of_a_frame_lies_side_by_side_and_ends_with_the_frame() {
        // The size, and the first byte.
        let cases = [(100, Some(0)), (256, Some(256)), (0, Some(512)), (257, None), (256, Some(768)), (0, None)];
        let mut ring = ring(2);
        for (size, offset) in cases {
            assert_eq!(ring.allocate(size), offset.map(|offset| (0, offset)), "{size} bytes");
        }
        assert_eq!((ring.left(), ring.allocate(u64::MAX)), (0, None));
        assert_eq!(ring.advance(), Ok(1));
        assert_eq!((ring.left(), ring.allocate(1024)), (1024, Some((1, 0))));
    }

    #[test]
    fn a_frame_comes_round_when_its_blocks_are_back_and_not_before() {
        for n_frames in 1..=4_usize {
            let mut ring = ring(n_frames);
            assert_eq!(ring.allocate(1), Some((0, 0)));
            assert_eq!(ring.allocate(1), Some((0, 256)));
            let rounds = n_frames as u64;
            for frame in 1..rounds {
                assert_eq!(ring.advance(), Ok(frame));
            }
            assert_eq!(ring.advance(), Err((0, 2)), "{n_frames} frames");
            assert!(ring.free(0, |uses| uses.push(1)));
            assert_eq!(ring.n_live(0), 1);
            assert_eq!((ring.advance(), ring.current()), (Err((0, 1)), rounds - 1), "refused, and nothing changed");
            assert!(ring.free(0, |uses| uses.push(2)));
            assert!(!ring.free(0, |uses| uses.push(3)), "all is back already, and nothing changes");
            assert_eq!(ring.advance(), Ok(rounds));
            assert_eq!(*ring.previous_uses(), [1, 2], "new work comes after both");
            assert_eq!(ring.allocate(1024), Some((0, 0)));
        }
    }

    #[test]
    fn uses_are_kept_until_later_work_is_ordered_after_them() {
        let mut ring = Ring::new(1024, vec![vec![7_u32]]);
        assert_eq!(*ring.previous_uses(), [7]);
        assert_eq!(ring.advance(), Ok(1));
        assert_eq!(*ring.previous_uses(), [7], "no work came after them");
        ring.allocate(1).unwrap();
        assert!(ring.free(0, |uses| uses.push(8)));
        assert_eq!(ring.advance(), Ok(2));
        assert_eq!(*ring.previous_uses(), [8]);
        assert_eq!((ring.take_uses(0), ring.take_uses(0)), (vec![8], vec![]));
    }
}
