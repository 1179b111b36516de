// out[k] = the element, or the place, of the k-th flag that is set
//
// Flags are bytes. `pack_flags` packs 32 of them into a word of `bits`, and counts the set flags of each block, which has a
// word for each invocation; `ends` are the inclusive sums of these counts. Flags are read four words at a time, from
// `quads`, and those behind the quads from `flags`. `compact_elements` writes elements of PARTS words, `compact_places`
// places, which are counted from `first` on. The first result is word `base` of `out` or `places`. The text before this file
// defines PARTS, and `team_scan.wgsl` for sums of `u32`. Each kernel has a workgroup for each block.

const FLAGS = 32u; // Of a word of bits.
const BLOCK = FLAGS * THREADS;

struct Packing { count: u32, n_quads: u32 }

@group(0) @binding(0) var<storage, read> flags: array<u32>;
@group(0) @binding(1) var<storage, read> quads: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> bits: array<u32>;
@group(0) @binding(3) var<storage, read_write> counts: array<u32>;
var<immediate> packing: Packing;

// The flags of four bytes, as four bits.
fn bits_of(word: u32) -> u32 {
    var flagged = word | (word >> 4u);
    flagged |= flagged >> 2u;
    flagged |= flagged >> 1u;
    return ((flagged & 0x01010101u) * 0x01020408u) >> 24u;
}

fn bits_of_quad(quad: vec4<u32>) -> u32 {
    return bits_of(quad.x) | (bits_of(quad.y) << 4u) | (bits_of(quad.z) << 8u) | (bits_of(quad.w) << 12u);
}

@compute @workgroup_size(THREADS)
fn pack_flags(@builtin(workgroup_id) group: vec3<u32>, invocation: Invocation) {
    let place = place_of(invocation);
    let word = group.x * THREADS + place.thread;
    var flagged = 0u;
    if 2u * word + 1u < packing.n_quads {
        let low = quads[2u * word];
        let high = quads[2u * word + 1u];
        flagged = bits_of_quad(low) | (bits_of_quad(high) << 16u);
    } else {
        let n_flags = packing.count - min(word * FLAGS, packing.count);
        for (var i = 0u; i < min(n_flags, FLAGS); i += 4u) {
            flagged |= bits_of(flags[word * 8u + i / 4u]) << i;
        }
        if n_flags < FLAGS {
            flagged &= (1u << n_flags) - 1u;
        }
    }
    bits[word] = flagged;
    let count = scan_teams(last_lane(scan_lanes(countOneBits(flagged), place), place), place).all;
    if place.thread == 0u {
        counts[group.x] = count;
    }
}

struct Compact { count: u32, base: u32, first: u32 }

@group(0) @binding(0) var<storage, read> packed: array<u32>;
@group(0) @binding(1) var<storage, read> ends: array<u32>;
@group(0) @binding(2) var<storage, read> source: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<u32>;
@group(0) @binding(2) var<storage, read_write> places: array<u32>;
var<immediate> compact: Compact;

var<workgroup> masks: array<u32, THREADS>;
var<workgroup> numbers: array<u32, THREADS>;

// Fills `masks` and `numbers`: the bits of a block, and the number of set flags before each word.
fn number_words(block: u32, place: Place) {
    let mask = packed[block * THREADS + place.thread];
    let lanes = scan_lanes(countOneBits(mask), place);
    var number = scan_teams(last_lane(lanes, place), place).before + lanes - countOneBits(mask);
    if block > 0u {
        number += ends[block - 1u];
    }
    masks[place.thread] = mask;
    numbers[place.thread] = number;
    workgroupBarrier();
}

const NOT_SET = 0xffffffffu;

// The number of a flag among those that are set.
fn rank_of(flag: u32) -> u32 {
    let mask = masks[flag / FLAGS];
    let bit = 1u << (flag % FLAGS);
    return select(NOT_SET, numbers[flag / FLAGS] + countOneBits(mask & (bit - 1u)), (mask & bit) != 0u);
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
