//! Kernels of the functions on arrays in `vkarray-ndarray`: indexing, sorting, scans, matrix products, random
//! numbers.
//!
//! Each file says in its first comment what it computes, and which lines must come before it. `vkarray-ndarray`
//! writes these lines and decides which kernel runs when.

use crate::library::{NUMBERS, WIDE_NUMBERS};

/// Numbers of elements between edges.
pub const BINS: &str = include_str!("../library/bins.wgsl");

/// Elements whose flags are set.
pub const COMPACT: &str = include_str!("../library/compact.wgsl");

/// Sums of a filter's products, with lines in capitals for text that is generated.
pub const CONVOLVE: &str = include_str!("../library/convolve.wgsl");

/// A pass of a fast Fourier transform, with lines in capitals for text that is generated.
pub const FFT: &str = include_str!("../library/fft.wgsl");

/// The first elements of blocks in their order.
pub const FIRST: &str = include_str!("../library/first.wgsl");

/// Elements at indices.
pub const GATHER: &str = include_str!("../library/gather.wgsl");

/// The first index that is out of range.
pub const INDEX_CHECK: &str = include_str!("../library/index_check.wgsl");

/// How indices are read and mapped to places.
pub const INDICES: &str = include_str!("../library/indices.wgsl");

/// Numbers as keys that compare as unsigned integers, and back.
pub const KEY_OF: &str = include_str!("../library/key_of.wgsl");

/// How keys are compared.
pub const KEY_ORDER: &str = include_str!("../library/key_order.wgsl");

/// Products of matrices, with lines in capitals for text that is generated.
pub const MATMUL: &str = include_str!("../library/matmul.wgsl");

/// Products of matrices by cooperative matrices, with lines in capitals likewise, and one of the `QUADS` behind them.
pub const MATMUL_MATRICES: &str = include_str!("../library/matmul_matrices.wgsl");

/// The results of [`MATMUL_MATRICES`] for `f16`.
pub const QUADS_F16: &str = include_str!("../library/quads_f16.wgsl");

/// The results of [`MATMUL_MATRICES`] for `bf16`.
pub const QUADS_BF16: [&str; 2] = [include_str!("../library/quads_bf16.wgsl"), NUMBERS];

/// The results of [`MATMUL_MATRICES`] for `i8`.
pub const QUADS_I8: &str = include_str!("../library/quads_i8.wgsl");

/// The buffers of [`MATMUL`] for rows of any length.
pub const MATMUL_NUMBERS: &str = include_str!("../library/matmul_numbers.wgsl");

/// The buffers of [`MATMUL`] for rows of whole fours.
pub const MATMUL_QUADS: &str = include_str!("../library/matmul_quads.wgsl");

/// Integers of 64 bits as pairs of words.
pub const PAIRS: &str = include_str!("../library/pairs.wgsl");

/// [`PAIRS`] for devices with 64-bit integers in shaders, where one product of 64 bits is faster than four of 16 bits.
///
/// # Panics
///
/// Never: `pairs.wgsl` has the function that is replaced.
#[must_use]
pub fn pairs_with_u64() -> String {
    let (before, rest) = PAIRS.split_once("fn wide_product").expect("pairs.wgsl has the function");
    let (_, after) = rest.split_once("\n}\n").expect("a function ends");
    let product = "fn wide_product(a: u32, b: u32) -> vec2<u32> {
    let product = u64(a) * u64(b);
    return vec2(u32(product & 0xfffffffflu), u32(product >> 32u));
}
";
    [before, product, after].concat()
}

/// Random numbers.
pub const PHILOX: &str = include_str!("../library/philox.wgsl");

/// Elements written at places.
pub const SCATTER: &str = include_str!("../library/scatter.wgsl");

/// A radix sort.
pub const RADIX: &str = include_str!("../library/radix.wgsl");

/// A sorting network for short rows, with a line in capitals for its steps.
pub const SORT_NETWORK: &str = include_str!("../library/sort_network.wgsl");

