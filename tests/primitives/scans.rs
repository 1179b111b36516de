//! Running sums: every type of numbers, lengths about tiles and blocks of tiles, rows and views, and kernels whose
//! workgroups do not see the sums of others; compared with sums of the host.

use bytemuck::Pod;
use vkarray::array::Bool;
use vkarray::prelude::*;
use vkarray::primitives::{ScanKernel, Widen};
use vkarray_shaders::functions;

use crate::fixture::{Fixture, contents, with_limits};

/// Lengths of one tile of any size, about a tile of 8 × 8 × 32 or 8 × 32 × 32 numbers, and about a block of 64 tiles.
const LENGTHS: [usize; 16] =
    [0, 1, 2, 31, 33, 255, 257, 1025, 2047, 2049, 7919, 8193, 65_537, 131_072, 131_073, 1_000_003];

fn scattered(i: usize) -> u64 {
    let mixed = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// The lowest bits.
fn low<T: Pod>(bits: u64) -> T {
    bytemuck::pod_read_unaligned(&bits.to_le_bytes()[..size_of::<T>()])
}

/// Scans rows of these numbers on the device and on the host.
fn assert_summed<T: Widen<Sum = S>, S: Element + PartialEq + std::fmt::Debug + From<T>>(
    ctx: &Context,
    shape: [usize; 2],
    number: fn(u64) -> T,
    add: fn(S, S) -> S,
) {
    let numbers: Vec<T> = (0..shape[0] * shape[1]).map(|i| number(scattered(i))).collect();
    let x = ctx.shaped_to_device(&numbers, shape).unwrap();
    let found = contents(&x.cumulative_sum(1).unwrap());
    let mut sum = None;
    for (i, (&found, &own)) in found.iter().zip(&numbers).enumerate() {
        let own = S::from(own);
        let expected = if i % shape[1] == 0 { own } else { add(sum.unwrap(), own) };
        assert_eq!(found, expected, "{} {shape:?} {i}", std::any::type_name::<T>());
        sum = Some(expected);
    }
}

fn assert_all_summed(ctx: &Context, shape: [usize; 2]) {
    assert_summed::<i32, i64>(ctx, shape, low, i64::wrapping_add);
    assert_summed::<u32, u64>(ctx, shape, low, u64::wrapping_add);
    assert_summed::<i64, i64>(ctx, shape, low, i64::wrapping_add);
    assert_summed::<i8, i64>(ctx, shape, low, i64::wrapping_add);
    assert_summed::<u16, u64>(ctx, shape, low, u64::wrapping_add);
    // Sums of small integers are exact in floats.
    assert_summed::<f32, f32>(ctx, shape, |bits| (bits % 15) as f32 - 7.0, |a, b| a + b);
    if ctx.info().features.shader_float64 {
        assert_summed::<f64, f64>(ctx, shape, |bits| (bits >> 40) as f64, |a, b| a + b);
    }
}

#[test]
fn sums_of_every_type_and_length_are_those_of_the_host() {
    let fixture = Fixture::open();
    for length in LENGTHS {
        assert_all_summed(&fixture, [1, length]);
    }
}

#[test]
fn rows_are_summed_apart() {
    let fixture = Fixture::open();
    for shape in [[70_001, 3], [300, 3001], [129, 128], [5, 140_001], [2, 8192]] {
        assert_all_summed(&fixture, shape);
    }
}

#[test]
fn a_device_without_operations_of_subgroups_scans_too() {
    with_limits(r#"{"subgroup": {"operations": 1}}"#, |ctx| {
        for shape in [[1, 1], [3, 255], [2, 257], [1, 5003], [100, 9]] {
            assert_all_summed(&ctx, shape);
        }
    });
}

