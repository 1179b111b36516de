//! Plans against a plain walk: every step is carried out on the host, word by word as the shaders do.
//!
//! The oracle is `Layout::offsets`, element by element. Machines are made up: one like a GPU, and one whose limits are
//! so tight that small arrays are cut into windows.

use vkarray_shaders::channels::{ChannelWords, Channels, Weave};

use super::channels::Woven;
use super::launch::{Launch, Program};
use super::machine::Machine;
use super::plan::{Step, plan};
use super::walk::Walk;
use crate::layout::Layout;

pub(super) const GPU: Machine = Machine {
    max_range: (1 << 32) - 16,
    alignment: 16,
    group: 256,
    max_groups: [1 << 20, 65535],
    shared_bytes: 49152,
    kernel_bytes: 64,
    regions: (4, 1),
};

/// Windows of 64 bytes, workgroups of four, no regions.
pub(super) const TINY: Machine = Machine {
    max_range: 64,
    alignment: 16,
    group: 4,
    max_groups: [7, 65535],
    shared_bytes: 256,
    kernel_bytes: 0,
    regions: (0, 0),
};

/// An offset into a host's bytes.
pub(super) fn index(at: u64) -> usize {
    usize::try_from(at).unwrap()
}

/// Carries a launch out: every unit of its rows once, addressed as the shader addresses it.
fn execute(launch: &Launch, source: &[u8], target: &mut [u8]) {
    let (told, n_axes) = (&launch.told, launch.told.n_axes as usize);
    let unit = match launch.program {
        Program::Strided { unit, .. } | Program::Tile { unit, .. } => unit,
        Program::Quads { .. } => 4,
        Program::Woven(Woven::Items(channels)) => channels.unit_bytes,
        Program::Woven(Woven::Words(channels)) => channels.unit_bytes,
    };
    let lengths = &told.lengths[..n_axes];
    let n_units: u32 = lengths.iter().product();
    check_coverage(launch, n_units);
    for i in 0..n_units {
        let (mut rest, mut from, mut to) = (i, told.source_base, told.target_base);
        for (axis, len) in lengths.iter().enumerate() {
            let at = rest % len;
            rest /= len;
            from = from.wrapping_add(at.wrapping_mul(told.source_strides[axis]));
            to = to.wrapping_add(at.wrapping_mul(told.target_strides[axis]));
        }
        let bytes = |window: &std::ops::Range<u64>, at: u32| {
            let start = window.start + u64::from(at) * u64::from(unit);
            assert!(start + u64::from(unit) <= window.end, "outside the window: {launch:?}");
            index(start)..index(start + u64::from(unit))
        };
        target[bytes(&launch.target, to)].copy_from_slice(&source[bytes(&launch.source, from)]);
    }
}

