//! Filters compared with sums of the host in 64 bits: sizes about the tiles of a workgroup, filters of odd and even lengths
//! and longer than the image, every border and type, stacks and views. Small integers make all sums exact.

use half::{bf16, f16};
use ndarray::{Array2, ArrayD, Axis, Ix2};
use vkarray::prelude::*;
use vkarray::primitives::{PadMode, Widen};

use crate::fixture::{Fixture, contents, with_limits};

const BORDERS: [Option<PadMode<i32>>; 7] = [
    None,
    Some(PadMode::Constant(0)),
    Some(PadMode::Constant(3)),
    Some(PadMode::Edge),
    Some(PadMode::Reflect),
    Some(PadMode::Symmetric),
    Some(PadMode::Wrap),
];

/// A small integer that looks random.
fn number(at: usize, seed: usize) -> i32 {
    let bits = ((at * 31 + seed) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 59;
    i32::try_from(bits).unwrap() % 5 - 2
}

fn numbers(shape: [usize; 2], seed: usize) -> Array2<i32> {
    Array2::from_shape_fn(shape, |(i, j)| number(i * shape[1] + j, seed))
}

/// The place inside an axis that a place outside is given, or `None` for a border of one value. Mirrors are walked step by
/// step.
fn inside(mut at: isize, length: usize, border: Option<PadMode<i32>>) -> Option<usize> {
    let n = length.cast_signed();
    while !(0..n).contains(&at) {
        at = match border {
            None | Some(PadMode::Constant(_)) => return None,
            Some(PadMode::Edge) => at.clamp(0, n - 1),
            Some(PadMode::Reflect) if n == 1 => 0,
            Some(PadMode::Reflect) => {
                if at < 0 {
                    -at
                } else {
                    2 * n - 2 - at
                }
            }
            Some(PadMode::Symmetric) => {
                if at < 0 {
                    -1 - at
                } else {
                    2 * n - 1 - at
                }
            }
            Some(PadMode::Wrap) => {
                if at < 0 {
                    at + n
                } else {
                    at - n
                }
            }
        };
    }
    Some(at.cast_unsigned())
}

/// The sums of a correlation, or of a convolution, by their definitions.
fn expected(image: &Array2<i32>, filter: &Array2<i32>, border: Option<PadMode<i32>>, is_flipped: bool) -> Array2<i32> {
    let (size, taps) = (image.dim(), filter.dim());
    let reached = |length: usize, taps: usize| match border {
        None => (length + 1).saturating_sub(taps),
        _ => length,
    };
    let outside = if let Some(PadMode::Constant(value)) = border { value } else { 0 };
    let place = |at: usize, tap: usize, taps: usize| {
        let center = match (border, is_flipped) {
            (None, true) => taps - 1,
            (None, false) => 0,
            _ => taps / 2,
        };
        let [at, tap, center] = [at, tap, center].map(usize::cast_signed);
        if is_flipped { at - tap + center } else { at + tap - center }
    };
    Array2::from_shape_fn((reached(size.0, taps.0), reached(size.1, taps.1)), |(i, j)| {
        let term = |((k, l), &weight): ((usize, usize), &i32)| {
            let row = inside(place(i, k, taps.0), size.0, border);
            let column = inside(place(j, l, taps.1), size.1, border);
            weight * row.zip(column).map_or(outside, |at| image[at])
        };
        filter.indexed_iter().map(term).sum()
    })
}

fn with_value<T>(border: Option<PadMode<i32>>, of: fn(i32) -> T) -> Option<PadMode<T>> {
    border.map(|border| match border {
        PadMode::Constant(value) => PadMode::Constant(of(value)),
        PadMode::Edge => PadMode::Edge,
        PadMode::Reflect => PadMode::Reflect,
        PadMode::Symmetric => PadMode::Symmetric,
        PadMode::Wrap => PadMode::Wrap,
    })
}

/// Applies a filter to an image on the device and on the host, as a correlation and as a convolution.
fn compare<T: Widen + vkarray::array::Floating + PartialEq>(
    ctx: &Context,
    [size, taps]: [[usize; 2]; 2],
    border: Option<PadMode<i32>>,
    of: fn(i32) -> T,
) {
    let (image, filter) = (numbers(size, 1), numbers(taps, 2));
    let x = ctx.to_device(&image.mapv(of)).unwrap();
    let on_device = ctx.to_device(&filter.mapv(of)).unwrap();
    for is_flipped in [false, true] {
        let border_of = with_value(border, of);
        let found = if is_flipped { x.convolve(&on_device, border_of) } else { x.correlate(&on_device, border_of) };
        let expected = expected(&image, &filter, border, is_flipped).mapv(of);
        let found = found.unwrap().copy_to_host().unwrap();
        let what = format!("{taps:?} on {size:?}, {border:?}, flipped: {is_flipped}, {}", std::any::type_name::<T>());
        assert_eq!(found.shape(), expected.shape(), "{what}");
        assert!(found == expected.into_dyn(), "{what}");
    }
}

fn single(value: i32) -> f32 {
    value as f32
}

#[test]
fn every_border_is_that_of_the_definition() {
    let ctx = Fixture::open();
    for border in BORDERS {
        for size in [[1, 1], [2, 3], [33, 65], [40, 136]] {
            for taps in [[3, 3], [4, 2], [1, 6]] {
                compare(&ctx, [size, taps], border, single);
            }
        }
    }
}

#[test]
fn images_about_the_tiles_have_their_sums() {
    let ctx = Fixture::open();
    for size in [[31, 63], [32, 64], [33, 65], [34, 66], [64, 128], [97, 131], [5, 300], [300, 5], [70, 257]] {
        for border in [None, Some(PadMode::Reflect)] {
            compare(&ctx, [size, [3, 3]], border, single);
            compare(&ctx, [size, [9, 9]], border, single);
        }
    }
}

#[test]
fn filters_of_every_length_are_applied() {
    let ctx = Fixture::open();
    for taps in [[1, 1], [1, 2], [2, 1], [5, 4], [15, 15], [16, 3], [1, 31], [33, 17]] {
        for border in [None, Some(PadMode::Wrap), Some(PadMode::Constant(1))] {
            compare(&ctx, [[35, 70], taps], border, single);
            compare(&ctx, [[3, 2], taps], border, single);
        }
    }
}

#[test]
fn every_type_of_floats_is_filtered() {
    let ctx = Fixture::open();
    for (border, taps) in [(None, [5, 5]), (Some(PadMode::Symmetric), [4, 3])] {
        for size in [[50, 67], [20, 64]] {
            compare(&ctx, [size, taps], border, |value| f16::from_f32(single(value)));
            compare(&ctx, [size, taps], border, |value| bf16::from_f32(single(value)));
            compare(&ctx, [size, taps], border, single);
            if ctx.device().plan().features.shader_float64 {
                compare(&ctx, [size, taps], border, f64::from);
            }
        }
    }
}

#[test]
fn signals_are_filtered_along_their_last_axis() {
    let ctx = Fixture::open();
    for (rows, length) in [(1, 1), (1, 1023), (1, 1025), (1, 70_001), (7, 300), (8, 300), (41, 129)] {
        for n_taps in [1, 2, 9, 40] {
            let (image, filter) = (numbers([rows, length], 3), numbers([1, n_taps], 4));
            let x = ctx.to_device(&image.mapv(single)).unwrap();
            let x = if rows == 1 { x.reshape([length]).unwrap() } else { x };
            let taps = ctx.to_device(&filter.mapv(single)).unwrap().reshape([n_taps]).unwrap();
            for border in [None, Some(PadMode::Edge)] {
                let found = x.convolve(&taps, with_value(border, single)).unwrap();
                assert_eq!(found.ndim(), x.ndim());
                let expected = expected(&image, &filter, border, true).mapv(single);
                assert!(
                    contents(&found) == expected.into_raw_vec_and_offset().0,
                    "{rows} {length} {n_taps} {border:?}"
                );
            }
        }
    }
}

#[test]
fn stacks_and_views_are_filtered() {
    let ctx = Fixture::open();
    let host =
        ArrayD::from_shape_fn(vec![2, 3, 40, 70], |at| number(at[3] + 70 * (at[2] + 40 * (at[1] + 3 * at[0])), 5));
    let taps = numbers([6, 5], 6);
    let x = ctx.to_device(&host.mapv(single)).unwrap();
    let filter = ctx.to_device(&taps.mapv(single)).unwrap();
    let (image_view, filter_view) = (s![.., 1.., ..;-1, 3..;2], s![..;2, ..;-1]);
    let cases = [
        (x.clone(), host.clone()),
        (x.slice(image_view).unwrap(), host.slice(ndarray::s![.., 1.., ..;-1, 3..;2]).to_owned().into_dyn()),
        (x.transpose(Some(&[1, 0, 3, 2])).unwrap(), host.permuted_axes(vec![1, 0, 3, 2])),
    ];
    for (view, host) in cases {
        for (filter, taps) in [
            (filter.clone(), taps.clone()),
            (filter.slice(filter_view).unwrap(), taps.slice(ndarray::s![..;2, ..;-1]).to_owned()),
        ] {
            let found = view.correlate(&filter, PadMode::Reflect).unwrap().copy_to_host().unwrap();
            assert_eq!(found.shape(), host.shape());
            for (found, host) in found.outer_iter().zip(host.outer_iter()) {
                for (found, image) in found.axis_iter(Axis(0)).zip(host.axis_iter(Axis(0))) {
                    let image = image.to_owned().into_dimensionality::<Ix2>().unwrap();
                    let expected = expected(&image, &taps, Some(PadMode::Reflect), false).mapv(single);
                    assert_eq!(found, expected.into_dyn());
                }
            }
        }
    }
}

#[test]
fn fractions_are_summed_with_the_errors_of_their_type() {
    let ctx = Fixture::open();
    let [image, filter] = [([60, 71], 7), ([7, 8], 8)]
        .map(|(shape, seed)| Array2::from_shape_fn(shape, |(i, j)| f64::from(number(i * 71 + j, seed)) / 3.0 + 0.1));
    let [x, taps] = [&image, &filter].map(|host| ctx.to_device(host).unwrap().astype::<f32>().unwrap());
    let found = x.correlate(&taps, None).unwrap().copy_to_host().unwrap();
    for (at, &value) in found.indexed_iter() {
        let terms = filter.indexed_iter().map(|((k, l), weight)| weight * image[(at[0] + k, at[1] + l)]);
        let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()));
        assert!((f64::from(value) - sum).abs() <= 60.0 * f64::from(f32::EPSILON) * size, "{at:?}: {value} {sum}");
    }
}