/// The operation is associative and depends on the order of its operands: (a, b) stands for x ↦ a x + b.
#[test]
fn operands_keep_their_order() {
    let fixture = Fixture::open();
    let combine = "(((a >> 16u) * (b >> 16u)) << 16u) | (((a & 0xffffu) * (b >> 16u) + b) & 0xffffu)";
    let compose = ScanKernel::new(combine, "0x10000u");
    for n in [1, 100, 2049, 300_007] {
        let numbers: Vec<u32> = (0..n).map(|i| low(scattered(i) >> 20)).collect();
        let x = fixture.slice_to_device(&numbers).unwrap();
        let mut sum = 0x10000_u32;
        let expected: Vec<u32> = numbers
            .iter()
            .map(|&b| {
                let high = (sum >> 16).wrapping_mul(b >> 16) << 16;
                sum = high | ((sum & 0xffff).wrapping_mul(b >> 16).wrapping_add(b) & 0xffff);
                sum
            })
            .collect();
        assert_eq!(contents(&compose.inclusive(&x, 0).unwrap()), expected, "{n}");
    }
}

#[test]
fn sums_of_floats_have_the_same_bits_on_every_run() {
    let fixture = Fixture::open();
    let numbers: Vec<f32> = (0..500_009).map(|i| (scattered(i) as f32).sqrt() - 2.0e9).collect();
    let x = fixture.slice_to_device(&numbers).unwrap();
    let bits = |x: &DeviceNDArray<f32>| contents(&x.cumulative_sum(0).unwrap().view::<u32>().unwrap());
    let first = bits(&x);
    for _ in 0..25 {
        assert!(bits(&x) == first);
    }
}

/// The text of `scan.wgsl` for one four of a lane in each tile.
fn scan_of_one_four() -> String {
    functions::SCAN
        .replace("LOADS", "var four = load(range, start_of(range, 0u, place));")
        .replace("SCANS", "scan_four(&four);")
        .replace("STEPS", "")
        .replace("SUMS", "sum = four[3];")
        .replace("STORES", "store(range, start_of(range, 0u, place), before, four);")
}

/// A kernel with these parts, with tiles of 16 numbers in blocks of two. A workgroup publishes its sums where `publishes`
/// holds.
fn scan_of_small_tiles(ctx: &Context, publishes: &str, parts: &[&str]) -> Kernel {
    let tile = "const TEAMS = 4u;\nconst QUADS = 1u;\n";
    let publishes = format!("fn publishes(tile: u32) -> bool {{ return {publishes}; }}\n");
    let own = parts.concat();
    let scan = scan_of_one_four();
    let text = [functions::TEAM_ALONE, tile, &publishes, &own, functions::TEAM_SCAN, functions::SCAN_NUMBERS, &scan];
    ctx.kernel(Source::wgsl(text.concat())).entry("scan_tiles").build().unwrap()
}

/// The kernel of sums of words.
fn sums_of_words(ctx: &Context, publishes: &str) -> Kernel {
    let operation = "alias T = u32;\nconst WORDS = 1u;\nalias Read = u32;\nalias Written = u32;\n\
                     fn number_of(words: vec2<u32>) -> T { return words.x; }\n\
                     fn read_words(words: Read) -> vec2<u32> { return vec2(words, 0u); }\n\
                     fn written_words(number: T) -> Written { return number; }\n\
                     fn op(a: T, b: T) -> T { return a + b; }\nfn identity() -> T { return 0u; }\n\
                     fn words_of(number: T) -> vec2<u32> { return vec2(number, 0u); }\n\
                     fn of_words(words: vec2<u32>) -> T { return words.x; }\n";
    let words = [functions::TEAM_WORDS, functions::SCAN_WORDS, functions::SCAN_NUMBER_AT];
    scan_of_small_tiles(ctx, publishes, &[operation, &words.concat()])
}