/// Whether workgroups, rows and tiles make up for all units.
fn check_coverage(launch: &Launch, n_units: u32) {
    let told = &launch.told;
    let n_groups = u64::from(launch.groups[0]) * u64::from(launch.groups[1]);
    let axis = |i: usize| u64::from(told.lengths[i]);
    let (rows, tiles) = (u64::from(told.n_rows), u64::from(told.n_tiles));
    match launch.program {
        Program::Strided { unit, group, lanes } if unit < 4 => {
            assert_eq!(rows * u64::from(told.run_length), u64::from(n_units));
            assert!(tiles * u64::from(lanes) * u64::from(4 / unit) >= u64::from(told.run_length + 4 / unit - 1));
            assert!(n_groups * u64::from(group / lanes) >= rows * tiles);
        }
        Program::Strided { group, lanes, .. } => {
            assert_eq!(rows * axis(0), u64::from(n_units));
            assert!(tiles * u64::from(lanes) * 4 >= axis(0) && n_groups * u64::from(group / lanes) >= rows * tiles);
        }
        Program::Tile { tile: [s, t], .. } => {
            assert_eq!(rows * axis(0) * axis(1), u64::from(n_units));
            assert!(tiles * u64::from(t) >= axis(0));
            assert!(n_groups >= rows * tiles * axis(1).div_ceil(u64::from(s)));
            assert_eq!(told.target_strides[0], 1, "words are put together along axis 0");
        }
        Program::Woven(Woven::Items(channels)) => check_channels(launch, &channels, n_units),
        Program::Woven(Woven::Words(channels)) => check_channel_words(launch, &channels, n_units),
        Program::Quads { .. } => {
            let edge = 64;
            assert_eq!(rows * axis(0) * axis(1), u64::from(n_units));
            assert!(tiles * edge >= axis(0) && n_groups >= rows * tiles * axis(1).div_ceil(edge));
            // Every quad lies packed and aligned on both sides.
            let n_axes = told.n_axes as usize;
            let strides = |side: &[u32; 8], own: usize| (0..n_axes).filter(|i| *i != own).map(|i| side[i]).collect();
            let (source, target): (Vec<_>, Vec<_>) =
                (strides(&told.source_strides, 1), strides(&told.target_strides, 0));
            assert_eq!((told.source_strides[1], told.target_strides[0]), (1, 1));
            let whole = [told.source_base, told.target_base, told.lengths[0], told.lengths[1]];
            assert!(source.iter().chain(&target).chain(&whole).all(|n| n.is_multiple_of(4)), "{launch:?}");
            assert!([&launch.source, &launch.target].iter().all(|window| window.end.is_multiple_of(16)), "{launch:?}");
        }
    }
}

/// Whether a launch between pixels and planes reads and writes whole aligned items, and all of them.
fn check_channels(launch: &Launch, channels: &Channels, n_units: u32) {
    let told = &launch.told;
    let [along, across] = [told.lengths[0], told.lengths[1]];
    let n_groups = launch.groups[0] * launch.groups[1];
    assert_eq!(told.n_rows * along * across, n_units);
    assert!(told.n_tiles * channels.lanes * channels.blocks * channels.item_units() >= along, "{launch:?}");
    assert!(n_groups * (channels.group / channels.lanes) >= told.n_rows * told.n_tiles, "{launch:?}");
    assert_eq!(channels.channels, across);
    assert!(channels.shared_bytes() <= GPU.shared_bytes && channels.item_bytes >= channels.unit_bytes, "{launch:?}");
    let (pixels, planes) = match channels.weave {
        Weave::ToPlanes => (&told.source_strides, &told.target_strides),
        Weave::ToPixels => (&told.target_strides, &told.source_strides),
    };
    assert_eq!((pixels[0], pixels[1], planes[0]), (across, 1, 1), "{launch:?}");
    let outer = 2..told.n_axes as usize;
    let units = [told.source_base, told.target_base, along, planes[1]].into_iter();
    let mut units = units.chain(outer.flat_map(|axis| [pixels[axis], planes[axis]]));
    assert!(units.all(|n| n.is_multiple_of(channels.item_units())), "{launch:?}");
}

/// Whether there are tiles for all words, wherever the first unit is in its own.
fn check_channel_words(launch: &Launch, channels: &ChannelWords, n_units: u32) {
    let told = &launch.told;
    let [along, across] = [told.lengths[0], told.lengths[1]];
    assert_eq!((told.n_rows * along * across, channels.channels), (n_units, across));
    let (pixels, planes, units) = match channels.weave {
        Weave::ToPlanes => (&told.source_strides, &told.target_strides, along),
        Weave::ToPixels => (&told.target_strides, &told.source_strides, along * across),
    };
    assert_eq!((pixels[0], pixels[1], planes[0]), (channels.pixel, 1, 1), "{launch:?}");
    let words = (units + 2 * channels.word_units() - 2) / channels.word_units();
    assert!(told.n_tiles * channels.tile_words >= words, "{launch:?}");
    assert!(launch.groups[0] * launch.groups[1] >= told.n_rows * told.n_tiles, "{launch:?}");
    assert!(channels.shared_bytes() <= GPU.shared_bytes, "{launch:?}");
}

