//! Plans against a copy element by element: every step is executed on the host, unit by unit as the shaders do.
//!
//! The oracle is `Layout::offsets`. Two sets of limits are made up: one like a GPU's, and one so small that small
//! arrays are cut into pieces.

use vkarray_layout::Layout;
use vkarray_shaders::channels::{ChannelDirection, ChannelWords, Channels};

use super::channels::ChannelKernel;
use super::dispatch::{CopyDispatch, CopyKernel};
use super::limits::CopyLimits;
use super::plan::{CopyStep, plan};
use super::strided::StridedCopy;

pub(super) const GPU: CopyLimits = CopyLimits {
    max_range: (1 << 32) - 16,
    alignment: 16,
    group: 256,
    max_groups: [1 << 20, 65535],
    shared_bytes: 49152,
    kernel_bytes: 64,
    regions: (4, 1),
};

/// Bound ranges of 64 bytes, workgroups of four, no regions.
pub(super) const TINY: CopyLimits = CopyLimits {
    max_range: 64,
    alignment: 16,
    group: 4,
    max_groups: [7, 65535],
    shared_bytes: 256,
    kernel_bytes: 0,
    regions: (0, 0),
};

/// An offset as an index into the bytes on the host.
pub(super) fn index(at: u64) -> usize {
    usize::try_from(at).unwrap()
}

/// Executes a dispatch: copies every unit of its rows once, at the addresses that the shader computes.
fn execute(dispatch: &CopyDispatch, source: &[u8], target: &mut [u8]) {
    let (params, n_axes) = (&dispatch.params, dispatch.params.n_axes as usize);
    let unit = match dispatch.kernel {
        CopyKernel::Strided { unit, .. } | CopyKernel::Tile { unit, .. } => unit,
        CopyKernel::Quads { .. } => 4,
        CopyKernel::Channels(ChannelKernel::Items(channels)) => channels.unit_bytes,
        CopyKernel::Channels(ChannelKernel::Words(channels)) => channels.unit_bytes,
    };
    let lengths = &params.lengths[..n_axes];
    let n_units: u32 = lengths.iter().product();
    check_coverage(dispatch, n_units);
    for i in 0..n_units {
        let (mut rest, mut from, mut to) = (i, params.source_base, params.target_base);
        for (axis, len) in lengths.iter().enumerate() {
            let at = rest % len;
            rest /= len;
            from = from.wrapping_add(at.wrapping_mul(params.source_strides[axis]));
            to = to.wrapping_add(at.wrapping_mul(params.target_strides[axis]));
        }
        let bytes = |window: &std::ops::Range<u64>, at: u32| {
            let start = window.start + u64::from(at) * u64::from(unit);
            assert!(start + u64::from(unit) <= window.end, "outside the window: {dispatch:?}");
            index(start)..index(start + u64::from(unit))
        };
        target[bytes(&dispatch.target, to)].copy_from_slice(&source[bytes(&dispatch.source, from)]);
    }
}