/// The kernel of sums of words within segments, in one word and a flag, or in two words and a flag.
fn sums_in_segments(ctx: &Context, publishes: &str, n_words: usize) -> Kernel {
    let operation = "alias Read = u32;\nalias Written = u32;\n\
                     fn read_words(words: Read) -> vec2<u32> { return vec2(words, ~words); }\n\
                     fn of_words(words: T) -> T { return words; }\n";
    let one = "alias T = vec2<u32>;\nconst WORDS = 2u;\n\
               fn written_words(number: T) -> Written { return number.x; }\n\
               fn combine(a: u32, b: u32) -> u32 { return a + b; }\nfn identity_value() -> u32 { return 0u; }\n\
               fn words_of_value(number: u32) -> vec2<u32> { return vec2(number, 0u); }\n\
               fn value_of(words: vec2<u32>) -> u32 { return words.x; }\n\
               fn flagged(words: vec2<u32>, flag: u32) -> T { return T(words.x, flag); }\n\
               fn flag_of(number: T) -> u32 { return number.y; }\n\
               fn words_of(number: T) -> vec2<u32> { return number; }\n";
    // The second word has the bits that the first one has not, and their sums are combined into the result.
    let two = "alias T = vec3<u32>;\nconst WORDS = 3u;\n\
               fn written_words(number: T) -> Written { return (number.x ^ 0x5aa5f00fu) + number.y; }\n\
               fn combine(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return a + b; }\n\
               fn identity_value() -> vec2<u32> { return vec2(0u); }\n\
               fn words_of_value(number: vec2<u32>) -> vec2<u32> { return number; }\n\
               fn value_of(words: vec2<u32>) -> vec2<u32> { return words; }\n\
               fn flagged(words: vec2<u32>, flag: u32) -> T { return T(words, flag); }\n\
               fn flag_of(number: T) -> u32 { return number.z; }\n";
    let two_words = [functions::TEAM_WORDS, functions::SCAN_WORDS].concat();
    let (own, words) = if n_words == 1 { (one, two_words.as_str()) } else { (two, functions::SCAN_THREE_WORDS) };
    scan_of_small_tiles(ctx, publishes, &[own, operation, words, functions::SCAN_SEGMENTS])
}

/// Scans rows of `n` numbers by launches that begin with the given tiles, the first of them with tile 0.
fn assert_scanned(ctx: &Context, kernel: &Kernel, n: usize, n_rows: usize, starts: &[usize]) {
    let word = |count: usize| u32::try_from(count).unwrap();
    let numbers: Vec<u32> = (0..n_rows * n).map(|i| low(scattered(i))).collect();
    let source = ctx.slice_to_device(&numbers).unwrap();
    let out = ctx.zeros::<u32>(n_rows * n).unwrap();
    let n_tiles = n.div_ceil(16);
    let state = ctx.zeros::<u32>(1 + 2 * n_rows * (n_tiles + n_tiles.div_ceil(2))).unwrap();
    for (i, &first) in starts.iter().enumerate() {
        let end = starts.get(i + 1).copied().unwrap_or(n_rows * n_tiles);
        let base = first * 16;
        let [length, base, tile, count] = [n - base, base, first, n_rows * n_tiles].map(word);
        let args = (&source, &out, &state, length, word(n_tiles), base, tile, count);
        kernel.dispatch(ctx.default_stream(), Groups::exact([word(end - first), 1, 1]), args).unwrap();
    }
    let found = contents(&out);
    for row in 0..n_rows {
        let mut sum = 0_u32;
        for i in row * n..(row + 1) * n {
            sum = sum.wrapping_add(numbers[i]);
            assert_eq!(found[i], sum, "{n} {starts:?} {i}");
        }
    }
}

/// Every workgroup finds what it needs by itself if no other publishes its sum, and if some do not.
#[test]
fn workgroups_do_without_the_sums_of_others() {
    let fixture = Fixture::open();
    for publishes in ["true", "false", "(tile * 7919u) % 5u < 2u", "tile % 2u == 0u", "tile % 2u == 1u"] {
        let kernel = sums_of_words(&fixture, publishes);
        for n in [17_usize, 128, 129, 1001] {
            assert_scanned(&fixture, &kernel, n, 2, &[0]);
        }
    }
}

