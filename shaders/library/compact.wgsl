// out[k] = the element, or the place, of the k-th flag that is set
//
// Flags are the bytes of words, and blocks have BLOCK of them. `count_flags` writes the number of set flags of each
// block; `ends` are the inclusive sums of these numbers. `compact_elements` writes elements of PARTS words,
// `compact_places` places, which are counted from `first` on. The first result is word `base` of `out` or `places`. The
// text before this file defines PARTS, and `team_scan.wgsl` for sums of `u32`. Each kernel has a workgroup for each block.

const FLAGS = 16u; // Of an invocation.
const BLOCK = FLAGS * THREADS;
const WORDS_OF_LANE = FLAGS / 4u;
const BLOCK_WORDS = BLOCK / 4u;

struct Compact { count: u32, base: u32, first: u32 }

@group(0) @binding(0) var<storage, read> flags: array<u32>;
@group(0) @binding(1) var<storage, read_write> counts: array<u32>;
@group(0) @binding(1) var<storage, read> ends: array<u32>;
@group(0) @binding(2) var<storage, read> source: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<u32>;
@group(0) @binding(2) var<storage, read_write> places: array<u32>;
var<immediate> compact: Compact;

var<workgroup> masks: array<u32, BLOCK_WORDS>;
var<workgroup> numbers: array<u32, BLOCK_WORDS>;

// The lowest bit of each byte: whether the flag is set. Bytes after the last flag count as not set.
fn mask_of(word: u32) -> u32 {
    var bits = flags[min(word, (compact.count - 1u) / 4u)];
    bits |= bits >> 4u;
    bits |= bits >> 2u;
    bits |= bits >> 1u;
    let n_valid = min(4u, compact.count - min(word * 4u, compact.count));
    return select(0u, bits & (0x01010101u >> (8u * (4u - max(n_valid, 1u)))), n_valid > 0u);
}

@compute @workgroup_size(THREADS)
fn count_flags(@builtin(workgroup_id) group: vec3<u32>, invocation: Invocation) {
    let place = place_of(invocation);
    var sum = 0u;
    for (var i = 0u; i < WORDS_OF_LANE; i++) {
        sum += countOneBits(mask_of(group.x * BLOCK_WORDS + i * THREADS + place.thread));
    }
    let total = scan_teams(last_lane(scan_lanes(sum, place), place), place).all;
    if place.thread == 0u {
        counts[group.x] = total;
    }
}

// Fills `masks` and `numbers`: the flags, and the number of set flags before each word.
fn number_words(block: u32, place: Place) {
    var own: array<u32, WORDS_OF_LANE>;
    var sum = 0u;
    for (var i = 0u; i < WORDS_OF_LANE; i++) {
        own[i] = mask_of(block * BLOCK_WORDS + place.thread * WORDS_OF_LANE + i);
        sum += countOneBits(own[i]);
    }
    let lanes = scan_lanes(sum, place);
    var number = scan_teams(last_lane(lanes, place), place).before + lanes - sum;
    if block > 0u {
        number += ends[block - 1u];
    }
    for (var i = 0u; i < WORDS_OF_LANE; i++) {
        masks[place.thread * WORDS_OF_LANE + i] = own[i];
        numbers[place.thread * WORDS_OF_LANE + i] = number;
        number += countOneBits(own[i]);
    }
    workgroupBarrier();
}

const NOT_SET = 0xffffffffu;

// The number of a flag among those that are set.
fn rank_of(flag: u32) -> u32 {
    let mask = masks[flag / 4u];
    let bit = 1u << (8u * (flag % 4u));
    return select(NOT_SET, numbers[flag / 4u] + countOneBits(mask & (bit - 1u)), (mask & bit) != 0u);
}

// Reads a part of each element of a lane. Loads have no branches between them, so that they overlap.
fn read_part(words: ptr<function, array<u32, FLAGS>>, block: u32, part: u32, place: Place) {
    for (var i = 0u; i < FLAGS; i++) {
        let element = min(block * BLOCK + i * THREADS + place.thread, compact.count - 1u);
        (*words)[i] = source[element * PARTS + part];
    }
}

@compute @workgroup_size(THREADS)
fn compact_elements(@builtin(workgroup_id) group: vec3<u32>, invocation: Invocation) {
    let place = place_of(invocation);
    // The first part is on its way while the flags are numbered.
    var words: array<u32, FLAGS>;
    read_part(&words, group.x, 0u, place);
    number_words(group.x, place);
    for (var part = 0u; part < PARTS; part++) {
        if part > 0u {
            read_part(&words, group.x, part, place);
        }
        for (var i = 0u; i < FLAGS; i++) {
            let number = rank_of(i * THREADS + place.thread);
            if number != NOT_SET {
                out[compact.base + number * PARTS + part] = words[i];
            }
        }
    }
}

@compute @workgroup_size(THREADS)
fn compact_places(@builtin(workgroup_id) group: vec3<u32>, invocation: Invocation) {
    let place = place_of(invocation);
    number_words(group.x, place);
    for (var i = 0u; i < FLAGS; i++) {
        let flag = i * THREADS + place.thread;
        let number = rank_of(flag);
        if number != NOT_SET {
            places[compact.base + number] = compact.first + group.x * BLOCK + flag;
        }
    }
}