/// Checks that workgroups, rows and tiles cover all units.
fn check_coverage(dispatch: &CopyDispatch, n_units: u32) {
    let params = &dispatch.params;
    let n_groups = u64::from(dispatch.groups[0]) * u64::from(dispatch.groups[1]);
    let axis = |i: usize| u64::from(params.lengths[i]);
    let (rows, tiles) = (u64::from(params.n_rows), u64::from(params.n_tiles));
    match dispatch.kernel {
        CopyKernel::Strided { unit, group, lanes } if unit < 4 => {
            assert_eq!(rows * u64::from(params.run_length), u64::from(n_units));
            assert!(tiles * u64::from(lanes) * u64::from(4 / unit) >= u64::from(params.run_length + 4 / unit - 1));
            assert!(n_groups * u64::from(group / lanes) >= rows * tiles);
        }
        CopyKernel::Strided { group, lanes, .. } => {
            assert_eq!(rows * axis(0), u64::from(n_units));
            assert!(tiles * u64::from(lanes) * 4 >= axis(0) && n_groups * u64::from(group / lanes) >= rows * tiles);
        }
        CopyKernel::Tile { tile: [s, t], .. } => {
            assert_eq!(rows * axis(0) * axis(1), u64::from(n_units));
            assert!(tiles * u64::from(t) >= axis(0));
            assert!(n_groups >= rows * tiles * axis(1).div_ceil(u64::from(s)));
            assert_eq!(params.target_strides[0], 1, "words are assembled along axis 0");
        }
        CopyKernel::Channels(ChannelKernel::Items(channels)) => check_channels(dispatch, &channels, n_units),
        CopyKernel::Channels(ChannelKernel::Words(channels)) => check_channel_words(dispatch, &channels, n_units),
        CopyKernel::Quads { .. } => {
            let edge = 64;
            assert_eq!(rows * axis(0) * axis(1), u64::from(n_units));
            assert!(tiles * edge >= axis(0) && n_groups >= rows * tiles * axis(1).div_ceil(edge));
            // Each group of four words is contiguous and aligned on both sides.
            let n_axes = params.n_axes as usize;
            let strides = |side: &[u32; 8], own: usize| (0..n_axes).filter(|i| *i != own).map(|i| side[i]).collect();
            let (source, target): (Vec<_>, Vec<_>) =
                (strides(&params.source_strides, 1), strides(&params.target_strides, 0));
            assert_eq!((params.source_strides[1], params.target_strides[0]), (1, 1));
            let whole = [params.source_base, params.target_base, params.lengths[0], params.lengths[1]];
            assert!(source.iter().chain(&target).chain(&whole).all(|n| n.is_multiple_of(4)), "{dispatch:?}");
            assert!(
                [&dispatch.source, &dispatch.target].iter().all(|window| window.end.is_multiple_of(16)),
                "{dispatch:?}"
            );
        }
    }
}

/// Checks that a dispatch between pixels and planes reads and writes whole aligned items, and every item.
fn check_channels(dispatch: &CopyDispatch, channels: &Channels, n_units: u32) {
    let params = &dispatch.params;
    let [along, across] = [params.lengths[0], params.lengths[1]];
    let n_groups = dispatch.groups[0] * dispatch.groups[1];
    assert_eq!(params.n_rows * along * across, n_units);
    assert!(params.n_tiles * channels.lanes * channels.blocks * channels.item_units() >= along, "{dispatch:?}");
    assert!(n_groups * (channels.group / channels.lanes) >= params.n_rows * params.n_tiles, "{dispatch:?}");
    assert_eq!(channels.channels, across);
    assert!(channels.shared_bytes() <= GPU.shared_bytes && channels.item_bytes >= channels.unit_bytes, "{dispatch:?}");
    let (pixels, planes) = match channels.direction {
        ChannelDirection::ToPlanes => (&params.source_strides, &params.target_strides),
        ChannelDirection::ToPixels => (&params.target_strides, &params.source_strides),
    };
    assert_eq!((pixels[0], pixels[1], planes[0]), (across, 1, 1), "{dispatch:?}");
    let outer = 2..params.n_axes as usize;
    let units = [params.source_base, params.target_base, along, planes[1]].into_iter();
    let mut units = units.chain(outer.flat_map(|axis| [pixels[axis], planes[axis]]));
    assert!(units.all(|n| n.is_multiple_of(channels.item_units())), "{dispatch:?}");
}

