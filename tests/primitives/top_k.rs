//! The greatest and the least elements: every type of numbers, kinds of data, rows and views; compared with the stable
//! order of the host.

use std::cmp::Ordering;
use std::fmt::Debug;

use half::{bf16, f16};
use vkarray::prelude::*;
use vkarray::primitives::Widen;

use super::sorting::{PATTERNS, order, scattered};
use crate::fixture::{Fixture, contents, with_limits};

/// Lengths about the tiles of a sort, and lengths of rows that are cut into blocks.
const SHAPES: [(usize, &[usize]); 5] =
    [(1, &[0, 1]), (33, &[1, 2, 33]), (6145, &[1, 24, 6145]), (7919, &[1, 30, 4000, 7918]), (70_001, &[3, 250])];

/// The places of the `k` first of stably ordered elements.
fn places<T>(values: &[T], k: usize, compare: impl Fn(&T, &T) -> Ordering) -> Vec<u32> {
    let by = |a: &u32, b: &u32| compare(&values[*a as usize], &values[*b as usize]).then(a.cmp(b));
    let mut places: Vec<u32> = (0..u32::try_from(values.len()).unwrap()).collect();
    if k < places.len() {
        places.select_nth_unstable_by(k, by);
    }
    places.truncate(k);
    places.sort_unstable_by(by);
    places
}

fn bits<T: bytemuck::Pod>(values: &[T]) -> Vec<u8> {
    bytemuck::cast_slice(values).to_vec()
}

/// Compares the elements and places of each row of a device's array with those of its elements on the host.
fn assert_rows<T: Widen + PartialOrd + Debug>(x: &DeviceNDArray<T>, k: usize, what: &str) {
    let (values, length) = (contents(x), x.shape()[x.ndim() - 1]);
    for is_greatest in [true, false] {
        let (found, at) = if is_greatest { x.top_k(k, -1) } else { x.bottom_k(k, -1) }.unwrap();
        assert_eq!((found.shape(), found.shape()[x.ndim() - 1]), (at.shape(), k));
        let (found, at) = (contents(&found), contents(&at));
        for (row, own) in values.chunks(length).enumerate() {
            let compare = |a: &T, b: &T| if is_greatest { order(b, a) } else { order(a, b) };
            let (expected, range) = (places(own, k, compare), row * k..(row + 1) * k);
            let what = format!("{k} of {length}, row {row}, {what}, greatest: {is_greatest}");
            assert!(at[range.clone()] == expected, "{what}");
            let expected: Vec<T> = expected.iter().map(|&place| own[place as usize]).collect();
            assert!(bits(&found[range]) == bits(&expected), "{what}");
        }
    }
}

fn values<T: bytemuck::Pod>(n: usize, pattern: fn(u64) -> u64) -> Vec<T> {
    (0..n).map(|i| bytemuck::pod_read_unaligned(&pattern(i as u64).to_ne_bytes()[..size_of::<T>()])).collect()
}

/// Every length with scattered elements, and some lengths with every kind of data.
fn assert_type<T: Widen + PartialOrd + Debug>(ctx: &Context) {
    let name = std::any::type_name::<T>();
    for (length, counts) in SHAPES {
        let x = ctx.slice_to_device(&values::<T>(length, scattered)).unwrap();
        counts.iter().for_each(|&k| assert_rows(&x, k, name));
    }
    for (pattern, of) in PATTERNS {
        let x = ctx.slice_to_device(&values::<T>(30_011, of)).unwrap();
        assert_rows(&x, 7, &format!("{name}, {pattern}"));
        assert_rows(&x.slice(s![3..21_003]).unwrap().reshape([3, 7000]).unwrap(), 11, &format!("{name}, {pattern}"));
    }
}

#[test]
fn the_first_integers_of_every_type_are_those_of_a_stable_sort() {
    let ctx = Fixture::open();
    assert_type::<i8>(&ctx);
    assert_type::<u8>(&ctx);
    assert_type::<i16>(&ctx);
    assert_type::<u16>(&ctx);
    assert_type::<i32>(&ctx);
    assert_type::<u32>(&ctx);
    assert_type::<i64>(&ctx);
    assert_type::<u64>(&ctx);
}

#[test]
fn the_first_floats_of_every_type_are_those_of_a_stable_sort() {
    let ctx = Fixture::open();
    assert_type::<f16>(&ctx);
    assert_type::<bf16>(&ctx);
    assert_type::<f32>(&ctx);
    assert_type::<f64>(&ctx);
}

