//! Host guards: access to memory that host and device share. A guard sees the device's writes and refuses new work on its
//! bytes.

use std::thread;

use ndarray::Array2;
use vkarray::memory::HostOptions;
use vkarray::prelude::Evaluate;
use vkarray::{Graph, Groups, Index, s};

use super::host_arrays;
use crate::fixture::kernels::{mix, mixed, step, stepped};
use crate::fixture::watchdog::watched;
use crate::fixture::{Fixture, contents};

const N: usize = 70;

fn all() -> Groups<'static> {
    Groups::covering(N)
}

fn numbers(first: u32) -> Vec<u32> {
    (0..).map(|i: u32| first.wrapping_add(i * 7)).take(N).collect()
}

fn is_held<T>(outcome: Result<T, impl std::error::Error>) -> bool {
    let text = outcome.err().map(|error| error.to_string()).unwrap_or_default();
    text.starts_with("the host holds bytes ")
}

#[test]
fn a_guard_excludes_kernels_from_the_words_at_its_ends() {
    let fixture = Fixture::open();
    let x = fixture.pinned_array::<u8>([1024]).unwrap();
    x.write_on_host().unwrap().as_mut_slice().unwrap().fill(1);
    let (behind, before) = (x.slice(s![517..]).unwrap(), x.slice(s![..512]).unwrap());
    let guard = behind.write_on_host().unwrap();
    // Bytes 516 and 517 lie in one word.
    assert!(is_held((x.slice(s![..517]).unwrap() + 1_u8).eval()));
    assert_eq!(contents(&(&before + 1_u8).eval().unwrap()), [2; 512]);
    drop(guard);
    let guard = before.read_on_host().unwrap();
    assert_eq!(contents(&(&behind + 1_u8).eval().unwrap()), [2; 507]);
    assert!(is_held(x.slice(s![511..]).unwrap().fill(3)));
    drop(guard);
    assert_eq!(contents(&x), [1; 1024]);
}

#[test]
fn host_and_device_write_the_same_bytes_in_turn() {
    let fixture = Fixture::open();
    let step = step(&fixture);
    for (name, array) in host_arrays(&fixture, N) {
        array.write_on_host().unwrap().as_mut_slice().unwrap().copy_from_slice(&numbers(1));
        step.dispatch(fixture.default_stream(), all(), (&array, 3_u32)).unwrap();
        let expected: Vec<u32> = numbers(1).into_iter().map(|x| stepped(x, 3)).collect();
        assert_eq!(array.read_on_host().unwrap().as_slice().unwrap(), expected, "{name}");
        array.write_on_host().unwrap().view_mut()[5] += 1;
        step.dispatch(fixture.default_stream(), all(), (&array, 4_u32)).unwrap();
        let mut again = expected;
        again[5] += 1;
        again.iter_mut().for_each(|x| *x = stepped(*x, 4));
        assert_eq!(contents(&array), again, "{name}");
    }
}

#[test]
fn work_on_bytes_under_a_host_guard_is_refused_and_changes_nothing() {
    let fixture = Fixture::open();
    let (stream, step, mix) = (fixture.default_stream(), step(&fixture), mix(&fixture));
    let other = fixture.to_device(&ndarray::Array1::from(numbers(9))).unwrap();
    for (name, array) in host_arrays(&fixture, N) {
        array.copy_from_host(&ndarray::Array1::from(numbers(1))).unwrap();
        let (graph, _) = Graph::record(stream, |graph| step.record(graph, all(), (&array, 1_u32))).unwrap();
        let guard = array.write_on_host().unwrap();
        assert!(is_held(step.dispatch(stream, all(), (&array, 1_u32))), "{name}: write");
        assert!(is_held(mix.dispatch(stream, all(), (&array, &other, 1_u32))), "{name}: read");
        assert!(is_held(graph.replay(stream)), "{name}: replay");
        assert!(is_held(array.block().fill(stream, 0)), "{name}: fill");
        assert!(is_held(other.block().copy_from_block(stream, 0, array.block(), 0..8)), "{name}: copy");
        assert!(is_held(array.copy_from_host(&ndarray::Array1::from(numbers(2)))), "{name}: copy from the host");
        assert!(is_held(array.copy_to_host()), "{name}: copy to the host");
        assert!(is_held(array.read_on_host()), "{name}: another guard");
        drop(guard);
        assert_eq!((contents(&array), contents(&other)), (numbers(1), numbers(9)), "{name}");
        let guard = array.read_on_host().unwrap();
        let second = array.clone();
        assert_eq!(second.read_on_host().unwrap().as_slice(), guard.as_slice(), "{name}: a second read guard");
        mix.dispatch(stream, all(), (&array, &other, 1_u32)).unwrap();
        assert!(is_held(step.dispatch(stream, all(), (&array, 1_u32))), "{name}: write under a read");
        assert!(is_held(array.write_on_host()), "{name}: write guard under a read");
        drop(guard);
        step.dispatch(stream, all(), (&array, 1_u32)).unwrap();
        let sums: Vec<u32> = numbers(1).iter().zip(numbers(9)).map(|(&x, sum)| mixed(x, sum, 1)).collect();
        assert_eq!(contents(&other), sums, "{name}");
        other.copy_from_host(&ndarray::Array1::from(numbers(9))).unwrap();
    }
}

#[test]
fn a_leaked_host_guard_refuses_device_work_forever() {
    let fixture = Fixture::open();
    let (stream, step) = (fixture.default_stream(), step(&fixture));
    let array = fixture.pinned_array::<u32>([N]).unwrap();
    array.write_on_host().unwrap().as_mut_slice().unwrap().fill(7);
    std::mem::forget(array.write_on_host().unwrap());
    let view = array.slice([Index::from(64..70)]).unwrap();
    for handle in [&array, &array.clone(), &view] {
        assert!(is_held(step.dispatch(stream, all(), (handle, 1_u32))));
        assert!(is_held(handle.read_on_host()));
    }
    stream.synchronize().unwrap();
    // The fixture checks that the array's memory is freed.
}

