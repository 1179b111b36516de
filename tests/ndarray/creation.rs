//! Ranges and arrays like others, computed on the device or uploaded: their elements equal those of the host.

use std::fmt::Debug;

use ::ndarray::Array1;
use vkarray::{DeviceNDArray, Error, Index, Order};
use vkarray_kernel::{Bool, DType};
use vkarray_ndarray::{LayoutError, Number, RangeProblem};

use crate::fixture::{Fixture, contents};

/// Reads a range back and compares it with the host's.
fn check<T: Number + PartialEq + Debug>(fixture: &Fixture, (start, stop, step): (T, T, T), expected: &[T]) {
    let array = fixture.arange(start, stop, step).unwrap();
    assert_eq!((array.shape(), array.dtype()), (&[expected.len()][..], T::DTYPE));
    // `assert_eq` would print all elements.
    let found = contents(&array);
    let wrong = found.iter().zip(expected).position(|(found, expected)| found != expected);
    assert!(wrong.is_none(), "{start:?} {stop:?} {step:?}: at {wrong:?}");
}

#[test]
fn short_ranges_equal_those_of_numpy() {
    let fixture = Fixture::open();
    check(&fixture, (0, 5, 2), &[0_i32, 2, 4]);
    check(&fixture, (5, -1, -3), &[5_i8, 2]);
    check(&fixture, (250, 255, 2), &[250_u8, 252, 254]);
    check(&fixture, (3, 3, 1), &[0_u16; 0]);
    check(&fixture, (i16::MIN, 0, 30000), &[i16::MIN, -2768]);
    check(&fixture, (u64::MAX - 2, u64::MAX, 1), &[u64::MAX - 2, u64::MAX - 1]);
    check(&fixture, (0.0, 1.0, 0.3), &[0.0_f64, 0.3, 0.6, 0.3 * 3.0]);
    check(&fixture, (2.0, 0.0, -0.5), &[2.0_f32, 1.5, 1.0, 0.5]);
    let spaced = fixture.linspace(0.0_f32, 1.0, 5, true).unwrap();
    assert_eq!(contents(&spaced), [0.0, 0.25, 0.5, 0.75, 1.0]);
    assert_eq!(contents(&fixture.linspace(0_i32, 10, 4, false).unwrap()), [0, 2, 5, 7]);
    assert_eq!(fixture.linspace(0.0_f64, 1.0, 0, true).unwrap().shape(), [0]);
}

#[test]
fn long_ranges_equal_those_of_the_host() {
    let fixture = Fixture::open();
    // Lengths from the shortest that the device makes, odd lengths, and more elements than a dispatch makes; all kinds
    // of wrapping.
    for len in [(1 << 16) - 1, 1 << 16, (1 << 16) + 1, (1 << 23) + 13] {
        let indices = Array1::from_iter(0..len).to_vec();
        check(&fixture, (0, len, 1), &indices);
    }
    let len = 100_003_i64;
    let numbers = |start: i64, step: i64| (0..len).map(|i| start + i * step).collect::<Vec<_>>();
    check(&fixture, (-7, -7 + len, 1), &numbers(-7, 1));
    check(&fixture, (1 << 40, (1 << 40) - len * (3 << 33), -3 << 33), &numbers(1 << 40, -3 << 33)); // Through 2^32 and 0.
    let expected: Vec<u64> = numbers(0, 0x1234_5678_9abc).into_iter().map(i64::cast_unsigned).collect();
    check(&fixture, (0, 0x1234_5678_9abc * 100_003, 0x1234_5678_9abc), &expected);
    let expected: Vec<i32> = (0..100_003).map(|i| i32::MAX - 11 * i).collect();
    check(&fixture, (i32::MAX, i32::MAX - 11 * 100_003, -11), &expected);
    let expected: Vec<f32> = (0..100_003_u32).map(|i| i as f32 * 0.5 - 3.0).collect();
    check(&fixture, (-3.0, 100_003.0 * 0.5 - 3.0, 0.5), &expected);
    let step = (0.1_f32 + 0.7) - 0.1;
    let expected: Vec<f32> = (0..70_000_u32).map(|i| if i == 1 { 0.8 } else { 0.1 + i as f32 * step }).collect();
    let found = contents(&fixture.arange(0.1_f32, 49_000.0, 0.7).unwrap());
    assert_eq!(found[..69_000], expected[..69_000]); // The range needs rounding, so the host makes it.
}

