//! Copies between generated views of every item size; every byte of the target's block is compared, including the gaps.
//!
//! The reference copies element by element on the host. Unit tests of the crate compare the layouts with NumPy's.
//! `VKARRAY_TEST_PROGRAMS` sets how many programs run for each item size.

use bytemuck::{Pod, Zeroable};
use fastrand::Rng;
use vkarray::{DType, DeviceNDArray, Element, Index, Order};

use crate::fixture::Fixture;

/// An item of `N` bytes.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
struct Item<const N: usize>([u8; N]);

impl<const N: usize> Element for Item<N> {
    const DTYPE: DType = DType::record::<Self>();
}

fn n_programs() -> usize {
    std::env::var("VKARRAY_TEST_PROGRAMS").ok().map_or(120, |text| text.parse().unwrap())
}

/// The bytes of an array's whole block.
fn block_bytes<T: Element>(array: &DeviceNDArray<T>) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(array.block().size()).unwrap()];
    array.block().copy_to_host(array.context().default_stream(), 0, &mut bytes).unwrap();
    bytes
}

/// Writes noise over an array's whole block.
fn scramble<T: Element>(array: &DeviceNDArray<T>, rng: &mut Rng) {
    let mut noise = vec![0; usize::try_from(array.block().size()).unwrap()];
    rng.fill(&mut noise);
    array.block().copy_from_host(array.context().default_stream(), 0, &noise).unwrap();
}

/// A shape of up to five axes and some thousand elements.
fn shape(rng: &mut Rng) -> Vec<usize> {
    const LENGTHS: [usize; 14] = [0, 1, 1, 2, 3, 4, 5, 7, 16, 17, 31, 33, 64, 131];
    let mut shape: Vec<usize> = Vec::new();
    for _ in 0..rng.usize(0..=5) {
        let is_empty = rng.u8(..) < 8;
        let len = if is_empty { 0 } else { LENGTHS[rng.usize(1..LENGTHS.len())] };
        // Beside an empty axis the other axes count, since the array that is viewed has elements along it.
        if shape.iter().chain([&len]).map(|&len| len.max(1)).product::<usize>() <= 6000 {
            shape.push(len);
        }
    }
    shape
}

/// An order of axes, in signed numbers as transposing takes them.
fn permutation(rng: &mut Rng, n: usize) -> Vec<usize> {
    let mut axes: Vec<usize> = (0..n).collect();
    if rng.bool() {
        rng.shuffle(&mut axes);
    }
    axes
}

/// Every `step`-th index of an axis from `start` on, `len` indices, or these in reverse order.
fn steps(start: usize, step: usize, len: usize, is_reversed: bool) -> Index {
    let [start, step, len] = [start, step, len].map(usize::cast_signed);
    if len == 0 {
        return Index::from(0..0);
    }
    let last = start + step * (len - 1);
    match is_reversed {
        false => Index::stepped(start..last + 1, step),
        true => Index::Range { start: Some(last), stop: (start > 0).then(|| start - 1), step: -step },
    }
}

/// A view of that shape into a new array that is larger: its axes in another order, with steps, gaps and reversals.
fn view<T: Element>(fixture: &Fixture, rng: &mut Rng, shape: &[usize]) -> DeviceNDArray<T> {
    let axes = permutation(rng, shape.len());
    let is_plain = rng.u8(..) < 80;
    let (mut whole, mut cuts) = (Vec::new(), Vec::new());
    for &axis in &axes {
        let len = shape[axis];
        let is_plain = is_plain || whole.iter().product::<usize>() > 20_000;
        let (start, step, rest) =
            if is_plain { (0, 1, 0) } else { (rng.usize(0..4), rng.usize(1..4), rng.usize(0..3)) };
        whole.push(start + len * step + rest);
        cuts.push(steps(start, step, len, rng.u8(..) < 50));
    }
    let order = if rng.bool() { Order::C } else { Order::F };
    let base = fixture.device_array_with_order::<T>(whole, order).unwrap();
    scramble(&base, rng);
    let mut back = vec![0; axes.len()];
    axes.iter().enumerate().for_each(|(place, &axis)| back[axis] = place.cast_signed());
    base.slice(&cuts).unwrap().transpose(Some(&back)).unwrap()
}

/// The bytes of the target's block after the copy, computed plainly: all elements are read, then all are written.
fn expected<T: Element>(source: &DeviceNDArray<T>, target: &DeviceNDArray<T>) -> Vec<u8> {
    let n = size_of::<T>();
    let (from, mut to) = (block_bytes(source), block_bytes(target));
    for (source, target) in source.layout().offsets().zip(target.layout().offsets()) {
        to[target * n..][..n].copy_from_slice(&from[source * n..][..n]);
    }
    to
}