/// A part of [`RADIX`] and [`SORT_NETWORK`] without the places that keys had at first.
pub const RADIX_KEYS: &str = include_str!("../library/radix_keys.wgsl");

/// A part of [`RADIX`] and [`SORT_NETWORK`] with the places that keys had at first.
pub const RADIX_ORDER: &str = include_str!("../library/radix_order.wgsl");

/// Running sums and other scans, with lines in capitals for text that is generated.
pub const SCAN: &str = include_str!("../library/scan.wgsl");

/// The buffers of [`SCAN`] for rows of any length.
pub const SCAN_NUMBERS: &str = include_str!("../library/scan_numbers.wgsl");

/// The buffers of [`SCAN`] for rows of whole fours.
pub const SCAN_QUADS: &str = include_str!("../library/scan_quads.wgsl");

/// A part of [`SCAN`] for scans within segments: the flags and the operation.
pub const SCAN_SEGMENTS: &str = include_str!("../library/scan_segments.wgsl");

/// A part of [`SCAN`]: the words of numbers that workgroups publish.
pub const SCAN_WORDS: &str = include_str!("../library/scan_words.wgsl");

/// Places of keys among sorted keys.
pub const SEARCH: &str = include_str!("../library/search.wgsl");

/// The elements of rows that come first.
pub const SELECT: &str = include_str!("../library/select.wgsl");

/// Teams of one invocation.
pub const TEAM_ALONE: &str = include_str!("../library/team_alone.wgsl");

/// Scans of one number for each invocation.
pub const TEAM_SCAN: &str = include_str!("../library/team_scan.wgsl");

/// Teams that are subgroups.
pub const TEAM_SUBGROUP: &str = include_str!("../library/team_subgroup.wgsl");

/// A part of [`TEAM_SCAN`]: the words of numbers that move between lanes.
pub const TEAM_WORDS: &str = include_str!("../library/team_words.wgsl");

/// The lower or upper triangle of matrices.
pub const TRIANGLE: &str = include_str!("../library/triangle.wgsl");

/// The function `uniform_double`, which makes a random `f64` of two words.
#[must_use]
pub fn uniform_double() -> String {
    [NUMBERS, WIDE_NUMBERS, include_str!("../library/uniform_double.wgsl")].concat()
}

#[cfg(test)]
mod tests {
    use naga::valid::{Capabilities, ValidationFlags, Validator};

    use super::*;

    /// The tile and the digits of [`RADIX`].
    const RADIX_TILE: &str = "const TEAMS = 12u;\nconst ITEMS = 16u;\nconst PASSES = 4u;\n";

    /// What [`KEY_OF`] needs for `f32`.
    const FLOATS: &str = "const KIND = FLOAT;\nconst SIGN = 0x80000000u;\nconst INFINITY = 0x7f800000u;\n\
                          const DESCENDING = false;\nconst EXACT = false;\nconst IS_PAIR = false;\n\
                          alias Key = u32;\nfn to_key(words: vec2<u32>) -> Key { return words.x; }\n\
                          fn words_of(key: Key) -> vec2<u32> { return vec2(key, 0u); }\n";

    /// What [`KEY_OF`] needs for `f64`.
    fn wide_floats() -> String {
        FLOATS
            .replace("IS_PAIR = false", "IS_PAIR = true")
            .replace("alias Key = u32", "alias Key = vec2<u32>")
            .replace("return words.x", "return words")
            .replace("vec2(key, 0u)", "key.yx")
    }

    /// What [`SEARCH`] answers, and what it reads.
    const SEARCHED: &str = "const BUCKETS = 4096u;\nconst RIGHT = true;\nconst IS_MEMBERSHIP = true;\n\
                            const IS_FLOAT = true;\nconst SORTED_NUMBERS = true;\nconst NUMBERS = false;\n";

