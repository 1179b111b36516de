//! Arguments with wrong descriptions: no kernel reaches a byte outside the memory that it is given.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use vkarray::kernel::{Arg, ArrayArg, ArrayShape, AsArg, Error as KernelError};
use vkarray::memory::Block;
use vkarray::{DType, DeviceNDArray, Graph, Groups, Kernel};

use super::kernel;
use crate::fixture::{Fixture, contents};

/// Writes every element of the array.
const OVERWRITE: &str = "
    @group(0) @binding(0) var<storage, read_write> y: array<u32>;
    @compute @workgroup_size(64) fn overwrite(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < arrayLength(&y) { y[id.x] = 7u; }
    }";

/// Forged descriptions: the offset and the number of bytes.
const OUTSIDE: &[(u64, u64)] = &[
    (0, 16_384 * 4),        // The three arrays that follow, and more.
    (256, 256),             // The next array, where arrays are packed.
    (0, 264),               // Two elements too many.
    (4, 256),               // Begins at an offset that cannot be bound, and ends one element too late.
    (1 << 20, 256),         // Somewhere in the chunk.
    (u64::MAX - 255, 256),  // The sum overflows.
    (u64::MAX - 3, 1 << 8), // The sum overflows, from no aligned offset.
    (0, 256 << 20),         // More bytes than there are.
    (512, u64::MAX - 511),
];

/// A kernel's argument that describes `nbytes` bytes from `offset` on.
fn forged<'a>(block: &'a Arc<Block>, shape: &'a [usize], (offset, nbytes): (u64, u64)) -> Arg<'a> {
    let shape = ArrayShape { offset, ..ArrayShape::new(DType::U32, shape, nbytes) };
    Arg::Array(ArrayArg::new(block, shape))
}

fn assert_outside(error: &KernelError, (offset, nbytes): (u64, u64)) {
    let is_limit = error.to_string().contains("the device binds at most");
    let end = u128::from(offset) + u128::from(nbytes);
    let message = format!("kernel `overwrite`: `y` lies at bytes {offset}..{end} of its memory, which has 256 bytes");
    assert!(error.to_string() == message || is_limit, "{error}");
}

#[test]
fn a_forged_array_is_refused_by_every_call_that_runs_a_kernel() {
    let fixture = Fixture::open();
    let overwrite = kernel(&fixture, OVERWRITE);
    let stream = fixture.default_stream();
    let arrays: Vec<DeviceNDArray<u32>> = (0..4).map(|i| fixture.full([64], i).unwrap()).collect();
    let (block, groups) = (arrays[0].block(), Groups::covering([16_384]));
    let (mut graph, node) = Graph::record(stream, |graph| overwrite.record(graph, groups, (&arrays[3],))).unwrap();
    for &range in OUTSIDE {
        let arg = forged(block, &[64], range);
        assert_outside(&overwrite.dispatch(stream, groups, (arg.clone(),)).unwrap_err(), range);
        assert_outside(&overwrite.dispatch(stream, groups, [("y", arg.clone())]).unwrap_err(), range);
        let recorded = Graph::record(stream, |graph| overwrite.record(graph, groups, (arg.clone(),)));
        assert_outside(&recorded.unwrap_err(), range);
        assert_outside(&node.set(&mut graph, "y", arg).unwrap_err(), range);
    }
    graph.replay(stream).unwrap(); // Replays the graph as it was recorded.
    for (i, array) in (0..3).zip(&arrays) {
        assert_eq!(contents(array), [i; 64], "array {i}");
    }
    assert_eq!(contents(&arrays[3]), [7; 64]);
    // Part of an array may be described.
    overwrite.dispatch(stream, groups, (forged(block, &[63], (0, 252)),)).unwrap();
    assert_eq!(contents(&arrays[0])[62..], [7, 0]);
}

#[test]
fn a_forged_array_does_not_reach_bytes_under_a_host_guard() {
    let fixture = Fixture::open();
    let overwrite = kernel(&fixture, OVERWRITE);
    let pinned: Vec<_> = (0..8).map(|_| fixture.pinned_array::<u32>([64]).unwrap()).collect();
    pinned.iter().for_each(|array| array.write_on_host().unwrap().as_mut_slice().unwrap().fill(3));
    let guards: Vec<_> = pinned[1..].iter().map(|array| array.read_on_host().unwrap()).collect();
    for &range in OUTSIDE {
        let arg = forged(pinned[0].block(), &[64], range);
        let refused = overwrite.dispatch(fixture.default_stream(), Groups::covering([16_384]), (arg,));
        assert_outside(&refused.unwrap_err(), range);
    }
    fixture.synchronize().unwrap();
    assert!(guards.iter().all(|guard| guard.as_slice() == Some(&[3; 64])));
}

