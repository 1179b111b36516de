//! Calls that are refused, with nothing changed; calls with more workgroups than an axis of a dispatch has; calls on two
//! streams; and host memory.

use vkarray::array::{Bool, LayoutError};
use vkarray::prelude::*;
use vkarray::primitives::{PadMode, Rng, Side, concat, eye, meshgrid, stack};

use crate::fixture::{Fixture, contents};

#[test]
fn sizes_that_wrap_around_or_exceed_all_memory_are_refused() {
    let ctx = Fixture::open();
    let x = ctx.arange(0_u8, 5, 1).unwrap();
    let long = ctx.full([1], 1_u8).unwrap().broadcast_to([1 << 62]).unwrap();
    for mode in [PadMode::Constant(0), PadMode::Edge, PadMode::Reflect, PadMode::Symmetric, PadMode::Wrap] {
        for width in [(usize::MAX, 0), (0, usize::MAX), (1 << 63, 1 << 63), (1 << 62, 0), (1 << 40, 1)] {
            assert!(x.pad(&[width], mode).is_err(), "{mode:?} {width:?}");
        }
    }
    assert!(concat(&[&long, &long, &long, &long], 0).is_err()); // 2^64 elements.
    assert!(stack(&[&long, &long], 0).is_err());
    assert!(long.unstack(0).is_err());
    for n in [usize::MAX, 1 << 62] {
        assert!(x.tile(&[n]).is_err() && x.repeat(n, 0).is_err(), "{n}");
        assert!(x.repeat_each(&[n, n, 0, n, n], 0).is_err(), "{n}");
        assert!(x.histogram(n, 0.0..=1.0).is_err() && x.histogram(n, 1.0..=0.0).is_err(), "{n}");
        assert!(ctx.linspace(0.0_f32, 1.0, n, true).is_err() && ctx.linspace(0_u8, 1, n, true).is_err(), "{n}");
    }
    assert!(ctx.arange(0.0_f64, 1e18, 1.0).is_err() && ctx.arange(0_i64, i64::MAX, 1).is_err());
    for position in [u64::MAX, u64::MAX - 2] {
        assert!(Rng::philox(1).at(position).uniform::<f64>(&ctx, 3).is_ok(), "{position}"); // The counter wraps around.
        assert!(Rng::philox(1).at(position).bits::<u32>(&ctx, 3).is_ok(), "{position}");
    }
    for shift in [isize::MIN, isize::MAX] {
        assert!(x.roll(shift, 0).is_ok() && x.expand_dims([0]).unwrap().triu(shift).is_ok(), "{shift}");
        assert!(eye::<u8>(&ctx, [2, 3], shift).is_ok(), "{shift}");
    }
}

#[test]
fn refused_calls_name_what_is_wrong_and_change_nothing() {
    let ctx = Fixture::open();
    let x = ctx.arange(0, 6, 1).unwrap().reshape([2, 3]).unwrap();
    let indices = |values: &[i64]| ctx.slice_to_device(values).unwrap();
    let none = ctx.zeros::<i32>([2, 0]).unwrap();
    let mask = ctx.zeros::<Bool>(3).unwrap();
    let refusals = [
        (
            x.take(&indices(&[0, -4]), 1).unwrap_err(),
            "take: index -4 at position 1 is out of range for an axis of length 3",
        ),
        (
            x.take(&indices(&[0, 1 << 32]), 1).unwrap_err(),
            "take: index 4294967296 at position 1 is out of range for an axis of length 3",
        ),
        (none.take(&indices(&[0]), 1).unwrap_err(), "take: 1 elements are asked for, and there are none to take"),
        (
            x.take_along_axis(&indices(&[0, 1, 2]), 1).unwrap_err(),
            "take_along_axis does not take shapes (2, 3) and (3,)",
        ),
        (
            x.put(&indices(&[0, 6]), &ctx.zeros(2).unwrap()).unwrap_err(),
            "put: index 6 at position 1 is out of range for an axis of length 6",
        ),
        (
            x.put(&indices(&[0]), &ctx.zeros(0).unwrap()).unwrap_err(),
            "put: 1 elements are asked for, and there are none to take",
        ),
        (x.compact(&mask).unwrap_err(), "compact does not take shapes (2, 3) and (3,)"),
        (concat::<i32, &DeviceNDArray<i32>>(&[], 0).unwrap_err(), "concat needs at least one array"),
        (concat(&[&x, &x.t()], 0).unwrap_err(), "concat does not take shapes (2, 3) and (3, 2)"),
        (stack(&[&x, &x.t()], 0).unwrap_err(), "stack does not take shapes (2, 3) and (3, 2)"),
        (x.pad(&[(1, 1)], PadMode::Edge).unwrap_err(), "pad does not take shapes (2, 3) and (1,)"),
        (
            none.pad(&[(0, 0), (1, 2)], PadMode::Wrap).unwrap_err(),
            "pad: 3 elements are asked for, and there are none to take",
        ),
        (x.repeat_each(&[1], 0).unwrap_err(), "repeat_each does not take shapes (2, 3) and (1,)"),
        (
            x.matmul(&x).unwrap_err(),
            "matmul does not take shapes (2, 3) and (2, 3): axis 1 of the first has length 3, and axis 0 of the second 2",
        ),
        (
            x.tensordot(&x, 0, 1).unwrap_err(),
            "tensordot does not take shapes (2, 3) and (2, 3): axis 0 of the first has length 2, and axis 1 of the second 3",
        ),
        (
            x.histogram_between(&[2, 1]).unwrap_err(),
            "histogram: 2 edges; at least 2 are needed, in ascending order and without NaN",
        ),
    ];
    for (error, message) in refusals {
        assert_eq!(error.to_string(), message);
    }
    assert!(matches!(x.sort(2), Err(Error::Layout(LayoutError::AxisOutOfRange { axis: 2, ndim: 2 }))));
    assert!(matches!(x.searchsorted(&x, Side::Left), Err(Error::RankMismatch { expected: 1, .. })));
    assert!(matches!(meshgrid(&[&x], true), Err(Error::RankMismatch { expected: 1, .. })));
    assert!(matches!(ctx.zeros::<i32>([]).unwrap().nonzero(), Err(Error::NoAxis { operation: "nonzero" })));
    let other = Context::open_default().unwrap();
    assert!(matches!(x.on(other.default_stream()).sort(0), Err(Error::ForeignDevice { .. })));
    assert_eq!(contents(&x), (0..6).collect::<Vec<_>>());
}