/// Checks that there are tiles for all words, at any place of the first unit in its word.
fn check_channel_words(dispatch: &CopyDispatch, channels: &ChannelWords, n_units: u32) {
    let params = &dispatch.params;
    let [along, across] = [params.lengths[0], params.lengths[1]];
    assert_eq!((params.n_rows * along * across, channels.channels), (n_units, across));
    let (pixels, planes, units) = match channels.direction {
        ChannelDirection::ToPlanes => (&params.source_strides, &params.target_strides, along),
        ChannelDirection::ToPixels => (&params.target_strides, &params.source_strides, along * across),
    };
    assert_eq!((pixels[0], pixels[1], planes[0]), (channels.pixel, 1, 1), "{dispatch:?}");
    let words = (units + 2 * channels.word_units() - 2) / channels.word_units();
    assert!(params.n_tiles * channels.tile_words >= words, "{dispatch:?}");
    assert!(dispatch.groups[0] * dispatch.groups[1] >= params.n_rows * params.n_tiles, "{dispatch:?}");
    assert!(channels.shared_bytes() <= GPU.shared_bytes, "{dispatch:?}");
}

/// Copies with a plan and with the oracle, and compares every byte of the target.
fn check(source: &Layout, target: &Layout, itemsize: usize, limits: &CopyLimits) -> Vec<CopyStep> {
    let bytes = |layout: &Layout| (layout.extent().end * itemsize).next_multiple_of(16);
    let source_bytes: Vec<u8> = (0..bytes(source)).map(|i| ((i * 7 + i / 251) % 256).to_le_bytes()[0]).collect();
    let mut found = vec![0xEE; bytes(target)];
    let mut expected = found.clone();
    for (from, to) in source.offsets().zip(target.offsets()) {
        expected[to * itemsize..][..itemsize].copy_from_slice(&source_bytes[from * itemsize..][..itemsize]);
    }
    let Some(copy) = StridedCopy::new(source, target, itemsize).unwrap() else { return Vec::new() };
    let steps = plan(copy, limits);
    for step in &steps {
        match step {
            CopyStep::Regions(regions) => regions.iter().for_each(|region| {
                let [from, to, size] = [region.source, region.target, region.size].map(index);
                found[to..to + size].copy_from_slice(&source_bytes[from..from + size]);
            }),
            CopyStep::Dispatch(dispatch) => {
                for window in [&dispatch.source, &dispatch.target] {
                    assert!(window.start.is_multiple_of(limits.alignment), "{dispatch:?}");
                    assert!(window.end - window.start <= limits.max_range, "{dispatch:?}");
                }
                execute(dispatch, &source_bytes, &mut found);
            }
        }
    }
    assert_eq!(found, expected, "{source:?} to {target:?}, items of {itemsize}, {steps:?}");
    steps
}

/// Views of two axes, with many orders, signs, steps and offsets.
fn views(shape: [usize; 2]) -> Vec<Layout> {
    let mut views = Vec::new();
    let [m, n] = shape.map(|len| len as isize);
    for (outer, inner) in [(n, 1), (n + 3, 1), (2 * n, 2), (1, m), (2, 2 * m + 1), (0, 1), (1, 0), (0, 0)] {
        for signs in [[1, 1], [-1, 1], [1, -1], [-1, -1]] {
            let strides = [outer * signs[0], inner * signs[1]];
            let reach = (0..2).map(|axis| (strides[axis] * (shape[axis] as isize - 1)).min(0)).sum::<isize>();
            views.extend(
                [0, 1, 4].map(|offset| Layout::with_strides(&shape, &strides, offset + reach.unsigned_abs()).unwrap()),
            );
        }
    }
    views
}

#[test]
fn every_pair_of_small_views_is_copied() {
    for shape in [[1, 1], [2, 3], [5, 7], [4, 16], [18, 33]] {
        let views = views(shape);
        let step = if shape[0] * shape[1] > 30 { 61 } else { 11 };
        for (n, source) in views.iter().enumerate() {
            let targets = views.iter().filter(|target| !target.has_internal_overlap());
            for target in targets.skip(n % step).step_by(step) {
                for (itemsize, limits) in [(1, &TINY), (3, &GPU), (4, &TINY), (4, &GPU), (2, &GPU), (24, &TINY)] {
                    check(source, target, itemsize, limits);
                }
            }
        }
    }
}