fn assert_copied<T: Element>(source: &DeviceNDArray<T>, target: &DeviceNDArray<T>, program: usize) {
    let expected = expected(source, target);
    target.copy_from_device(source).unwrap();
    let found = block_bytes(target);
    let what = || format!("program {program} of {}: {:?} to {:?}", T::DTYPE, source.layout(), target.layout());
    assert!(found == expected, "{}", what());
}

fn copies_between_arrays<T: Element>(fixture: &Fixture) {
    let mut rng = Rng::with_seed(size_of::<T>() as u64);
    for program in 0..n_programs() {
        let shape = shape(&mut rng);
        let target = view::<T>(fixture, &mut rng, &shape);
        let mut narrow = shape.clone();
        narrow.iter_mut().for_each(|len| *len = if rng.u8(..) < 30 { 1 } else { *len });
        let source = view::<T>(fixture, &mut rng, &narrow).broadcast_to(&shape).unwrap();
        assert_copied(&source, &target, program);
    }
}

/// Source and target are views of one array, so that they may interleave or share elements.
fn copies_inside_an_array<T: Element>(fixture: &Fixture) {
    let mut rng = Rng::with_seed(100 + size_of::<T>() as u64);
    for program in 0..n_programs() {
        let ndim = rng.usize(1..=3);
        let shape: Vec<usize> = (0..ndim).map(|_| rng.usize(1..12)).collect();
        let whole: Vec<usize> = shape.iter().map(|len| 3 * len + 3).collect();
        let base = fixture.device_array::<T>(&whole).unwrap();
        scramble(&base, &mut rng);
        let mut part = || {
            let mut cut = |&len: &usize| steps(rng.usize(0..4), rng.usize(1..=3), len, rng.bool());
            base.slice(shape.iter().map(&mut cut).collect::<Vec<_>>()).unwrap()
        };
        let (source, target) = (part(), part());
        assert_copied(&source, &target, program);
        // Copies also run with axes transposed, where the shape allows.
        if shape.iter().all(|len| *len == shape[0]) {
            assert_copied(&source.transpose(None).unwrap(), &target, program);
        }
    }
}

macro_rules! for_each_item_size {
    ($run:ident: $($n:literal)*) => {{
        let fixture = Fixture::open();
        $($run::<Item<$n>>(&fixture);)*
    }};
}

#[test]
fn views_of_small_items_are_copied() {
    for_each_item_size!(copies_between_arrays: 1 2 3 4 5 6);
}

#[test]
fn views_of_items_of_some_words_are_copied() {
    for_each_item_size!(copies_between_arrays: 7 8 9 10 11 12);
}

#[test]
fn views_of_large_items_are_copied() {
    for_each_item_size!(copies_between_arrays: 13 14 15 16 24 40);
}

#[test]
fn views_of_one_array_are_copied_as_if_the_source_were_read_first() {
    for_each_item_size!(copies_inside_an_array: 1 2 3 4 6 8 12 16 24);
}

#[test]
fn large_views_are_copied() {
    let fixture = Fixture::open();
    let mut rng = Rng::with_seed(7);
    for shape in [vec![300, 500], vec![40_000, 3], vec![3, 40_000], vec![70_001], vec![1031, 67, 2], vec![2; 11]] {
        for _ in 0..4 {
            let (source, target) = (view::<u8>(&fixture, &mut rng, &shape), view::<u8>(&fixture, &mut rng, &shape));
            assert_copied(&source, &target, 0);
            let (source, target) = (view::<f32>(&fixture, &mut rng, &shape), view::<f32>(&fixture, &mut rng, &shape));
            assert_copied(&source, &target, 0);
        }
    }
}

#[test]
fn fills_change_only_their_elements() {
    fn fills<T: Element>(fixture: &Fixture, value: T) {
        let mut rng = Rng::with_seed(size_of::<T>() as u64);
        for program in 0..n_programs() / 3 {
            let shape = shape(&mut rng);
            let target = view::<T>(fixture, &mut rng, &shape);
            let mut expected = block_bytes(&target);
            for at in target.layout().offsets() {
                expected[at * size_of::<T>()..][..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
            }
            target.fill(value).unwrap();
            assert!(block_bytes(&target) == expected, "program {program} of {}: {:?}", T::DTYPE, target.layout());
        }
    }
    let fixture = Fixture::open();
    fills(&fixture, 0xA5_u8);
    fills(&fixture, 0x1234_u16);
    fills(&fixture, -1.5_f32);
    fills(&fixture, 0_f64);
    fills(&fixture, std::f64::consts::PI);
    fills(&fixture, Item([1, 2, 3]));
    fills(&fixture, Item([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]));
    fills(&fixture, Item([7; 24]));
    fills(&fixture, Item([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]));
}
