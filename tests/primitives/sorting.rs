//! Sorting by radix: every type of numbers, lengths about the tiles of a workgroup, keys that collide, rows and views;
//! compared with the stable sort of the host.

use std::cmp::Ordering;
use std::fmt::Debug;

use half::{bf16, f16};
use vkarray::prelude::*;
use vkarray::primitives::{Side, Widen};

use crate::fixture::{Fixture, contents, with_limits};

/// Lengths with one tile of any shape, several tiles, and about their ends: a tile has lanes × teams × items keys, such
/// as 8 × 12 × 16 or 32 × 12 × 16.
const LENGTHS: [usize; 16] = [0, 1, 2, 31, 33, 127, 128, 129, 255, 767, 768, 769, 1537, 6145, 7919, 65_537];

/// The `i`-th of the bits that a pattern has.
pub(super) type Pattern = fn(u64) -> u64;

pub(super) const PATTERNS: [(&str, Pattern); 6] = [
    ("scattered", scattered),
    ("constant", |_| 0x5a5a_5a5a_5a5a_5a5a),
    ("ascending", |i| i << 7),
    ("descending", |i| !(i << 7)),
    ("few values", |i| scattered(i) % 3 * 0x0101_0101_0101_0101),
    ("one digit differs", |i| 0x7711_2233_4400_5566 | (scattered(i) & 0xff) << 16),
];