#[test]
fn arrays_that_are_not_written_are_refused_by_put() {
    let ctx = Fixture::open();
    let x = ctx.arange(0, 6, 1).unwrap();
    let indices = |values: &[i64]| ctx.slice_to_device(values).unwrap();
    let constant = x.clone().read_only();
    assert!(matches!(constant.put(&indices(&[0]), &ctx.ones(1).unwrap()), Err(Error::ReadOnly { .. })));
    let shared = ctx.zeros::<i32>([1]).unwrap().broadcast_to([3]).unwrap();
    assert!(matches!(shared.put(&indices(&[0]), &ctx.ones(1).unwrap()), Err(Error::SharedElements { .. })));
    assert_eq!((contents(&x), contents(&shared)), ((0..6).collect(), vec![0; 3]));
}

#[test]
fn more_workgroups_than_an_axis_has_are_launched() {
    let ctx = Fixture::open();
    let n = 70_001_i32; // The rows, each with a workgroup.
    let x = ctx.arange(0, 2 * n, 1).unwrap().reshape([n, 2]).unwrap();
    let reversed = x.flip(Some(&[1])).unwrap();
    assert_eq!(contents(&reversed.sort(1).unwrap()), contents(&x));
    let sums: Vec<i64> = (0..i64::from(n)).flat_map(|row| [2 * row, 4 * row + 1]).collect();
    assert_eq!(contents(&x.cumulative_sum(1).unwrap()), sums);
    let products = x.reshape([n, 2, 1]).unwrap().matmul(&ctx.full([1, 1], 3).unwrap()).unwrap();
    let tripled: Vec<i32> = contents(&x).iter().map(|value| 3 * value).collect();
    assert_eq!(contents(&products), tripled);
    let unstacked = x.unstack(1).unwrap();
    assert_eq!(contents(&unstacked[1]), contents(&x.slice(s![.., 1]).unwrap()));
}

#[test]
fn calls_on_two_streams_and_on_memory_of_the_host_are_ordered() {
    let ctx = Fixture::open();
    let (first, second) = (ctx.stream().unwrap(), ctx.stream().unwrap());
    let x = ctx.pinned_array::<u32>(5000).unwrap();
    for round in 0..4_u32 {
        let values: Vec<u32> = (0..5000).map(|i| (i * 7919 + round) % 5003).collect();
        x.on(&first).copy_from_host(&::ndarray::aview1(&values)).unwrap();
        let order = x.on(&second).argsort(0).unwrap();
        let sorted = x.on(&first).take(&order, 0).unwrap();
        x.on(&second).put(&order, &sorted).unwrap();
        assert_eq!(contents(&x), values);
        let mut expected = values;
        expected.sort_unstable();
        assert_eq!(contents(&sorted), expected);
    }
}

#[test]
fn integers_are_counted_between_fractions() {
    let ctx = Fixture::open();
    for (bins, range) in [(1, -2.5..=2.5), (3, 0.0..=0.9), (7, -100.0..=127.0), (16, -1000.0..=1000.0)] {
        let host: Vec<i8> = (-128..=127).chain([0, 1, 127]).collect();
        let (counts, edges) = ctx.slice_to_device(&host).unwrap().histogram(bins, range.clone()).unwrap();
        let is_in =
            |x: f64, bin: usize| edges[bin] <= x && (x < edges[bin + 1] || (bin + 1 == bins && x <= edges[bins]));
        let expected = |bin| host.iter().filter(|&&x| is_in(f64::from(x), bin)).count();
        assert_eq!((edges[0], edges[bins]), (*range.start(), *range.end()));
        let counts = counts.to_vec().unwrap().into_iter().map(|count| count as usize);
        assert!(counts.eq((0..bins).map(expected)), "{bins} {range:?}");
    }
}

#[test]
fn positions_among_more_elements_than_a_launch_counts_are_refused() {
    let ctx = Fixture::open();
    let x = ctx.zeros::<f32>([1, 1]).unwrap().broadcast_to([1 << 16, 1 << 15]).unwrap();
    let refused = x.broadcast_to([2, 1 << 16, 1 << 15]).unwrap().argmax(..).unwrap_err().to_string();
    assert_eq!(
        refused,
        "a reduction that is one launch has 4294967296 elements, more than 2147483648; reduce its parts"
    );
}