/// One workgroup takes up to 32 elements for each of its invocations: 8,192 on lavapipe, 32,768 on NVIDIA.
#[test]
fn rows_of_one_workgroup_and_longer_ones_have_their_first_elements() {
    let ctx = Fixture::open();
    for n in [8191, 8192, 8193, 32_767, 32_768, 32_769, 40_009] {
        for k in [1, 31, 1000] {
            assert_rows(&ctx.slice_to_device(&values::<u32>(n, |i| scattered(i) % 5003)).unwrap(), k, "u32");
        }
    }
}

/// Rows are cut into blocks, and their first elements again.
#[test]
fn many_elements_have_their_first_ones() {
    let ctx = Fixture::open();
    assert_rows(&ctx.slice_to_device(&values::<u32>((1 << 21) + 3, scattered)).unwrap(), 7000, "u32");
    let n = (1 << 20) + 1;
    assert_rows(&ctx.slice_to_device(&values::<f32>(n, scattered)).unwrap(), 1000, "f32");
    assert_rows(&ctx.slice_to_device(&values::<u8>(n, scattered)).unwrap(), 1000, "u8");
    assert_rows(&ctx.slice_to_device(&values::<i64>(n, |i| i << 40)).unwrap(), 3000, "i64");
}

#[test]
fn nan_is_the_greatest_and_zeros_are_equal() {
    let ctx = Fixture::open();
    let special = [-0.0, f32::NAN, 0.0, f32::from_bits(0xffc0_0001), f32::INFINITY, f32::NEG_INFINITY, 1e-40, -1e-40];
    let x = ctx.slice_to_device(&special).unwrap();
    for k in 0..=special.len() {
        assert_rows(&x, k, "special");
    }
    // Few of each, so that blocks differ; and many, so that the places decide.
    for every in [5000, 3] {
        let one = |i: usize| if i % every == every - 1 { special[i / every % 8] } else { -2.0 };
        let x = ctx.slice_to_device(&(0..70_001).map(one).collect::<Vec<_>>()).unwrap();
        for k in [1, 10, 200] {
            assert_rows(&x, k, "special");
        }
    }
}

#[test]
fn rows_and_views_of_every_form_have_their_first_elements() {
    let ctx = Fixture::open();
    let x = ctx.slice_to_device(&values::<i32>(9 * 20_000, scattered)).unwrap();
    let rows = x.reshape([3, 3, 20_000]).unwrap();
    for view in [rows.clone(), rows.slice(s![.., ..;-2, 1..]).unwrap(), rows.slice(s![..;2, .., ..;-3]).unwrap()] {
        for k in [1, 20, 3000] {
            assert_rows(&view, k, "a view");
        }
    }
    let columns = x.reshape([20_000, 9]).unwrap();
    let (found, places) = columns.top_k(7, 0).unwrap();
    let (expected, at) = columns.t().top_k(7, 1).unwrap();
    assert_eq!((found.shape(), contents(&found)), (&[7, 9][..], contents(&expected.t())));
    assert_eq!(contents(&places), contents(&at.t()));
    assert_rows(&x.reshape([30_000, 6]).unwrap(), 2, "short rows");
    let none = ctx.zeros::<f32>([0, 3]).unwrap();
    assert_eq!(none.top_k(2, 1).unwrap().0.shape(), [0, 2]);
    assert_eq!(none.top_k(0, 0).unwrap().1.shape(), [0, 3]);
}

#[test]
fn first_elements_are_found_in_parts_and_without_operations_of_subgroups() {
    for limits in [r#"{"max_storage_buffer_range": 65536}"#, r#"{"subgroup": {"operations": 1}}"#] {
        with_limits(limits, |ctx| {
            let words = ctx.slice_to_device(&values::<u32>(70_001, |i| scattered(i) % 40_009)).unwrap();
            let floats = ctx.slice_to_device(&values::<f64>(50_021, scattered)).unwrap();
            for k in [1, 3, 100] {
                assert_rows(&words, k, limits);
            }
            for k in [1, 3, 100] {
                assert_rows(&floats, k, limits);
            }
            assert_rows(&words.slice_axis(0, 1..).unwrap().reshape([2, 35_000]).unwrap(), 30, limits);
        });
    }
}

#[test]
fn more_elements_than_an_axis_has_are_refused() {
    let ctx = Fixture::open();
    let x = ctx.arange(0, 6, 1).unwrap().reshape([2, 3]).unwrap();
    let refused = x.top_k(4, 1).unwrap_err();
    assert!(matches!(refused, Error::TooFewElements { operation: "top_k", asked: 4, length: 3 }));
    assert_eq!(
        x.bottom_k(3, 0).unwrap_err().to_string(),
        "bottom_k: 3 elements are asked for, and the axis has 2; ask for at most 2"
    );
    assert!(matches!(x.top_k(1, 2), Err(Error::Layout(_))));
    assert!(x.top_k(usize::MAX, 0).is_err());
}