/// Workgroups take numbers of tiles from a counter. `VKARRAY_TEST_TICKETS` sets how many they take.
#[test]
fn every_tile_is_given_to_one_workgroup() {
    const AT_ONCE: usize = 60_000;
    let fixture = Fixture::open();
    let kernel = sums_of_words(&fixture, "true");
    let tickets = std::env::var("VKARRAY_TEST_TICKETS").map_or(AT_ONCE, |number| number.parse().unwrap());
    for _ in 0..tickets.div_ceil(AT_ONCE) {
        assert_scanned(&fixture, &kernel, 16 * AT_ONCE, 1, &[0]);
    }
}

/// A launch that begins in the middle of a block computes none of the sums of tiles before it, which it cannot read.
#[test]
fn workgroups_compute_no_sums_of_earlier_launches() {
    let fixture = Fixture::open();
    for first in [2_usize, 3, 7] {
        let kernel = sums_of_words(&fixture, &format!("tile < {first}u"));
        for n in [129_usize, 1001] {
            assert_scanned(&fixture, &kernel, n, 1, &[0, first]);
        }
    }
}

/// Scans rows of `n` numbers within segments by launches that begin with the given tiles, with the kernels of
/// [`sums_in_segments`].
fn assert_segments_scanned(ctx: &Context, publishes: &str, [n, n_rows]: [usize; 2], starts: &[usize]) {
    let word = |count: usize| u32::try_from(count).unwrap();
    let numbers: Vec<u32> = (0..n_rows * n).map(|i| low(scattered(i))).collect();
    for every in [1, 7, 53, u64::MAX] {
        let is_start = |i: usize| i.is_multiple_of(n) || scattered(i).is_multiple_of(every);
        let n_flags = (n_rows * n).next_multiple_of(4);
        let bytes: Vec<u8> = (0..n_flags).map(|i| u8::from(is_start(i))).collect();
        let flags: Vec<u32> = bytes.chunks(4).map(bytemuck::pod_read_unaligned).collect();
        let flags = ctx.slice_to_device(&flags).unwrap();
        let source = ctx.slice_to_device(&numbers).unwrap();
        let n_tiles = n.div_ceil(16);
        for n_words in [1, 2] {
            let kernel = sums_in_segments(ctx, publishes, n_words);
            let out = ctx.zeros::<u32>(n_rows * n).unwrap();
            let n_slots = n_rows * (n_tiles + n_tiles.div_ceil(2));
            let state = ctx.zeros::<u32>(1 + 2 * (n_words + 1) * n_slots).unwrap();
            for (i, &first) in starts.iter().enumerate() {
                let end = starts.get(i + 1).copied().unwrap_or(n_rows * n_tiles);
                let base = first * 16;
                let [length, base, tile, count] = [n - base, base, first, n_rows * n_tiles].map(word);
                let args = (&source, &out, &state, &flags, length, word(n_tiles), base, tile, count);
                kernel.dispatch(ctx.default_stream(), Groups::exact([word(end - first), 1, 1]), args).unwrap();
            }
            let (mut sum, mut other) = (0_u32, 0_u32);
            for (i, found) in contents(&out).into_iter().enumerate() {
                let own = (numbers[i], !numbers[i]);
                (sum, other) = if is_start(i) { own } else { (sum.wrapping_add(own.0), other.wrapping_add(own.1)) };
                let expected = if n_words == 1 { sum } else { (sum ^ 0x5aa5_f00f).wrapping_add(other) };
                assert_eq!(found, expected, "{publishes} {n} {starts:?} {every} {n_words} {i}");
            }
        }
    }
}

#[test]
fn workgroups_do_without_the_sums_of_others_in_segments() {
    let fixture = Fixture::open();
    for publishes in ["true", "false", "(tile * 7919u) % 5u < 2u", "tile % 2u == 0u", "tile % 2u == 1u"] {
        for n in [17_usize, 129, 1001] {
            assert_segments_scanned(&fixture, publishes, [n, 2], &[0]);
        }
    }
    for first in [2_usize, 3, 7] {
        assert_segments_scanned(&fixture, &format!("tile < {first}u"), [1001, 1], &[0, first]);
    }
}

