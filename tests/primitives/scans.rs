//! Running sums: every type of numbers, lengths about tiles and blocks of tiles, rows and views, and kernels whose
//! workgroups do not see the sums of others; compared with sums of the host.

use bytemuck::Pod;
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

/// The kernel of sums of words, with tiles of 16 numbers in blocks of two. A workgroup publishes its sums where
/// `publishes` holds.
fn sums_of_words(ctx: &Context, publishes: &str) -> Kernel {
    let operation = "alias T = u32;\nconst WORDS = 1u;\nalias Read = u32;\nalias Written = u32;\n\
                     fn number_of(words: vec2<u32>) -> T { return words.x; }\n\
                     fn read_words(words: Read) -> vec2<u32> { return vec2(words, 0u); }\n\
                     fn written_words(number: T) -> Written { return number; }\n\
                     fn op(a: T, b: T) -> T { return a + b; }\nfn identity() -> T { return 0u; }\n\
                     fn words_of(number: T) -> vec2<u32> { return vec2(number, 0u); }\n\
                     fn of_words(words: vec2<u32>) -> T { return words.x; }\n\
                     const TEAMS = 4u;\nconst QUADS = 1u;\n";
    let publishes = format!("fn publishes(tile: u32) -> bool {{ return {publishes}; }}\n");
    let scan = functions::SCAN
        .replace("LOADS", "var four = load(range, start_of(range, 0u, place));")
        .replace("SCANS", "scan_four(&four);")
        .replace("STEPS", "")
        .replace("SUMS", "sum = four[3];")
        .replace("STORES", "store(range, start_of(range, 0u, place), before, four);");
    let buffers = functions::SCAN_NUMBERS;
    let text = [functions::TEAM_ALONE, operation, &publishes, functions::TEAM_SCAN, buffers, &scan].concat();
    ctx.kernel(Source::wgsl(text)).entry("scan_tiles").build().unwrap()
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