/// Copies by a plan and by the oracle, and compares every byte of the target.
fn check(source: &Layout, target: &Layout, itemsize: usize, machine: &Machine) -> Vec<Step> {
    let bytes = |layout: &Layout| (layout.extent().end * itemsize).next_multiple_of(16);
    let source_bytes: Vec<u8> = (0..bytes(source)).map(|i| ((i * 7 + i / 251) % 256).to_le_bytes()[0]).collect();
    let mut found = vec![0xEE; bytes(target)];
    let mut expected = found.clone();
    for (from, to) in source.offsets().zip(target.offsets()) {
        expected[to * itemsize..][..itemsize].copy_from_slice(&source_bytes[from * itemsize..][..itemsize]);
    }
    let Some(walk) = Walk::new(source, target, itemsize).unwrap() else { return Vec::new() };
    let steps = plan(walk, machine);
    for step in &steps {
        match step {
            Step::Regions(regions) => regions.iter().for_each(|region| {
                let [from, to, size] = [region.source, region.target, region.size].map(index);
                found[to..to + size].copy_from_slice(&source_bytes[from..from + size]);
            }),
            Step::Launch(launch) => {
                for window in [&launch.source, &launch.target] {
                    assert!(window.start.is_multiple_of(machine.alignment), "{launch:?}");
                    assert!(window.end - window.start <= machine.max_range, "{launch:?}");
                }
                execute(launch, &source_bytes, &mut found);
            }
        }
    }
    assert_eq!(found, expected, "{source:?} to {target:?}, items of {itemsize}, {steps:?}");
    steps
}

/// Views of two axes: all orders, signs, steps and places that small numbers give.
fn views(shape: [usize; 2]) -> Vec<Layout> {
    let mut views = Vec::new();
    let [m, n] = shape.map(|len| len as isize);
    for (outer, inner) in [(n, 1), (n + 3, 1), (2 * n, 2), (1, m), (2, 2 * m + 1), (0, 1), (1, 0), (0, 0)] {
        for signs in [[1, 1], [-1, 1], [1, -1], [-1, -1]] {
            let strides = [outer * signs[0], inner * signs[1]];
            let reach = (0..2).map(|axis| (strides[axis] * (shape[axis] as isize - 1)).min(0)).sum::<isize>();
            views.extend(
                [0, 1, 4].map(|place| Layout::with_strides(&shape, &strides, place + reach.unsigned_abs()).unwrap()),
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
                for (itemsize, machine) in [(1, &TINY), (3, &GPU), (4, &TINY), (4, &GPU), (2, &GPU), (24, &TINY)] {
                    check(source, target, itemsize, machine);
                }
            }
        }
    }
}

/// Pixels and planes of all sizes, at places that are aligned and not, with gaps and backwards.
#[test]
fn pixels_and_planes_are_copied_to_each_other() {
    let stack = |shape: &[usize]| Layout::contiguous(shape, crate::Order::C).unwrap();
    let mut n_woven = 0;
    let parts = [[1, 259], [2, 64], [3, 101], [1, 7]];
    for (channels, [rows, columns]) in
        [2, 3, 4, 5, 8, 15, 16, 17].into_iter().flat_map(|channels| parts.map(|part| (channels, part)))
    {
        let machines: &[(usize, &Machine)] = match columns {
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
            for &(itemsize, machine) in machines {
                for (source, target) in
                    [(&pixels, &planes), (&planes, &pixels), (&pixels, &reversed), (&reversed, &pixels)]
                {
                    let steps = check(source, target, itemsize, machine);
                    n_woven += steps.iter().filter(|step| is_woven(step)).count();
                }
            }
        }
    }
    assert!(n_woven > 500, "{n_woven}");
}

fn is_woven(step: &Step) -> bool {
    matches!(step, Step::Launch(launch) if matches!(launch.program, Program::Woven(_)))
}