    /// The counters and the positions of [`BINS`].
    const COUNTERS: &str = "const THREADS = 512u;\nconst COPIES = 32u;\nconst COUNTERS = 8192u;\nconst IS_EVEN = true;\n\
                           const PARTS = 32768u;\n\
                           fn distances(quad: vec4<u32>) -> vec4<f32> { return bitcast<vec4<f32>>(quad) - bins.origin; }\n";

    /// The digits and the rounds of [`SELECT`].
    const SELECTION: &str = "const TEAMS = 32u;\nconst N_DIGITS = 4u;\nconst ROUNDS = 32u;\n";

    /// The keys of a lane and of a row in [`SORT_NETWORK`].
    const NETWORK: &str = "const TEAMS = 8u;\nconst ITEMS = 4u;\nconst ROW = 4u;\n";

    /// What [`SCAN_SEGMENTS`] needs for sums of integers of 64 bits.
    const SUMS_IN_SEGMENTS: &str = "alias T = vec3<u32>;\nconst WORDS = 3u;\nconst TEAMS = 8u;\nconst QUADS = 4u;\n\
                        alias Read = vec2<u32>;\nalias Written = vec2<u32>;\n\
                        fn read_words(words: Read) -> vec2<u32> { return words; }\n\
                        fn written_words(number: T) -> Written { return number.xy; }\n\
                        fn words_of(number: T) -> vec3<u32> { return number; }\n\
                        fn of_words(words: vec3<u32>) -> T { return words; }\n\
                        fn words_of_value(value: u64) -> vec2<u32> { return vec2(u32(value), u32(value >> 32u)); }\n\
                        fn value_of(words: vec2<u32>) -> u64 { return u64(words.x) | (u64(words.y) << 32u); }\n\
                        fn flagged(words: vec2<u32>, flag: u32) -> T { return vec3(words, flag); }\n\
                        fn flag_of(number: T) -> u32 { return number.z; }\n\
                        fn publishes(tile: u32) -> bool { return true; }\n\
                        fn identity_value() -> u64 { return 0lu; }\n\
                        fn combine(a: u64, b: u64) -> u64 { return a + b; }\n";

    /// [`SCAN`] with some text in place of the lines in capitals.
    fn scan_of_one_four() -> String {
        let scan = SCAN.replace("LOADS", "var four0 = load(range, 0u);").replace("SCANS", "").replace("STEPS", "");
        scan.replace("SUMS", "sum = four0[0];").replace("STORES", "store(range, 0u, before, four0);")
    }