#[test]
fn ranges_longer_than_one_dispatch_are_continuous() {
    let fixture = Fixture::open();
    let array = fixture.arange(0_i64, 3 << 23, 1).unwrap();
    for border in [1_isize << 23, 2 << 23] {
        let around = array.slice([Index::from(border - 2..border + 2)]).unwrap();
        assert_eq!(contents(&around), (border as i64 - 2..border as i64 + 2).collect::<Vec<_>>());
    }
}

#[test]
fn ranges_without_a_length_are_refused() {
    let fixture = Fixture::open();
    let refused = [
        (fixture.arange(0.0_f32, 1.0, 0.0).map(|_| ()), RangeProblem::ZeroStep),
        (fixture.arange(0_u8, 1, 0).map(|_| ()), RangeProblem::ZeroStep),
        (fixture.arange(0.0_f64, f64::NAN, 1.0).map(|_| ()), RangeProblem::NotANumber),
        (fixture.arange(0.0_f64, f64::INFINITY, 1.0).map(|_| ()), RangeProblem::TooLong),
    ];
    for (result, expected) in refused {
        assert!(matches!(result, Err(Error::Range { problem, .. }) if problem == expected), "{expected}");
    }
    let message = fixture.arange(0.5_f32, f32::INFINITY, 1.0).unwrap_err().to_string();
    assert_eq!(message, "invalid range from 0.5 to inf by 1: its length is too large");
    // The lengths are countable, and exceed any memory.
    assert!(matches!(fixture.arange(i64::MIN, i64::MAX, 1), Err(Error::Layout(LayoutError::Overflow { .. }))));
    assert!(fixture.arange(0_i64, 1 << 50, 1).is_err());
    assert!(fixture.linspace(0.0_f32, 1.0, usize::MAX, true).is_err());
}

#[test]
fn arrays_like_others_have_their_order_and_new_memory() {
    let fixture = Fixture::open();
    let base = fixture.zeros::<i32>([4, 5, 6]).unwrap();
    let f_order = fixture.device_array_with_order::<i32>([4, 5], Order::F).unwrap();
    let step = |step| Index::stepped(.., step);
    // Array, strides of one like it.
    let cases: Vec<(DeviceNDArray<i32>, &[isize])> = vec![
        (base.clone(), &[30, 6, 1]),
        (f_order, &[1, 4]),
        (base.transpose(Some(&[1, 0, 2])).unwrap(), &[6, 30, 1]),
        // Sorted by the magnitude of the stride; numba sorts by its sign first.
        (base.slice([step(-1), step(2), step(-3)]).unwrap(), &[6, 2, 1]),
        (base.index([0]).unwrap().broadcast_to([2, 5, 6]).unwrap(), &[1, 12, 2]),
        (base.slice([(0..0).into()]).unwrap(), &[0, 0, 0]),
        (base.index([0, 0, 0]).unwrap().read_only(), &[]),
    ];
    for (like, strides) in cases {
        let halves = fixture.full_like_as(&like, 0.5_f64).unwrap();
        assert_eq!((halves.shape(), halves.strides(), halves.offset()), (like.shape(), strides, 0));
        assert!(halves.is_writable());
        assert_eq!(contents(&halves), vec![0.5; like.size()]);
        assert_eq!(contents(&fixture.zeros_like(&like).unwrap()), vec![0; like.size()]);
        let yes = fixture.full_like_as(&like, Bool::from(true)).unwrap();
        assert_eq!((contents(&yes), yes.dtype()), (vec![Bool::from(true); like.size()], DType::Bool));
        assert_eq!(fixture.device_array_like_as::<u8>(&like).unwrap().strides(), strides);
    }
}