#[test]
fn many_axes_are_taken_apart() {
    let shape = [2_usize; 11];
    let source = Layout::contiguous(&shape, crate::Order::F).unwrap();
    // No two axes follow each other in both.
    let order: Vec<isize> = vec![3, 0, 5, 8, 1, 10, 6, 2, 9, 4, 7];
    let target = Layout::contiguous(&shape, crate::Order::F).unwrap().transpose(Some(&order)).unwrap();
    for itemsize in [1, 4, 16] {
        assert!(check(&source, &target, itemsize, &GPU).len() >= 8);
    }
}

#[test]
fn each_kind_of_copy_goes_its_way() {
    let matrix = |rows: usize, columns: usize| Layout::contiguous(&[rows, columns], crate::Order::C).unwrap();
    let (image, turned) = (matrix(600, 40), matrix(40, 600).transpose(None).unwrap());
    let (broad, broad_turned) = (matrix(600, 90), matrix(90, 600).transpose(None).unwrap());
    let sparse = matrix(600, 80).slice(&crate::s![.., ..;2]).unwrap();
    let crop = matrix(600, 80).slice(&crate::s![.., 8..48]).unwrap();
    let (wide, wide_turned) = (matrix(128, 68), matrix(68, 128).transpose(None).unwrap());
    let backwards = wide.slice(&crate::s![.., ..;-1]).unwrap();
    let (uneven, uneven_turned) = (matrix(128, 70), matrix(70, 128).transpose(None).unwrap());
    let stack = |shape: &[usize]| Layout::contiguous(shape, crate::Order::C).unwrap();
    let (stacked, stacked_turned) = (stack(&[3, 128, 68]), stack(&[3, 68, 128]).transpose(Some(&[0, 2, 1])).unwrap());
    let (rows, rows_apart) = (matrix(9, 16_384), matrix(9, 16_400).slice(&crate::s![.., 8..16_392]).unwrap());
    let bus = GPU.over_the_bus();
    let cpu = Machine { kernel_bytes: u64::MAX, regions: (4096, 64), ..GPU };
    let cases: &[Way<'_>] = &[
        (&image, &image, 4, &GPU, "strided 16"), // Large and packed: a kernel of the widest unit.
        (&image, &image, 4, &cpu, "1 region"),   // Not on a processor.
        (&image, &image, 4, &bus, "1 region"),   // Nor over the bus.
        (&rows, &rows_apart, 4, &bus, "9 regions"), // Nor rows that are long.
        (&rows, &rows_apart, 4, &GPU, "strided 16"), // On a device they are short for that.
        (&image, &crop, 4, &bus, "strided 16"),  // Short rows over the bus.
        (&image, &crop, 4, &GPU, "strided 16"),  // Rows.
        (&image, &crop, 4, &cpu, "600 regions"), // Rows, on a processor.
        (&image, &sparse, 4, &GPU, "strided 4"), // Scattered.
        (&sparse, &image, 1, &GPU, "strided 1"), // Gathered bytes.
        (&broad, &broad_turned, 4, &GPU, "tile 4: 32 x 32"), // Transposed.
        (&wide, &wide_turned, 4, &GPU, "quads"), // With a large tile's worth along both axes.
        (&wide, &wide_turned, 8, &GPU, "tile 8: 32 x 32"), // Not of longer units.
        (&backwards, &wide_turned, 4, &GPU, "tile 4: 32 x 32"), // Nor backwards.
        (&uneven, &uneven_turned, 4, &GPU, "tile 4: 32 x 32"), // Nor where rows are no whole quads.
        (&stacked, &stacked_turned, 4, &GPU, "quads"), // Many of them.
        (&image, &turned, 16, &GPU, "tile 16: 32 x 16"), // As much workgroup memory as every device has.
        (&broad, &broad_turned, 1, &GPU, "tile 1: 32 x 32"), // Transposed bytes.
    ];
    assert_ways(cases);
}