#[test]
fn an_argument_of_a_read_only_array_stays_read_only() {
    let fixture = Fixture::open();
    let overwrite = kernel(&fixture, OVERWRITE);
    let array = fixture.full([64], 5_u32).unwrap();
    let read_only = array.clone().read_only();
    let view = read_only.reshape([8, 8]).unwrap();
    for shown in [&read_only, &view] {
        let Arg::Array(arg) = shown.as_arg() else { panic!("an array is an array") };
        assert!(!arg.shape().is_writable && !arg.padded().read_only().shape().is_writable);
        for arg in [arg, arg.padded()] {
            let refused = overwrite.dispatch(fixture.default_stream(), Groups::covering([64]), (Arg::Array(arg),));
            assert!(refused.unwrap_err().to_string().ends_with("which is read-only"));
        }
    }
    assert_eq!(contents(&array), [5; 64]);
}

/// An argument that describes one of two arrays, and then the other.
struct Fickle<'a> {
    arrays: [&'a DeviceNDArray<u32>; 2],
    n_asked: AtomicUsize,
}

impl AsArg for Fickle<'_> {
    fn as_arg(&self) -> Arg<'_> {
        self.arrays[self.n_asked.fetch_add(1, Ordering::Relaxed) % 2].as_arg()
    }
}

#[test]
fn an_argument_is_described_once_per_call() {
    let fixture = Fixture::open();
    let overwrite = kernel(&fixture, OVERWRITE);
    let stream = fixture.default_stream();
    let (small, large) = (fixture.full([3], 1_u32).unwrap(), fixture.full([640], 2_u32).unwrap());
    let fickle = Fickle { arrays: [&small, &large], n_asked: AtomicUsize::new(0) };
    overwrite.dispatch(stream, Groups::covering([640]), (&fickle,)).unwrap();
    assert_eq!((contents(&small), contents(&large)), (vec![7; 3], vec![2; 640]));
    let (graph, _) =
        Graph::record(stream, |graph| overwrite.record(graph, Groups::covering([640]), (&fickle,))).unwrap();
    graph.replay(stream).unwrap();
    assert_eq!(contents(&large), [7; 640]);
    assert_eq!(fickle.n_asked.load(Ordering::Relaxed), 2);
}

#[test]
fn indirect_sizes_must_lie_within_their_memory() {
    struct Counts<'a>(&'a DeviceNDArray<u32>, u64, u64);
    impl AsArg for Counts<'_> {
        fn as_arg(&self) -> Arg<'_> {
            forged(self.0.block(), &[3], (self.1, self.2))
        }
    }
    let fixture = Fixture::open();
    let overwrite = kernel(&fixture, OVERWRITE);
    let (counts, y) = (fixture.full([6], 1_u32).unwrap(), fixture.zeros::<u32>([64]).unwrap());
    // The forged offset and bytes, the first of the three numbers, and its offset.
    let cases = [
        (0, 1 << 20, 4, 16),
        (16, 12, 0, 16),
        (1 << 30, 12, 0, 1 << 30),
        (u64::MAX - 3, 12, 0, u64::MAX - 3),
        (0, u64::MAX, (1 << 62) - 8, u64::MAX - 31),
    ];
    let dispatch = |kernel: &Kernel, counts: &Counts<'_>, first: u64| {
        kernel.dispatch(fixture.default_stream(), Groups::indirect(counts, first), (&y,))
    };
    for (offset, nbytes, first, at) in cases {
        let refused = dispatch(&overwrite, &Counts(&counts, offset, nbytes), first).unwrap_err();
        let message = format!("bytes {at}..{} are outside a block of 24 bytes", u128::from(at) + 12);
        let source = std::error::Error::source(&refused).map(ToString::to_string).unwrap_or_default();
        assert!(refused.to_string() == message || source == message, "{refused}: {source}");
    }
    assert_eq!(contents(&y), [0; 64]);
    dispatch(&overwrite, &Counts(&counts, 12, 12), 0).unwrap(); // The last three numbers.
    assert_eq!(contents(&y), [7; 64]);
}