/// Pixels and planes of many sizes, at aligned and unaligned offsets, with gaps and reversed.
#[test]
fn pixels_and_planes_are_copied_to_each_other() {
    let stack = |shape: &[usize]| Layout::contiguous(shape, crate::Order::C).unwrap();
    let mut n_channel_steps = 0;
    let parts = [[1, 259], [2, 64], [3, 101], [1, 7]];
    for (channels, [rows, columns]) in
        [2, 3, 4, 5, 8, 15, 16, 17].into_iter().flat_map(|channels| parts.map(|part| (channels, part)))
    {
        let limits: &[(usize, &CopyLimits)] = match columns {
            7 => &[(1, &TINY), (2, &TINY), (4, &TINY), (1, &GPU)],
            _ => &[(1, &GPU), (2, &GPU), (4, &GPU), (8, &GPU), (16, &GPU)],
        };
        for (at, gap) in [(0, 0), (0, 19), (4, 12), (1, 2)] {
            let wide = columns + at + gap;
            let end = (at + columns) as isize;
            let pixels = stack(&[rows, wide, channels]).slice(&crate::s![.., at as isize..end, ..]).unwrap();
            let planes = stack(&[channels, rows, wide]).slice(&crate::s![.., .., at as isize..end]).unwrap();
            let reversed = planes.slice(&crate::s![..;-1]).unwrap().transpose(Some(&[1, 2, 0])).unwrap();
            let planes = planes.transpose(Some(&[1, 2, 0])).unwrap();
            for &(itemsize, limits) in limits {
                for (source, target) in
                    [(&pixels, &planes), (&planes, &pixels), (&pixels, &reversed), (&reversed, &pixels)]
                {
                    let steps = check(source, target, itemsize, limits);
                    n_channel_steps += steps.iter().filter(|step| is_channel_step(step)).count();
                }
            }
        }
    }
    assert!(n_channel_steps > 500, "{n_channel_steps}");
}

fn is_channel_step(step: &CopyStep) -> bool {
    matches!(step, CopyStep::Dispatch(dispatch) if matches!(dispatch.kernel, CopyKernel::Channels(_)))
}

#[test]
fn axes_beyond_the_limit_become_dispatches() {
    let shape = [2_usize; 11];
    let source = Layout::contiguous(&shape, crate::Order::F).unwrap();
    // No two axes follow each other in both arrays.
    let order: Vec<isize> = vec![3, 0, 5, 8, 1, 10, 6, 2, 9, 4, 7];
    let target = Layout::contiguous(&shape, crate::Order::F).unwrap().transpose(Some(&order)).unwrap();
    for itemsize in [1, 4, 16] {
        assert!(check(&source, &target, itemsize, &GPU).len() >= 8);
    }
}