    #[test]
    fn every_kernel_is_valid_behind_the_lines_that_its_comment_asks_for() {
        let units = "const UNITS = 4u;\nconst BITS = 8u;\nconst ALONG = true;\nconst IS_WHOLE = true;\n";
        let words = "const UNITS = 1u;\nconst BITS = 32u;\nconst ALONG = false;\nconst IS_WHOLE = false;\n";
        let indices = "const INDEX_WORDS = 2u;\nconst IS_SIGNED = true;\nconst MODE = 1u;\n";
        let wide_floats = wide_floats();
        let numbers = "alias T = vec2<u32>;\nconst WORDS = 2u;\nconst TEAMS = 8u;\nconst QUADS = 4u;\nalias Read = u32;\nalias Written = T;\n\
                       const WRITTEN = 2u;\nfn flags_at(four: u32) -> u32 { return 0u; }\n\
                       fn number_of(words: vec2<u32>, flags: u32) -> T { return words; }\n\
                       fn read_words(words: Read) -> vec2<u32> { return vec2(words, 0u); }\n\
                       fn written_words(number: T) -> Written { return number; }\n\
                       fn words_of(number: T) -> vec3<u32> { return vec3(number, 0u); }\n\
                       fn of_words(words: vec3<u32>) -> T { return words.xy; }\n\
                       fn publishes(tile: u32) -> bool { return true; }\n\
                       fn identity() -> T { return vec2(0u); }\n\
                       fn op(a: T, b: T) -> T { return pair_sum(a, b); }\n";
        let words_of = "alias T = u32;\nconst WORDS = 1u;\nconst TEAMS = 8u;\n\
                     fn words_of(number: T) -> vec3<u32> { return vec3(number, 0u, 0u); }\n\
                     fn of_words(words: vec3<u32>) -> T { return words.x; }\n\
                     fn identity() -> T { return 0u; }\nfn op(a: T, b: T) -> T { return a + b; }\n";
        let philox = "const LANES = 8u;\nfn philox(c: vec2<u32>) -> array<u32, LANES> { return philox_4x64(c); }\n\
                      fn convert(words: vec2<u32>) -> vec2<u32> { return uniform_double(words); }\n";
        let network = SORT_NETWORK.replace("SORTS\n", "within(&keys, 3u);\n").replace("MERGES\n", "");
        let (scan, team_scan) = (scan_of_one_four(), [TEAM_WORDS, SCAN_WORDS, TEAM_SCAN].concat());
        let texts = [
            [units, indices, INDICES, GATHER].concat(),
            [words, indices, INDICES, GATHER].concat(),
            [units, "const IS_SORTED = true;\n", SCATTER].concat(),
            [indices, INDICES, INDEX_CHECK].concat(),
            [TEAM_ALONE, words_of, TEAM_WORDS, TEAM_SCAN, "const PARTS = 2u;\n", COMPACT].concat(),
            [units, "const LOWER = true;\n", TRIANGLE].concat(),
            [FLOATS, KEY_OF, TEAM_ALONE, RADIX_TILE, RADIX_KEYS, RADIX].concat(),
            [FLOATS, KEY_OF, "const SUBGROUP = 64u;\n", TEAM_SUBGROUP, RADIX_TILE, RADIX_ORDER, RADIX].concat(),
            [FLOATS, KEY_OF, KEY_ORDER, TEAM_ALONE, NETWORK, RADIX_KEYS, &network].concat(),
            [FLOATS, KEY_OF, KEY_ORDER, "const SUBGROUP = 64u;\n", TEAM_SUBGROUP, NETWORK, RADIX_ORDER, &network]
                .concat(),
            [FLOATS, KEY_OF, KEY_ORDER, SEARCHED, SEARCH].concat(),
            [FLOATS, KEY_OF, KEY_ORDER, COUNTERS, BINS].concat(),
            [&wide_floats, KEY_OF, KEY_ORDER, SEARCHED, SEARCH].concat(),
            [PAIRS, TEAM_ALONE, numbers, &team_scan, SCAN_NUMBERS, &scan].concat(),
            [PAIRS, "const SUBGROUP = 32u;\n", TEAM_SUBGROUP, numbers, &team_scan, SCAN_QUADS, &scan].concat(),
            [TEAM_ALONE, SUMS_IN_SEGMENTS, &team_scan, SCAN_SEGMENTS, SCAN_NUMBERS, &scan].concat(),
            [FLOATS, KEY_OF, KEY_ORDER, "const LANES = 32u;\n", FIRST].concat(),
            [FLOATS, KEY_OF, KEY_ORDER, TEAM_ALONE, SELECTION, SELECT].concat(),
            [PAIRS, &uniform_double(), philox, PHILOX].concat(),
            [&pairs_with_u64(), &uniform_double(), philox, PHILOX].concat(),
        ];
        for text in texts {
            let module = naga::front::wgsl::parse_str(&text);
            let module = module.unwrap_or_else(|error| panic!("{}", error.emit_to_string(&text)));
            let checked = Validator::new(
                ValidationFlags::all(),
                Capabilities::IMMEDIATES
                    | Capabilities::SHADER_INT64
                    | Capabilities::SUBGROUP
                    | Capabilities::SUBGROUP_BARRIER,
            )
            .validate(&module);
            checked.unwrap_or_else(|error| panic!("{}", error.emit_to_string(&text)));
        }
    }
}
