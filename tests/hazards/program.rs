//! Random programs: lists of operations on numbered blocks, each with the number of its stream.

use std::ops::Range;

use fastrand::Rng;

/// Words of each block: few, so that ranges overlap often, but several times the alignment of bindings.
pub(super) const WORDS: usize = 512;

/// Views start at multiples of this number of words: 256 bytes, the largest alignment that a device requires.
pub(super) const STEP: usize = 64;

/// One operation. Words and bytes are counted from the start of the block.
#[derive(Debug, Clone)]
pub(super) enum Op {
    /// `sum[i] = source[i] * 3 + sum[i] * 5 + add`, word by word.
    Mix { stream: usize, source: View, sum: View, add: u32 },
    /// `x[i] = x[i] * 5 + add`.
    Step { stream: usize, view: View, add: u32 },
    /// Copies bytes to the block `to` at `offset`.
    Copy { stream: usize, source: usize, bytes: Range<usize>, to: usize, offset: usize },
    /// Fills a block with a word.
    Fill { stream: usize, block: usize, word: u32 },
    /// Copies `len` bytes from the host, counting up from `first`.
    Upload { stream: usize, block: usize, offset: usize, len: usize, first: u8 },
    /// Copies bytes to the host.
    Download { stream: usize, block: usize, bytes: Range<usize> },
    /// Makes a stream wait for another, through a point or an event.
    Wait { stream: usize, other: usize, by_event: bool },
    /// Submits a stream's pending batch.
    Flush { stream: usize },
    /// Replaces a stream, whose work may still run, by a new one.
    NewStream { stream: usize },
    /// Replaces a block, which may be in use, by a new one with bytes that count up from `first`.
    NewBlock { stream: usize, block: usize, first: u8 },
}

/// Some words of a block.
#[derive(Debug, Clone)]
pub(super) struct View {
    pub(super) block: usize,
    pub(super) words: Range<usize>,
}

#[derive(Debug, Clone)]
pub(super) struct Program {
    pub(super) n_streams: usize,
    pub(super) n_blocks: usize,
    pub(super) ops: Vec<Op>,
}

impl Program {
    pub(super) fn random(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let (n_streams, n_blocks) = (rng.usize(2..=4), rng.usize(2..=4));
        let n_ops = rng.usize(10..=60);
        let mut maker = Maker { rng, n_streams, n_blocks };
        let ops = (0..n_ops).map(|_| maker.op()).collect();
        Self { n_streams, n_blocks, ops }
    }
}

struct Maker {
    rng: Rng,
    n_streams: usize,
    n_blocks: usize,
}

impl Maker {
    fn op(&mut self) -> Op {
        let stream = self.rng.usize(..self.n_streams);
        match self.rng.u32(..100) {
            0..28 => self.mix(stream),
            28..48 => Op::Step { stream, view: self.view(), add: self.rng.u32(..) },
            48..68 => self.copy(stream),
            68..74 => Op::Fill { stream, block: self.block(), word: self.rng.u32(..) },
            74..80 => {
                let bytes = self.bytes();
                Op::Upload {
                    stream,
                    block: self.block(),
                    offset: bytes.start,
                    len: bytes.len(),
                    first: self.rng.u8(..),
                }
            }
            80..86 => Op::Download { stream, block: self.block(), bytes: self.bytes() },
            86..92 => Op::Wait { stream, other: self.rng.usize(..self.n_streams), by_event: self.rng.bool() },
            92..95 => Op::Flush { stream },
            95..97 => Op::NewStream { stream },
            _ => Op::NewBlock { stream, block: self.block(), first: self.rng.u8(..) },
        }
    }

    fn block(&mut self) -> usize {
        self.rng.usize(..self.n_blocks)
    }

    fn view(&mut self) -> View {
        let start = self.rng.usize(..WORDS / STEP) * STEP;
        View { block: self.block(), words: start..self.rng.usize(start + 1..=WORDS) }
    }

    fn bytes(&mut self) -> Range<usize> {
        let start = self.rng.usize(..WORDS * 4);
        start..self.rng.usize(start + 1..=WORDS * 4)
    }

    /// Two views of the same length that do not overlap, since a kernel refuses overlapping arguments.
    fn mix(&mut self, stream: usize) -> Op {
        loop {
            let (mut source, mut sum) = (self.view(), self.view());
            let len = source.words.len().min(sum.words.len());
            source.words.end = source.words.start + len;
            sum.words.end = sum.words.start + len;
            if source.block != sum.block || disjoint(&source.words, &sum.words) {
                return Op::Mix { stream, source, sum, add: self.rng.u32(..) };
            }
        }
    }

    /// A copy between ranges of bytes that do not overlap.
    fn copy(&mut self, stream: usize) -> Op {
        loop {
            let (source, to, mut bytes, target) = (self.block(), self.block(), self.bytes(), self.bytes());
            let len = bytes.len().min(target.len());
            bytes.end = bytes.start + len;
            if source != to || disjoint(&bytes, &(target.start..target.start + len)) {
                return Op::Copy { stream, source, bytes, to, offset: target.start };
            }
        }
    }
}

pub(super) fn disjoint(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.end <= b.start || b.end <= a.start
}

/// The bytes of an upload.
pub(super) fn counted(first: u8, len: usize) -> Vec<u8> {
    (0..251).cycle().take(len).map(|i| first.wrapping_add(i)).collect()
}