#[test]
fn the_kernel_follows_from_strides_and_sizes() {
    let matrix = |rows: usize, columns: usize| Layout::contiguous(&[rows, columns], crate::Order::C).unwrap();
    let (image, transposed) = (matrix(600, 40), matrix(40, 600).transpose(None).unwrap());
    let (broad, broad_transposed) = (matrix(600, 90), matrix(90, 600).transpose(None).unwrap());
    let sparse = matrix(600, 80).slice(&crate::s![.., ..;2]).unwrap();
    let crop = matrix(600, 80).slice(&crate::s![.., 8..48]).unwrap();
    let (wide, wide_transposed) = (matrix(128, 68), matrix(68, 128).transpose(None).unwrap());
    let reversed = wide.slice(&crate::s![.., ..;-1]).unwrap();
    let (uneven, uneven_transposed) = (matrix(128, 70), matrix(70, 128).transpose(None).unwrap());
    let stack = |shape: &[usize]| Layout::contiguous(shape, crate::Order::C).unwrap();
    let (stacked, stacked_transposed) =
        (stack(&[3, 128, 68]), stack(&[3, 68, 128]).transpose(Some(&[0, 2, 1])).unwrap());
    let (rows, rows_apart) = (matrix(9, 16_384), matrix(9, 16_400).slice(&crate::s![.., 8..16_392]).unwrap());
    let bytes = |first: usize| Layout::with_strides(&[24_001], &[1], first).unwrap();
    let (bytes, bytes_behind) = (bytes(0), bytes(1));
    let cpu = CopyLimits { kernel_bytes: u64::MAX, regions: (4096, 64), ..GPU };
    let cases: &[PlanCase<'_>] = &[
        (&image, &image, 4, &GPU, "strided 16"), // Large and contiguous: a kernel with the widest unit.
        (&image, &image, 4, &cpu, "1 region"),   // On a CPU.
        (&rows, &rows_apart, 4, &GPU, "strided 16"), // Long rows on the device.
        (&bytes, &bytes_behind, 1, &GPU, "strided 1"), // From and to any byte.
        (&bytes, &bytes_behind, 1, &cpu, "1 region"),
        (&image, &crop, 4, &GPU, "strided 16"),                    // Rows.
        (&image, &crop, 4, &cpu, "600 regions"),                   // Rows on a CPU.
        (&image, &sparse, 4, &GPU, "strided 4"),                   // Scattered.
        (&sparse, &image, 1, &GPU, "strided 1"),                   // Gathered bytes.
        (&broad, &broad_transposed, 4, &GPU, "tile 4: 32 x 32"),   // Transposed.
        (&wide, &wide_transposed, 4, &GPU, "quads"),               // Both axes as long as a large tile.
        (&wide, &wide_transposed, 8, &GPU, "tile 8: 32 x 32"),     // Larger units.
        (&reversed, &wide_transposed, 4, &GPU, "tile 4: 32 x 32"), // Reversed.
        (&uneven, &uneven_transposed, 4, &GPU, "tile 4: 32 x 32"), // Rows that are not whole quads.
        (&stacked, &stacked_transposed, 4, &GPU, "quads"),         // Many of them.
        (&image, &transposed, 16, &GPU, "tile 16: 32 x 16"), // A tile of as much workgroup memory as every device has.
        (&broad, &broad_transposed, 1, &GPU, "tile 1: 32 x 32"), // Transposed bytes.
    ];
    assert_plans(cases);
}

#[test]
fn the_channel_kernel_follows_from_strides_and_sizes() {
    let pixels = |n: usize, channels: usize| Layout::contiguous(&[n, channels], crate::Order::C).unwrap();
    let planes = |n: usize, channels: usize| pixels(channels, n).transpose(None).unwrap();
    let three_of_four = pixels(6000, 4).slice(&crate::s![.., ..3]).unwrap();
    let reversed = pixels(6000, 4).slice(&crate::s![.., ..;-1]).unwrap();
    assert_plans(&[
        (&pixels(6000, 4), &planes(6000, 4), 1, &GPU, "ToPlanes 4 x 1, 16 at a time"),
        (&planes(6000, 4), &pixels(6000, 4), 1, &GPU, "ToPixels 4 x 1, 16 at a time"),
        (&reversed, &planes(6000, 4), 1, &GPU, "ToPlanes 4 x 1, 16 at a time"), // BGR.
        (&pixels(600, 40), &planes(600, 40), 4, &GPU, "ToPlanes 40 x 4, 4 at a time"), // The most channels.
        (&pixels(600, 65), &planes(600, 65), 4, &GPU, "tile 4: 32 x 32"),       // One channel more.
        (&pixels(6001, 4), &planes(6001, 4), 1, &GPU, "ToPlanes 4 of 4 x 1, by words"), // Planes that start at any byte.
        (&planes(6001, 4), &pixels(6001, 4), 1, &GPU, "ToPixels 4 of 4 x 1, by words"),
        (&pixels(6001, 4), &planes(6001, 4), 4, &GPU, "ToPlanes 4 x 4, 4 at a time"), // Units of a word.
        (&three_of_four, &planes(6000, 3), 1, &GPU, "ToPlanes 3 of 4 x 1, by words"), // RGB of RGBA.
        (&pixels(6002, 4), &planes(6002, 4), 1, &GPU, "ToPlanes 4 of 4 x 1, by words"), // Planes that start in the middle of a word.
        (&pixels(60, 4), &planes(60, 4), 1, &GPU, "tile 1: 4 x 256"),                   // Too few pixels.
    ]);
    // Rows of bytes to words of four rows, as products of `i8` have them: with rows of the order of C and of F.
    let rows = Layout::contiguous(&[256, 4, 1024], crate::Order::C).unwrap().transpose(Some(&[0, 2, 1])).unwrap();
    let columns = Layout::contiguous(&[1024, 256, 4], crate::Order::C).unwrap().transpose(Some(&[1, 0, 2])).unwrap();
    let words = Layout::contiguous(&[256, 1024, 4], crate::Order::C).unwrap();
    assert_plans(&[(&rows, &words, 1, &GPU, "ToPixels 4 x 1, 16 at a time"), (&columns, &words, 1, &GPU, "quads")]);
}

