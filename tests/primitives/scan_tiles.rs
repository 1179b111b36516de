//! Kernels of scans with small tiles, whose workgroups do not see the sums of others.

use vkarray::prelude::*;
use vkarray_shaders::functions;

use super::scans::{low, scattered};
use crate::fixture::{Fixture, contents};

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
    let scans = [functions::TEAM_WORDS, functions::SCAN_WORDS, functions::TEAM_SCAN].concat();
    let own = parts.concat();
    let scan = scan_of_one_four();
    let text = [functions::TEAM_ALONE, tile, &publishes, &own, &scans, functions::SCAN_NUMBERS, &scan];
    ctx.kernel(Source::wgsl(text.concat())).entry("scan_tiles").build().unwrap()
}

/// The kernel of sums of words.
fn sums_of_words(ctx: &Context, publishes: &str) -> Kernel {
    let operation = "alias T = u32;\nconst WORDS = 1u;\nalias Read = u32;\nalias Written = u32;\n\
                     fn flags_at(four: u32) -> u32 { return 0u; }\n\
                     fn number_of(words: vec2<u32>, flags: u32) -> T { return words.x; }\n\
                     fn read_words(words: Read) -> vec2<u32> { return vec2(words, 0u); }\n\
                     fn written_words(number: T) -> Written { return number; }\n\
                     fn op(a: T, b: T) -> T { return a + b; }\nfn identity() -> T { return 0u; }\n\
                     fn words_of(number: T) -> vec3<u32> { return vec3(number, 0u, 0u); }\n\
                     fn of_words(words: vec3<u32>) -> T { return words.x; }\n";
    scan_of_small_tiles(ctx, publishes, &[operation])
}

/// The kernel of sums of words within segments, in one word and a flag, or in two words and a flag.
fn sums_in_segments(ctx: &Context, publishes: &str, n_words: usize) -> Kernel {
    let operation = "alias Read = u32;\nalias Written = u32;\n\
                     fn read_words(words: Read) -> vec2<u32> { return vec2(words, ~words); }\n";
    let one = "alias T = vec2<u32>;\nconst WORDS = 2u;\n\
               fn written_words(number: T) -> Written { return number.x; }\n\
               fn combine(a: u32, b: u32) -> u32 { return a + b; }\nfn identity_value() -> u32 { return 0u; }\n\
               fn words_of_value(number: u32) -> vec2<u32> { return vec2(number, 0u); }\n\
               fn value_of(words: vec2<u32>) -> u32 { return words.x; }\n\
               fn flagged(words: vec2<u32>, flag: u32) -> T { return T(words.x, flag); }\n\
               fn flag_of(number: T) -> u32 { return number.y; }\n\
               fn words_of(number: T) -> vec3<u32> { return vec3(number, 0u); }\n\
               fn of_words(words: vec3<u32>) -> T { return words.xy; }\n";
    // The second word has the bits that the first one has not, and their sums are combined into the result.
    let two = "alias T = vec3<u32>;\nconst WORDS = 3u;\n\
               fn written_words(number: T) -> Written { return (number.x ^ 0x5aa5f00fu) + number.y; }\n\
               fn combine(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return a + b; }\n\
               fn identity_value() -> vec2<u32> { return vec2(0u); }\n\
               fn words_of_value(number: vec2<u32>) -> vec2<u32> { return number; }\n\
               fn value_of(words: vec2<u32>) -> vec2<u32> { return words; }\n\
               fn flagged(words: vec2<u32>, flag: u32) -> T { return T(words, flag); }\n\
               fn flag_of(number: T) -> u32 { return number.z; }\n\
               fn words_of(number: T) -> vec3<u32> { return number; }\n\
               fn of_words(words: vec3<u32>) -> T { return words; }\n";
    let own = if n_words == 1 { one } else { two };
    scan_of_small_tiles(ctx, publishes, &[own, operation, functions::SCAN_SEGMENTS])
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
