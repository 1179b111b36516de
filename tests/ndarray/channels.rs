//! Copies between interleaved pixels and planes: many numbers of channels and item sizes, with tails, gaps and odd offsets.
//!
//! Results are compared with the `ndarray` crate. Unit tests of the crate check which kernel a copy uses.

use std::fmt::Debug;

use ::ndarray::{ArrayD, IxDyn, SliceInfoElem};
use vkarray::{Context, Element, Index};
use vkarray_kernel::Complex64;

use crate::fixture::Fixture;

/// Rows and columns of the part of a picture that is copied, its first column, the number of columns of the whole
/// picture, and the order of the channels of its pixels.
#[derive(Debug, Clone, Copy)]
struct Case {
    part: [usize; 2],
    at: usize,
    columns: usize,
    step: isize,
}

const CASES: [Case; 6] = [
    Case { part: [3, 304], at: 0, columns: 304, step: 1 }, // The whole picture, in items of 16 bytes.
    Case { part: [3, 301], at: 0, columns: 320, step: 1 }, // Rows with gaps, and pixels beyond whole items in each row.
    Case { part: [2, 271], at: 16, columns: 304, step: -1 }, // BGR.
    Case { part: [1, 1500], at: 4, columns: 1508, step: 1 }, // Items of four bytes; more than a workgroup.
    Case { part: [3, 103], at: 1, columns: 107, step: 1 }, // No offset is aligned.
    Case { part: [2, 9], at: 0, columns: 16, step: 1 },    // Too few for the kernel.
];

#[test]
fn bytes_of_any_number_of_channels_are_copied() {
    let fixture = Fixture::open();
    for channels in 2..=17 {
        both_ways(&fixture, channels, |i| (i * 7 + i / 251).to_le_bytes()[0]);
    }
}

#[test]
fn channels_of_longer_elements_are_copied() {
    let fixture = Fixture::open();
    for channels in [2, 3, 4, 7, 16] {
        both_ways(&fixture, channels, |i| u16::try_from(i % 65_521).unwrap());
    }
    for channels in [2, 3, 4, 5, 8, 17] {
        both_ways(&fixture, channels, |i| u32::try_from(i).unwrap());
    }
    for channels in [2, 3, 16] {
        both_ways(&fixture, channels, |i| i as u64 * 0x1_0000_0001);
        both_ways(&fixture, channels, |i| Complex64 { re: i as f64, im: -0.5 });
    }
}

fn both_ways<T: Element + PartialEq + Debug>(ctx: &Context, channels: usize, value: fn(usize) -> T) {
    for case in CASES {
        let Case { part: [rows, columns], at, step, .. } = case;
        let filled = |shape: &[usize]| {
            let n = shape.iter().product();
            ArrayD::from_shape_vec(IxDyn(shape), (0..n).map(value).collect()).unwrap()
        };
        let cut = |start: usize, len, step| SliceInfoElem::Slice {
            start: start as isize,
            end: Some((start + len) as isize),
            step,
        };
        let (all, columns) = (|len| cut(0, len, 1), cut(at, columns, 1));
        let pixels = (filled(&[rows, case.columns, channels]), [all(rows), columns, cut(0, channels, step)]);
        let planes = (filled(&[channels, rows, case.columns]), [all(channels), all(rows), columns]);
        let name = format!("{channels} channels of {} bytes, {case:?}", size_of::<T>());
        copied(ctx, &pixels, &planes, [2, 0, 1], &format!("{name}, to planes"));
        copied(ctx, &planes, &pixels, [1, 2, 0], &format!("{name}, to pixels"));
    }
}

/// An array, and the part of it that is copied.
type Part<T> = (ArrayD<T>, [SliceInfoElem; 3]);

/// Copies a part into another part with the given axes, and compares everything around it too.
fn copied<T: Element + PartialEq + Debug>(
    ctx: &Context,
    (source, from): &Part<T>,
    (target, into): &Part<T>,
    axes: [usize; 3],
    name: &str,
) {
    let mut expected = target.clone();
    expected.slice_mut(&into[..]).assign(&source.slice(&from[..]).permuted_axes(IxDyn(&axes)));
    let source = ctx.to_device(source).unwrap().slice(from.map(Index::from)).unwrap();
    let target = ctx.to_device(target).unwrap();
    let turned = source.transpose(Some(&axes.map(usize::cast_signed))).unwrap();
    target.slice(into.map(Index::from)).unwrap().copy_from_device(&turned).unwrap();
    assert!(target.copy_to_host().unwrap() == expected, "{name}");
}

#[test]
fn some_channels_of_each_pixel_are_copied() {
    let fixture = Fixture::open();
    let host = ArrayD::from_shape_vec(IxDyn(&[5, 67, 4]), (0_u16..5 * 67 * 4).collect()).unwrap();
    for (start, len) in [(0, 3), (1, 3), (2, 2)] {
        let part = SliceInfoElem::Slice { start, end: Some(start + len), step: 1 };
        let all = SliceInfoElem::Slice { start: 0, end: None, step: 1 };
        let planes = ArrayD::from_elem(IxDyn(&[len.unsigned_abs(), 5, 67]), 7);
        copied(&fixture, &(host.clone(), [all, all, part]), &(planes, [all; 3]), [2, 0, 1], &format!("{start}, {len}"));
        let bytes = host.mapv(|value| value.to_le_bytes()[0]);
        let planes = ArrayD::from_elem(IxDyn(&[len.unsigned_abs(), 5, 67]), 7);
        copied(&fixture, &(bytes, [all, all, part]), &(planes, [all; 3]), [2, 0, 1], &format!("{start}, {len}, bytes"));
    }
}

#[test]
fn pixels_and_planes_of_one_array_are_copied_to_each_other() {
    let fixture = Fixture::open();
    for n in [1024_usize, 1021] {
        let host: Vec<u8> = (0..6 * n).map(|i| (i * 7 + i / 251).to_le_bytes()[0]).collect();
        let both = fixture.slice_to_device(&host).unwrap();
        let halves = both.split_at([3 * n as isize], 0).unwrap();
        let pixels = halves[0].reshape([n as isize, 3]).unwrap();
        let planes = halves[1].reshape([3, n as isize]).unwrap().transpose(None).unwrap();
        planes.copy_from_device(&pixels).unwrap();
        let mut expected = host.clone();
        (0..3 * n).for_each(|i| expected[3 * n + i % 3 * n + i / 3] = host[i]);
        assert!(both.to_vec().unwrap() == expected, "{n}");
        both.slice([Index::stepped(..3 * n as isize, 1)]).unwrap().fill(9).unwrap();
        pixels.copy_from_device(&planes).unwrap();
        expected[..3 * n].copy_from_slice(&host[..3 * n]);
        assert!(both.to_vec().unwrap() == expected, "{n}, back");
    }
}