#[test]
fn empty_arrays_have_empty_results_and_what_is_no_filter_is_refused() {
    let ctx = Fixture::open();
    let filter = ctx.ones::<f32>([3, 3]).unwrap();
    for shape in [[0, 4], [4, 0]] {
        let x = ctx.zeros::<f32>(shape).unwrap();
        assert_eq!(x.correlate(&filter, PadMode::Wrap).unwrap().shape(), shape);
        assert_eq!(x.convolve(&filter, None).unwrap().size(), 0);
    }
    let x = ctx.zeros::<f32>([2, 5]).unwrap();
    assert_eq!(x.correlate(&filter, None).unwrap().shape(), [0, 3], "no place has the whole filter inside");
    for shape in [&[][..], &[0], &[3, 0], &[1, 1, 1]] {
        let refused = x.correlate(&ctx.ones(shape).unwrap(), None).unwrap_err();
        assert!(matches!(refused, Error::Shapes { operation: "correlate", .. }), "{refused}");
    }
    let refused = x.slice(s![0]).unwrap().convolve(&filter, None).unwrap_err().to_string();
    assert_eq!(refused, "convolve does not take shapes (5,) and (3, 3)");
    with_limits(r#"{"max_storage_buffer_range": 65536}"#, |ctx| {
        let x = ctx.zeros::<f32>([128, 129]).unwrap();
        let refused = x.correlate(&ctx.ones([3, 3]).unwrap(), None).unwrap_err();
        assert!(matches!(refused, Error::LongOperand { operation: "correlate", nbytes: 66_048, limit: 65_536 }));
    });
}