pub(super) fn scattered(i: u64) -> u64 {
    let mixed = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// NumPy's order: zeros are equal, NaN is the greatest.
pub(super) fn order<T: PartialOrd>(a: &T, b: &T) -> Ordering {
    let is_nan = |x: &T| x.partial_cmp(x).is_none();
    a.partial_cmp(b).unwrap_or_else(|| is_nan(a).cmp(&is_nan(b)))
}

/// Sorts rows of the values with the bits of a pattern, on the device and on the host.
fn assert_sorted<T: Widen + PartialOrd + Debug + bytemuck::Pod>(
    ctx: &Context,
    length: usize,
    n_rows: usize,
    name: &str,
) {
    let pattern = PATTERNS.iter().find(|(other, _)| *other == name).unwrap().1;
    assert_bits_sorted::<T>(ctx, [n_rows, length], name, pattern);
}

/// Sorts rows of the values with these bits, on the device and on the host.
fn assert_bits_sorted<T: Widen + PartialOrd + Debug + bytemuck::Pod>(
    ctx: &Context,
    [n_rows, length]: [usize; 2],
    name: &str,
    pattern: impl Fn(u64) -> u64,
) {
    let bytes = |i: usize| pattern(i as u64).to_ne_bytes();
    let values: Vec<T> =
        (0..n_rows * length).map(|i| bytemuck::pod_read_unaligned(&bytes(i)[..size_of::<T>()])).collect();
    let x = ctx.slice_to_device(&values).unwrap().reshape([n_rows, length]).unwrap();
    let (sorted, places) = (contents(&x.sort(1).unwrap()), contents(&x.argsort(1).unwrap()));
    let (falling, falling_places) =
        (contents(&x.sort_descending(1).unwrap()), contents(&x.argsort_descending(1).unwrap()));
    let ty = std::any::type_name::<T>();
    let same = |a: &T, b: &T| order(a, b) == Ordering::Equal;
    for row in 0..n_rows {
        let range = row * length..(row + 1) * length;
        let own = &values[range.clone()];
        let by = |compare: fn(&T, &T) -> Ordering| {
            let mut expected: Vec<u32> = (0..u32::try_from(length).unwrap()).collect();
            expected.sort_by(|&a, &b| compare(&own[a as usize], &own[b as usize]));
            expected
        };
        for (expected, values, places) in [
            (by(order), &sorted[range.clone()], &places[range.clone()]),
            (by(|a, b| order(b, a)), &falling[range.clone()], &falling_places[range.clone()]),
        ] {
            assert_eq!(places, expected, "{ty}, {length} {name}, row {row}");
            let is_right = values.iter().zip(&expected).all(|(found, &place)| same(found, &own[place as usize]));
            assert!(is_right, "{ty}, {length} {name}, row {row}");
            let bits = |of: &[T]| {
                let mut bits: Vec<Vec<u8>> = of.iter().map(|x| bytemuck::bytes_of(x).to_vec()).collect();
                bits.sort_unstable();
                bits
            };
            assert_eq!(
                bits(values),
                bits(own),
                "{ty}, {length} {name}, row {row}: every element is there with its bits"
            );
        }
    }
}

/// Every pattern in a type.
fn assert_type<T: Widen + PartialOrd + Debug + bytemuck::Pod>(ctx: &Context) {
    for length in LENGTHS {
        assert_sorted::<T>(ctx, length, 1, "scattered");
    }
    for (name, _) in PATTERNS {
        assert_sorted::<T>(ctx, 3001, 1, name);
        assert_sorted::<T>(ctx, 37, 19, name);
    }
}

#[test]
fn every_type_of_integers_is_sorted() {
    let fixture = Fixture::open();
    assert_type::<i8>(&fixture);
    assert_type::<u8>(&fixture);
    assert_type::<i16>(&fixture);
    assert_type::<u16>(&fixture);
    assert_type::<i32>(&fixture);
    assert_type::<u32>(&fixture);
    assert_type::<i64>(&fixture);
    assert_type::<u64>(&fixture);
}

#[test]
fn every_type_of_floats_is_sorted_with_nan_last() {
    let fixture = Fixture::open();
    assert_type::<f16>(&fixture);
    assert_type::<bf16>(&fixture);
    assert_type::<f32>(&fixture);
    assert_type::<f64>(&fixture);
}

/// Searches many values among sorted elements, of which a workgroup keeps the ends of parts if there are enough.
fn assert_found<T: Widen + PartialOrd + Debug + bytemuck::Pod>(ctx: &Context, pattern: Pattern) {
    let numbers = |n: usize, seed: u64| -> Vec<T> {
        let bytes = (0..n as u64).map(|i| pattern(i + seed).to_ne_bytes());
        bytes.map(|bytes| bytemuck::pod_read_unaligned(&bytes[..size_of::<T>()])).collect()
    };
    for (n_sorted, n) in [(4096, 16_384), (4097, 16_383), (4097, 16_384), (5003, 20_011), (12_289, 33_000)] {
        let (mut sorted, values) = (numbers(n_sorted, 7), numbers(n, 0));
        sorted.sort_by(order);
        let (x, on_device) = (ctx.slice_to_device(&sorted).unwrap(), ctx.slice_to_device(&values).unwrap());
        let [left, right] = [Side::Left, Side::Right].map(|side| contents(&x.searchsorted(&on_device, side).unwrap()));
        let is_member = contents(&on_device.isin(&x).unwrap());
        let ty = std::any::type_name::<T>();
        for (i, value) in values.iter().enumerate() {
            let first = sorted.partition_point(|x| order(x, value) == Ordering::Less);
            let end = sorted.partition_point(|x| order(x, value) != Ordering::Greater);
            assert_eq!([left[i] as usize, right[i] as usize], [first, end], "{value:?} of {ty} among {n_sorted}");
            let is_nan = value.partial_cmp(value).is_none();
            assert_eq!(bool::from(is_member[i]), first < end && !is_nan, "{value:?} of {ty} among {n_sorted}");
        }
    }
}

#[test]
fn many_values_are_found_among_parts_of_sorted_elements() {
    let fixture = Fixture::open();
    for pattern in [scattered as Pattern, |i| scattered(i) % 5000, |i| scattered(i) % 3] {
        assert_found::<u32>(&fixture, pattern);
        assert_found::<i64>(&fixture, pattern);
        assert_found::<f32>(&fixture, pattern);
        assert_found::<f16>(&fixture, pattern);
    }
}

#[test]
fn zeros_infinities_and_nan_have_their_places() {
    let fixture = Fixture::open();
    let negative_nan = f32::from_bits(0xffc0_0001);
    let values = [f32::NAN, 0.0, f32::INFINITY, -0.0, negative_nan, -1.0e-40, f32::NEG_INFINITY, 1.0e-40, 0.0];
    let x = fixture.slice_to_device(&values).unwrap();
    let sorted = contents(&x.sort(0).unwrap());
    let finite: Vec<u32> = sorted[..7].iter().map(|x| x.to_bits()).collect();
    let expected = [f32::NEG_INFINITY, -1.0e-40, -0.0, 0.0, 0.0, 1.0e-40, f32::INFINITY].map(f32::to_bits);
    assert_eq!(finite, expected, "a zero with the sign comes before one without");
    assert_eq!(sorted[7..].iter().map(|x| x.to_bits()).collect::<Vec<_>>(), [f32::NAN.to_bits(), 0xffc0_0001]);
    assert_eq!(contents(&x.argsort(0).unwrap()), [6, 5, 1, 3, 8, 7, 2, 0, 4], "equal zeros and NaN keep their order");
}

#[test]
fn views_are_sorted_along_every_axis() {
    let fixture = Fixture::open();
    let host = ndarray::Array3::from_shape_fn((5, 300, 9), |(i, j, k)| {
        let [low, ..] = bytemuck::cast::<_, [i32; 2]>(scattered((i * 2700 + j * 9 + k) as u64));
        low
    });
    let x = fixture.to_device(&host).unwrap();
    for axis in 0..3 {
        let mut expected = host.clone();
        for mut lane in expected.lanes_mut(ndarray::Axis(axis)) {
            let mut values = lane.to_vec();
            values.sort_unstable();
            lane.assign(&ndarray::Array1::from(values));
        }
        assert_eq!(x.sort(axis).unwrap().copy_to_host().unwrap(), expected.into_dyn(), "{axis}");
    }
    let view = x.slice(s![1..;2, ..;-3, 4]).unwrap();
    let mut expected = host.slice(ndarray::s![1..;2, ..;-3, 4]).to_owned();
    for mut row in expected.rows_mut() {
        let mut values = row.to_vec();
        values.sort_unstable_by(|a, b| b.cmp(a));
        row.assign(&ndarray::Array1::from(values));
    }
    assert_eq!(view.sort_descending(1).unwrap().copy_to_host().unwrap(), expected.into_dyn());
}

#[test]
fn many_short_rows_are_sorted() {
    let fixture = Fixture::open();
    assert_sorted::<u32>(&fixture, 1, 70_001, "scattered");
    assert_sorted::<f32>(&fixture, 2, 70_001, "scattered");
    assert_sorted::<u16>(&fixture, 128, 600, "scattered");
}

/// Every row of zeros and ones: a network that sorts them sorts all rows. The last row is not the last of its workgroup.
#[test]
fn all_rows_of_zeros_and_ones_are_sorted() {
    let fixture = Fixture::open();
    for length in 1..=12 {
        let n_rows = 1_usize << length;
        let bit = |i: u64| (i / length as u64) >> (i % length as u64) & 1;
        assert_bits_sorted::<u32>(&fixture, [n_rows, length], "zeros and ones", bit);
        assert_bits_sorted::<u64>(&fixture, [n_rows, length], "zeros and ones", bit);
    }
}

/// Rows that lanes, teams and workgroups sort, and rows of one more or one fewer key.
#[test]
fn rows_of_every_short_length_are_sorted() {
    let fixture = Fixture::open();
    for bits in 2..=9 {
        for length in [(1 << bits) - 1, 1 << bits, (1 << bits) + 1] {
            assert_sorted::<f32>(&fixture, length, 37, "scattered");
            assert_sorted::<i64>(&fixture, length, 7, "few values");
        }
    }
}

/// The bytes that a mask of bits chooses.
fn bytes_of(digits: u64) -> u64 {
    (0..8).filter(|digit| digits >> digit & 1 == 1).map(|digit| 0xff << (8 * digit)).sum()
}

/// Scattered keys that differ in these digits alone.
fn keys_with(digits: u64) -> impl Fn(u64) -> u64 {
    move |i| scattered(i) & bytes_of(digits) | 0x5533_0fa1_77c2_1e90 & !bytes_of(digits)
}

/// Every set of digits that differ, in several tiles and in one: no, some or all passes are needed.
#[test]
fn digits_that_all_keys_share_make_no_difference() {
    let fixture = Fixture::open();
    for digits in 0..16 {
        for length in [600, 1535, 1537, 6145] {
            assert_bits_sorted::<u32>(&fixture, [1, length], &format!("digits {digits:b}"), keys_with(digits));
        }
        assert_bits_sorted::<f32>(&fixture, [2, 3100], &format!("digits {digits:b}"), keys_with(digits));
    }
    for digits in (0..256).step_by(5).chain([1, 2, 3, 7, 127, 128]) {
        assert_bits_sorted::<i64>(&fixture, [1, 1601], &format!("digits {digits:b}"), keys_with(digits));
    }
    for digits in 0..4 {
        assert_bits_sorted::<u16>(&fixture, [1, 6145], &format!("digits {digits:b}"), keys_with(digits));
    }
    assert_bits_sorted::<i8>(&fixture, [1, 7919], "no digits", keys_with(0));
}

#[test]
fn small_numbers_are_sorted() {
    let fixture = Fixture::open();
    for length in [767, 769, 3071, 3073, 40_009] {
        assert_bits_sorted::<u64>(&fixture, [1, length], "small", |i| scattered(i) % 300);
        assert_bits_sorted::<i64>(&fixture, [1, length], "small", |i| (scattered(i) % 300).wrapping_sub(100));
        assert_bits_sorted::<u32>(&fixture, [1, length], "small", |i| scattered(i) % 7);
        assert_bits_sorted::<f64>(&fixture, [1, length], "small", |i| ((scattered(i) % 100) as f64 - 9.0).to_bits());
    }
    let values: Vec<i64> = (0..50_021).map(|i| i64::from((scattered(i) % 1000) as u16)).collect();
    let (found, counts) = fixture.slice_to_device(&values).unwrap().unique_counts().unwrap();
    assert_eq!(contents(&found), (0..1000).collect::<Vec<_>>());
    let count = |value: i64| u32::try_from(values.iter().filter(|&&own| own == value).count()).unwrap();
    assert_eq!(contents(&counts), (0..1000).map(count).collect::<Vec<_>>());
}

/// A digit is needed where it differs within any row, not where it differs between rows.
#[test]
fn rows_share_different_digits() {
    let fixture = Fixture::open();
    for length in [700, 1601, 6145] {
        let row = |i: u64| i / length as u64;
        let one_each = |i: u64| scattered(i) & bytes_of(1 << (row(i) % 4)) | 0x5533_0fa1;
        assert_bits_sorted::<u32>(&fixture, [5, length], "one digit each", one_each);
        assert_bits_sorted::<u64>(&fixture, [5, length], "rows differ", |i| row(i) << 40 | (scattered(i) & 0xff00));
        assert_bits_sorted::<i32>(&fixture, [3, length], "one row differs", |i| {
            if row(i) == 1 { scattered(i) } else { row(i) }
        });
    }
}

/// One key makes a digit differ, wherever it is among the keys of an invocation, a team or a tile.
#[test]
fn one_key_that_differs_is_moved() {
    let fixture = Fixture::open();
    for length in [37_u16, 600, 6145] {
        for (i, place) in [0, 1, 8, 33, length / 3, length - 2, length - 1].into_iter().enumerate() {
            let bits = 1 << (8 * (i % 4) + i);
            let key =
                |at: u64| if at == u64::from(place) { 0x8877_6655_4433_2211 ^ bits } else { 0x8877_6655_4433_2211 };
            assert_bits_sorted::<u32>(&fixture, [1, length.into()], &format!("{place} differs"), key);
        }
    }
}

#[test]
fn a_device_without_operations_of_subgroups_sorts_too() {
    with_limits(r#"{"subgroup": {"operations": 1}}"#, |ctx| {
        assert_eq!(ctx.info().subgroup.operations, 1);
        for length in [1, 12, 13, 961, 5003] {
            assert_sorted::<i16>(&ctx, length, 2, "scattered");
            assert_sorted::<f64>(&ctx, length, 1, "few values");
            assert_bits_sorted::<u64>(&ctx, [2, length], "two digits", keys_with(0b1010_0000));
        }
    });
}