#[test]
fn guards_of_disjoint_bytes_are_independent() {
    let fixture = Fixture::open();
    // Guards of non-coherent memory cover whole atoms; guards of coherent memory cover only their bytes.
    let is_coherent = fixture.pinned_array::<u32>([1]).unwrap().block().is_coherent();
    let middle = if is_coherent { 30 } else { 64 };
    let array = fixture.pinned_array::<u32>([N]).unwrap();
    let part = |range: std::ops::Range<isize>| array.slice([Index::from(range)]).unwrap();
    let (low, high, across) = (part(0..30), part(middle..70), part(29..middle + 1));
    let mut first = low.write_on_host().unwrap();
    assert_eq!(is_held(part(31..32).write_on_host()), !is_coherent, "the same atom as the first");
    let mut second = high.write_on_host().unwrap();
    first.as_mut_slice().unwrap().fill(1);
    second.as_mut_slice().unwrap().fill(2);
    assert!(is_held(across.read_on_host()));
    drop(first);
    assert_eq!(low.read_on_host().unwrap().as_slice().unwrap(), [1; 30]);
    drop(second);
    let across = across.read_on_host().unwrap();
    let seen = across.as_slice().unwrap();
    assert_eq!((seen[0], seen[seen.len() - 1]), (1, 2));
}

#[test]
fn a_guard_waits_for_running_work() {
    let fixture = Fixture::open();
    let step = step(&fixture);
    let streams = [fixture.stream().unwrap(), fixture.stream().unwrap()];
    let array = fixture.mapped_array::<u32>([N], HostOptions::default()).unwrap();
    array.write_on_host().unwrap().as_mut_slice().unwrap().copy_from_slice(&numbers(3));
    let mut expected = numbers(3);
    for round in 0..40 {
        for (stream, add) in streams.iter().zip(1..) {
            step.dispatch(stream, all(), (&array, round * 2 + add)).unwrap();
            expected.iter_mut().for_each(|x| *x = stepped(*x, round * 2 + add));
        }
        let mut guard = array.write_on_host().unwrap();
        assert_eq!(guard.as_mut_slice().unwrap(), expected, "round {round}");
        guard.view_mut()[1] = round;
        expected[1] = round;
    }
}

#[test]
fn strided_and_reversed_views_are_accessed_in_place() {
    let fixture = Fixture::open();
    let array = fixture.pinned_array::<u32>([6, 8]).unwrap();
    let host = Array2::from_shape_vec((6, 8), (0..48_u32).collect()).unwrap();
    array.write_on_host().unwrap().view_mut().assign(&host);
    let view = array.slice([Index::stepped(.., -2), Index::stepped(1.., 3)]).unwrap().transpose(None).unwrap();
    let expected = host.slice(ndarray::s![..;-2, 1..;3]).t().to_owned().into_dyn();
    assert_eq!(view.read_on_host().unwrap().view(), expected);
    view.write_on_host().unwrap().view_mut().fill(0);
    let mut changed = host.clone();
    changed.slice_mut(ndarray::s![..;-2, 1..;3]).fill(0);
    assert_eq!(array.copy_to_host().unwrap(), changed.into_dyn());
    let empty = array.slice([Index::from(2..2)]).unwrap();
    assert_eq!(empty.read_on_host().unwrap().as_slice(), Some(&[][..]));
    let order = fixture.pinned_array_like(&array.transpose(None).unwrap()).unwrap();
    assert!(order.is_f_contiguous() && order.shape() == [8, 6]);
}

#[test]
fn device_memory_has_no_host_guard() {
    let fixture = Fixture::open();
    // Refused also where the memory is mapped, since it is not mapped on another device.
    let array = fixture.zeros::<u32>([N]).unwrap();
    let message = "the host does not address device memory: copy it, or use pinned, mapped or shared memory";
    assert_eq!(array.read_on_host().unwrap_err().to_string(), message);
    assert_eq!(array.write_on_host().unwrap_err().to_string(), message);
}

#[test]
fn threads_that_copy_in_place_wait_for_each_other() {
    let fixture = Fixture::open();
    let array = fixture.pinned_array::<u32>([4096]).unwrap();
    array.write_on_host().unwrap().as_mut_slice().unwrap().fill(0);
    let step = step(&fixture);
    watched("copies and kernels of four threads", || {
        thread::scope(|scope| {
            for value in 1..=3_u32 {
                let array = &array;
                scope.spawn(move || {
                    for _ in 0..50 {
                        array.copy_from_host(&ndarray::Array1::from_elem(4096, value)).unwrap();
                        let seen = contents(array);
                        assert!(seen.iter().all(|x| *x == seen[0]), "a copy was seen halfway");
                    }
                });
            }
            let stream = fixture.stream().unwrap();
            let (array, step) = (&array, &step);
            scope.spawn(move || {
                for _ in 0..50 {
                    step.dispatch(&stream, Groups::covering([4096]), (array, 1_u32)).unwrap();
                }
            });
        });
    });
    // All elements come from one of the copies, followed by at most fifty steps.
    let last = contents(&array);
    let steps = |from: u32| std::iter::successors(Some(from), |x| Some(stepped(*x, 1))).take(51);
    assert!((0..=3).flat_map(steps).any(|x| x == last[0]), "{} is not a copied number after up to 50 steps", last[0]);
    assert_eq!(last, [last[0]; 4096]);
}
