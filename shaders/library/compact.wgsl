// out[k] = the element, or the place, of the k-th flag that is set
//
// Flags are the bytes of words, and blocks have BLOCK of them. `count_flags` writes the number of set flags of each
// block; `ends` are the inclusive sums of these numbers. `compact_elements` writes elements of PARTS words,
// `compact_places` places, which are counted from `first` on. The first result is word `base` of `out` or `places`. The
// text before this file defines PARTS. Each kernel has a workgroup for each block.

const BLOCK = 4096u;
const WORDS = BLOCK / 4u;
const WORDS_PER_LANE = WORDS / 256u;

struct Compact { count: u32, base: u32, first: u32 }

@group(0) @binding(0) var<storage, read> flags: array<u32>;
@group(0) @binding(1) var<storage, read_write> counts: array<u32>;
@group(0) @binding(1) var<storage, read> ends: array<u32>;
@group(0) @binding(2) var<storage, read> source: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<u32>;
@group(0) @binding(2) var<storage, read_write> places: array<u32>;
var<immediate> compact: Compact;

var<workgroup> lanes: array<u32, 256>;
var<workgroup> masks: array<u32, WORDS>;
var<workgroup> before: array<u32, WORDS>;

// The lowest bit of each byte: whether the flag is set. Bytes after the last flag count as not set.
fn mask_of(word: u32) -> u32 {
    if word * 4u >= compact.count {
        return 0u;
    }
    var bits = flags[word];
    bits |= bits >> 4u;
    bits |= bits >> 2u;
    bits |= bits >> 1u;
    return bits & (0x01010101u >> (8u * (4u - min(4u, compact.count - word * 4u))));
}

@compute @workgroup_size(256)
fn count_flags(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    var sum = 0u;
    for (var i = 0u; i < WORDS_PER_LANE; i++) {
        sum += countOneBits(mask_of(group.x * WORDS + i * 256u + lane));
    }
    lanes[lane] = sum;
    for (var half = 128u; half > 0u; half >>= 1u) {
        workgroupBarrier();
        if lane < half {
            lanes[lane] += lanes[lane + half];
        }
    }
    if lane == 0u {
        counts[group.x] = lanes[0];
    }
}

// Fills `masks` and `before`: the flags, and the number of set flags before each word.
fn number_words(block: u32, lane: u32) {
    var sum = 0u;
    for (var i = 0u; i < WORDS_PER_LANE; i++) {
        let word = lane * WORDS_PER_LANE + i;
        let mask = mask_of(block * WORDS + word);
        masks[word] = mask;
        before[word] = sum;
        sum += countOneBits(mask);
    }
    lanes[lane] = sum;
    workgroupBarrier();
    for (var step = 1u; step < 256u; step *= 2u) {
        var total = lanes[lane];
        if lane >= step {
            total += lanes[lane - step];
        }
        workgroupBarrier();
        lanes[lane] = total;
        workgroupBarrier();
    }
    var first = lanes[lane] - sum;
    if block > 0u {
        first += ends[block - 1u];
    }
    for (var i = 0u; i < WORDS_PER_LANE; i++) {
        before[lane * WORDS_PER_LANE + i] += first;
    }
    workgroupBarrier();
}

const NOT_SET = 0xffffffffu;

// The number of a flag among those that are set.
fn number_of(flag: u32) -> u32 {
    let mask = masks[flag / 4u];
    let bit = 1u << (8u * (flag % 4u));
    return select(NOT_SET, before[flag / 4u] + countOneBits(mask & (bit - 1u)), (mask & bit) != 0u);
}

fn element_at(number: u32, word: u32) -> u32 {
    if number == NOT_SET {
        return 0u;
    }
    return source[word];
}

fn write_element(number: u32, part: u32, word: u32) {
    if number != NOT_SET {
        out[compact.base + number * PARTS + part] = word;
    }
}

@compute @workgroup_size(256)
fn compact_elements(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    number_words(group.x, lane);
    for (var flag = lane; flag < BLOCK; flag += 1024u) {
        let a = number_of(flag);
        let b = number_of(flag + 256u);
        let c = number_of(flag + 512u);
        let d = number_of(flag + 768u);
        for (var part = 0u; part < PARTS; part++) {
            let word = (group.x * BLOCK + flag) * PARTS + part;
            // Four loads overlap.
            let a_word = element_at(a, word);
            let b_word = element_at(b, word + 256u * PARTS);
            let c_word = element_at(c, word + 512u * PARTS);
            let d_word = element_at(d, word + 768u * PARTS);
            write_element(a, part, a_word);
            write_element(b, part, b_word);
            write_element(c, part, c_word);
            write_element(d, part, d_word);
        }
    }
}

@compute @workgroup_size(256)
fn compact_places(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    number_words(group.x, lane);
    for (var flag = lane; flag < BLOCK; flag += 256u) {
        let number = number_of(flag);
        if number != NOT_SET {
            places[compact.base + number] = compact.first + group.x * BLOCK + flag;
        }
    }
}
