//! Runs a program on the device, on its streams, without any explicit ordering.

use vkarray::{Context, DeviceNDArray, Groups, Index, Kernel, Stream};

use super::program::{Op, Program, View, WORDS, counted};
use super::reference::{Reference, first_contents};
use crate::fixture::kernels::{mix, step};

/// The device and the kernels that programs call.
pub(super) struct Machine<'a> {
    ctx: &'a Context,
    pub(super) mix: Kernel,
    pub(super) step: Kernel,
}

/// One program's objects.
pub(super) struct State {
    pub(super) streams: Vec<Stream>,
    pub(super) blocks: Vec<DeviceNDArray<u32>>,
    read: Vec<Vec<u8>>,
}

impl<'a> Machine<'a> {
    pub(super) fn new(ctx: &'a Context) -> Self {
        Self { ctx, mix: mix(ctx), step: step(ctx) }
    }

    pub(super) fn run(&self, program: &Program) -> Reference {
        let mut state = self.begin(program);
        program.ops.iter().for_each(|op| self.apply(&mut state, op));
        state.finish()
    }

    pub(super) fn begin(&self, program: &Program) -> State {
        let streams: Vec<_> = (0..program.n_streams).map(|_| self.ctx.stream().unwrap()).collect();
        let blocks = (0..program.n_blocks).map(|nth| self.block(&streams[0], &first_contents(nth))).collect();
        State { streams, blocks, read: Vec::new() }
    }

    fn block(&self, stream: &Stream, bytes: &[u8]) -> DeviceNDArray<u32> {
        let array = self.ctx.device_array::<u32>([WORDS]).unwrap();
        array.block().copy_from_host(stream, 0, bytes).unwrap();
        array
    }

    pub(super) fn apply(&self, state: &mut State, op: &Op) {
        let State { streams, blocks, read } = state;
        match op {
            Op::Mix { stream, source, sum, add } => {
                let groups = Groups::covering(sum.words.len());
                let (source, sum) = (view(blocks, source), view(blocks, sum));
                self.mix.dispatch(&streams[*stream], groups, (&source, &sum, *add)).unwrap();
            }
            Op::Step { stream, view: part, add } => {
                let groups = Groups::covering(part.words.len());
                self.step.dispatch(&streams[*stream], groups, (&view(blocks, part), *add)).unwrap();
            }
            Op::Copy { stream, source, bytes, to, offset } => {
                let range = bytes.start as u64..bytes.end as u64;
                let (source, to) = (blocks[*source].block(), blocks[*to].block());
                to.copy_from_block(&streams[*stream], *offset as u64, source, range).unwrap();
            }
            Op::Fill { stream, block, word } => blocks[*block].block().fill(&streams[*stream], *word).unwrap(),
            Op::Upload { stream, block, offset, len, first } => {
                let (block, bytes) = (blocks[*block].block(), counted(*first, *len));
                block.copy_from_host(&streams[*stream], *offset as u64, &bytes).unwrap();
            }
            Op::Download { stream, block, bytes } => {
                read.push(download(&streams[*stream], &blocks[*block], bytes.start, bytes.len()));
            }
            Op::Wait { stream, other, by_event } => self.wait(&streams[*stream], &streams[*other], *by_event),
            Op::Flush { stream } => streams[*stream].flush().unwrap(),
            Op::NewStream { stream } => streams[*stream] = self.ctx.stream().unwrap(),
            Op::NewBlock { stream, block, first } => {
                // The old block is dropped first, so that its memory can be reused for the new one.
                let stand_in = blocks[(*block + 1) % blocks.len()].clone();
                drop(std::mem::replace(&mut blocks[*block], stand_in));
                blocks[*block] = self.block(&streams[*stream], &counted(*first, WORDS * 4));
            }
        }
    }

    fn wait(&self, stream: &Stream, other: &Stream, by_event: bool) {
        if by_event {
            let event = self.ctx.event();
            event.record(other).unwrap();
            event.wait(stream).unwrap();
        } else {
            stream.wait_for(&other.point().unwrap()).unwrap();
        }
    }
}

impl State {
    /// Reads all memory at the end.
    pub(super) fn finish(self) -> Reference {
        let stream = self.streams.last().expect("a program has streams");
        let blocks = self.blocks.iter().map(|block| download(stream, block, 0, WORDS * 4)).collect();
        Reference { blocks, read: self.read }
    }
}

pub(super) fn view(blocks: &[DeviceNDArray<u32>], view: &View) -> DeviceNDArray<u32> {
    blocks[view.block].slice([Index::from(view.words.clone())]).unwrap()
}

fn download(stream: &Stream, array: &DeviceNDArray<u32>, offset: usize, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    array.block().copy_to_host(stream, offset as u64, &mut bytes).unwrap();
    bytes
}