/// Scans an array of one or two axes within segments along its last axis, on the host, and compares.
fn assert_segmented<T: Element + PartialEq + std::fmt::Debug>(
    found: vkarray::Result<DeviceNDArray<T>>,
    (x, starts): (&DeviceNDArray<T>, &DeviceNDArray<Bool>),
    combine: impl Fn(T, T) -> T,
) {
    let (found, length) = (found.unwrap().copy_to_host().unwrap(), x.shape()[x.ndim() - 1]);
    let (numbers, flags) = (x.copy_to_host().unwrap(), starts.copy_to_host().unwrap());
    let mut before = None;
    for (i, ((&own, &flag), &found)) in numbers.iter().zip(&flags).zip(&found).enumerate() {
        let is_start = i % length == 0 || bool::from(flag);
        let expected = if is_start { own } else { combine(before.unwrap(), own) };
        assert_eq!(found, expected, "{} {:?} {i}", std::any::type_name::<T>(), x.shape());
        before = Some(expected);
    }
}

/// Where segments start: nowhere, everywhere, rarely, often, and about the ends of tiles.
const STARTS: [fn(usize) -> bool; 5] = [
    |_| false,
    |_| true,
    |i| scattered(i).is_multiple_of(5000),
    |i| scattered(i).is_multiple_of(5),
    |i| matches!(i % 1024, 0 | 1023),
];

fn assert_all_segmented(ctx: &Context, shape: [usize; 2], is_start: fn(usize) -> bool) {
    let count = shape[0] * shape[1];
    let flags: Vec<Bool> = (0..count).map(|i| is_start(i).into()).collect();
    let starts = ctx.shaped_to_device(&flags, shape).unwrap();
    let by = |zero: &str| ScanKernel::new("a + b", zero);
    let words: Vec<u32> = (0..count).map(|i| low(scattered(i))).collect();
    let x = ctx.shaped_to_device(&words, shape).unwrap();
    assert_segmented(by("0u").inclusive_by_segment(&x, &starts, -1), (&x, &starts), u32::wrapping_add);
    // The operation depends on the order of its operands: (a, b) stands for x ↦ a x + b.
    let combine = "(((a >> 16u) * (b >> 16u)) << 16u) | (((a & 0xffffu) * (b >> 16u) + b) & 0xffffu)";
    let compose = ScanKernel::new(combine, "0x10000u");
    assert_segmented(compose.inclusive_by_segment(&x, &starts, -1), (&x, &starts), |a, b| {
        let high = (a >> 16).wrapping_mul(b >> 16) << 16;
        high | ((a & 0xffff).wrapping_mul(b >> 16).wrapping_add(b) & 0xffff)
    });
    let x = x.view::<i32>().unwrap();
    assert_segmented(by("0i").inclusive_by_segment(&x, &starts, -1), (&x, &starts), i32::wrapping_add);
    let floats: Vec<f32> = (0..count).map(|i| (scattered(i) % 15) as f32 - 7.0).collect();
    let x = ctx.shaped_to_device(&floats, shape).unwrap();
    assert_segmented(by("0.0").inclusive_by_segment(&x, &starts, -1), (&x, &starts), |a, b| a + b);
    if ctx.info().features.shader_int64 {
        let longs: Vec<u64> = (0..count).map(scattered).collect();
        let x = ctx.shaped_to_device(&longs, shape).unwrap();
        assert_segmented(by("0lu").inclusive_by_segment(&x, &starts, -1), (&x, &starts), u64::wrapping_add);
        let x = x.view::<i64>().unwrap();
        assert_segmented(by("0li").inclusive_by_segment(&x, &starts, -1), (&x, &starts), i64::wrapping_add);
    }
    if ctx.info().features.shader_float64 {
        let doubles: Vec<f64> = (0..count).map(|i| (scattered(i) >> 40) as f64).collect();
        let x = ctx.shaped_to_device(&doubles, shape).unwrap();
        assert_segmented(by("0.0lf").inclusive_by_segment(&x, &starts, -1), (&x, &starts), |a, b| a + b);
    }
}