/// Source, target, element size, limits, expected steps.
type PlanCase<'a> = (&'a Layout, &'a Layout, usize, &'a CopyLimits, &'a str);

fn assert_plans(cases: &[PlanCase<'_>]) {
    for &(source, target, itemsize, limits, expected) in cases {
        let done = match check(source, target, itemsize, limits).as_slice() {
            [CopyStep::Regions(regions)] if regions.len() == 1 => "1 region".to_owned(),
            [CopyStep::Regions(regions)] => format!("{} regions", regions.len()),
            [CopyStep::Dispatch(dispatch)] => match dispatch.kernel {
                CopyKernel::Strided { unit, .. } => format!("strided {unit}"),
                CopyKernel::Tile { unit, tile: [s, t], .. } => format!("tile {unit}: {s} x {t}"),
                CopyKernel::Quads { .. } => "quads".to_owned(),
                CopyKernel::Channels(ChannelKernel::Items(Channels {
                    direction,
                    unit_bytes,
                    item_bytes,
                    channels,
                    ..
                })) => {
                    format!("{direction:?} {channels} x {unit_bytes}, {item_bytes} at a time")
                }
                CopyKernel::Channels(ChannelKernel::Words(ChannelWords {
                    direction,
                    unit_bytes,
                    channels,
                    pixel,
                    ..
                })) => {
                    format!("{direction:?} {channels} of {pixel} x {unit_bytes}, by words")
                }
            },
            steps => format!("{} steps", steps.len()),
        };
        assert_eq!(done, expected, "{source:?} to {target:?}, items of {itemsize}");
    }
}

#[test]
fn contiguous_bytes_that_are_not_whole_units_have_a_tail() {
    let (source, target) =
        (Layout::with_strides(&[1003], &[1], 16).unwrap(), Layout::with_strides(&[1003], &[1], 0).unwrap());
    let steps = check(&source, &target, 1, &GPU);
    let [CopyStep::Dispatch(dispatch), CopyStep::Regions(tail)] = steps.as_slice() else { panic!("{steps:?}") };
    assert_eq!((dispatch.params.lengths[0], tail[0].size), (62, 11));
}

#[test]
fn a_kernel_copies_a_run_in_the_widest_units() {
    let at = |source, size| GPU.unit_of_run([source, 0], size);
    assert_eq!([at(0, 1024), at(0, 1016), at(0, 1012), at(0, 4)], [Some(16), Some(8), Some(4), Some(4)]);
    assert_eq!([at(0, 1023), at(0, 2)], [None; 2]); // No whole words.
    assert_eq!([at(16, 16), at(8, 16), GPU.unit_of_run([0, 8], 16)], [Some(16), None, None]); // What can be bound, and not.
    assert_eq!([TINY.unit_of_run([0, 0], 64), TINY.unit_of_run([0, 0], 80)], [Some(16), None]); // Beyond a bound range.
}