#[test]
fn pixels_and_planes_go_their_way() {
    let pixels = |n: usize, channels: usize| Layout::contiguous(&[n, channels], crate::Order::C).unwrap();
    let planes = |n: usize, channels: usize| pixels(channels, n).transpose(None).unwrap();
    let three_of_four = pixels(6000, 4).slice(&crate::s![.., ..3]).unwrap();
    let backwards = pixels(6000, 4).slice(&crate::s![.., ..;-1]).unwrap();
    assert_ways(&[
        (&pixels(6000, 4), &planes(6000, 4), 1, &GPU, "ToPlanes 4 x 1, 16 at a time"),
        (&planes(6000, 4), &pixels(6000, 4), 1, &GPU, "ToPixels 4 x 1, 16 at a time"),
        (&backwards, &planes(6000, 4), 1, &GPU, "ToPlanes 4 x 1, 16 at a time"), // BGR.
        (&pixels(600, 40), &planes(600, 40), 4, &GPU, "ToPlanes 40 x 4, 4 at a time"), // As many as registers hold.
        (&pixels(600, 65), &planes(600, 65), 4, &GPU, "tile 4: 32 x 32"),        // More.
        (&pixels(6001, 4), &planes(6001, 4), 1, &GPU, "ToPlanes 4 of 4 x 1, by words"), // Planes that begin anywhere.
        (&planes(6001, 4), &pixels(6001, 4), 1, &GPU, "ToPixels 4 of 4 x 1, by words"),
        (&pixels(6001, 4), &planes(6001, 4), 4, &GPU, "ToPlanes 4 x 4, 4 at a time"), // Of words that is no matter.
        (&three_of_four, &planes(6000, 3), 1, &GPU, "ToPlanes 3 of 4 x 1, by words"), // RGB of RGBA.
        (&pixels(6002, 4), &planes(6002, 4), 1, &GPU, "ToPlanes 4 of 4 x 1, by words"), // Half a word apart.
        (&pixels(60, 4), &planes(60, 4), 1, &GPU, "tile 1: 4 x 256"),                 // Too few of them.
    ]);
}

/// Source, target, item size, machine, what is done.
type Way<'a> = (&'a Layout, &'a Layout, usize, &'a Machine, &'a str);

fn assert_ways(cases: &[Way<'_>]) {
    for &(source, target, itemsize, machine, expected) in cases {
        let done = match check(source, target, itemsize, machine).as_slice() {
            [Step::Regions(regions)] if regions.len() == 1 => "1 region".to_owned(),
            [Step::Regions(regions)] => format!("{} regions", regions.len()),
            [Step::Launch(launch)] => match launch.program {
                Program::Strided { unit, .. } => format!("strided {unit}"),
                Program::Tile { unit, tile: [s, t], .. } => format!("tile {unit}: {s} x {t}"),
                Program::Quads { .. } => "quads".to_owned(),
                Program::Woven(Woven::Items(Channels { weave, unit_bytes, item_bytes, channels, .. })) => {
                    format!("{weave:?} {channels} x {unit_bytes}, {item_bytes} at a time")
                }
                Program::Woven(Woven::Words(ChannelWords { weave, unit_bytes, channels, pixel, .. })) => {
                    format!("{weave:?} {channels} of {pixel} x {unit_bytes}, by words")
                }
            },
            steps => format!("{} steps", steps.len()),
        };
        assert_eq!(done, expected, "{source:?} to {target:?}, items of {itemsize}");
    }
}

#[test]
fn a_run_that_is_no_whole_number_of_units_has_a_tail() {
    let (source, target) =
        (Layout::with_strides(&[1003], &[1], 16).unwrap(), Layout::with_strides(&[1003], &[1], 0).unwrap());
    let steps = check(&source, &target, 1, &GPU);
    let [Step::Launch(launch), Step::Regions(tail)] = steps.as_slice() else { panic!("{steps:?}") };
    assert_eq!((launch.told.lengths[0], tail[0].size), (62, 11));
}