#[test]
fn scans_within_segments_of_every_type_and_length_are_those_of_the_host() {
    let fixture = Fixture::open();
    for (i, length) in LENGTHS.into_iter().filter(|&length| length < 1_000_000).enumerate() {
        for (j, is_start) in STARTS.into_iter().enumerate() {
            if length < 10_000 || i % STARTS.len() == j || j == 2 {
                assert_all_segmented(&fixture, [1, length], is_start);
            }
        }
    }
    for shape in [[7001, 3], [300, 301], [129, 128], [3, 70_001]] {
        assert_all_segmented(&fixture, shape, STARTS[3]);
    }
}

#[test]
fn views_are_scanned_within_segments_along_any_axis() {
    let fixture = Fixture::open();
    let host: Vec<u32> = (0..30_000).map(|i| low(scattered(i))).collect();
    let flags: Vec<Bool> = (0..30_000).map(|i| scattered(i + 7).is_multiple_of(9).into()).collect();
    let (x, starts) = (fixture.shaped_to_device(&host, [150, 200]).unwrap(), fixture.slice_to_device(&flags).unwrap());
    let starts = starts.reshape([150, 200]).unwrap();
    let sum = ScanKernel::new("a + b", "0u");
    let down = sum.inclusive_by_segment(&x, &starts, 0).unwrap().copy_to_host().unwrap();
    let along = sum.inclusive_by_segment(&x.t(), &starts.t(), 1).unwrap().t().copy_to_host().unwrap();
    assert_eq!(down, along);
    let part = s![3..;2, ..;-3];
    let row = starts.slice(s![5]).unwrap().broadcast_to([150, 200]).unwrap();
    let parts = (x.slice(part).unwrap(), starts.slice(part).unwrap());
    for (x, starts) in [(x.t(), starts.t()), parts, (x.clone(), row)] {
        assert_segmented(sum.inclusive_by_segment(&x, &starts, -1), (&x, &starts), u32::wrapping_add);
    }
    let refused = sum.inclusive_by_segment(&x, &starts.t(), 0).unwrap_err().to_string();
    assert_eq!(refused, "inclusive_by_segment does not take shapes (150, 200) and (200, 150)");
}

#[test]
fn scans_within_segments_run_in_parts_and_without_operations_of_subgroups() {
    with_limits(r#"{"max_storage_buffer_range": 65536}"#, |ctx| {
        for shape in [[1, 70_001], [3, 40_000], [9001, 7]] {
            assert_all_segmented(&ctx, shape, STARTS[3]);
        }
    });
    with_limits(r#"{"subgroup": {"operations": 1}}"#, |ctx| {
        for shape in [[1, 1], [3, 255], [1, 5003]] {
            assert_all_segmented(&ctx, shape, STARTS[3]);
        }
    });
}

#[test]
fn floats_within_segments_have_the_same_bits_on_every_run() {
    let fixture = Fixture::open();
    let numbers: Vec<f32> = (0..500_009).map(|i| (scattered(i) as f32).sqrt() - 2.0e9).collect();
    let x = fixture.slice_to_device(&numbers).unwrap();
    let flags: Vec<Bool> = (0..500_009).map(|i| scattered(i).is_multiple_of(100_000).into()).collect();
    let starts = fixture.slice_to_device(&flags).unwrap();
    let sum = ScanKernel::new("a + b", "0.0");
    let bits = || contents(&sum.inclusive_by_segment(&x, &starts, 0).unwrap().view::<u32>().unwrap());
    let first = bits();
    for _ in 0..25 {
        assert!(bits() == first);
    }
}
