// places[row, i] = the place of one of the k elements that come first in a row, in ascending order of the places
//
// A workgroup has a row of at most ROUNDS elements for each invocation. The k-th key is found digit by digit, from the
// highest: keys that share the digits found so far are counted by their next one. The elements with keys before it come
// first, and as many of those with the same key, in the order of their places, as are missing.
//
// The elements may be those of blocks of longer rows: then `blocks` has the numbers of the k blocks of each row, which
// have `block` elements, and places are those of the longer rows, whose last elements follow the blocks.
//
// The text before this file defines `key_of.wgsl`, `key_order.wgsl`, `team_subgroup.wgsl` or `team_alone.wgsl`, TEAMS,
// N_DIGITS, the digits of eight bits of a key, and ROUNDS, a multiple of four.

const THREADS = TEAMS * LANES;
const DIGITS = 256u;
const DIGITS_OF_LANE = DIGITS / LANES;
const NOTES = ROUNDS * TEAMS;
const KEY_BITS = select((1u << (8u * (N_DIGITS % 4u))) - 1u, 0xffffffffu, N_DIGITS >= 4u);

struct Rows { n: u32, k: u32, block: u32, length: u32 }

@group(0) @binding(0) var<storage, read> source: array<Key>;
@group(0) @binding(1) var<storage, read> blocks: array<u32>;
@group(0) @binding(2) var<storage, read_write> places: array<u32>;
var<immediate> rows: Rows;

var<workgroup> counters: array<atomic<u32>, DIGITS + DIGITS / 32u>;
var<workgroup> chosen: vec2<u32>;

// The lanes of a team with elements that come before the k-th key, and with that key, in each round; and the numbers of
// both kinds of elements, of the team and then of all earlier ones, in halves of a word.
var<workgroup> lanes_before: array<u32, NOTES>;
var<workgroup> lanes_equal: array<u32, NOTES>;
var<workgroup> numbers: array<u32, NOTES + NOTES / 32u>;

// Where a number of an array is, of which lanes read neighbouring parts: in different banks of the memory.
fn spread(i: u32) -> u32 {
    return i + i / 32u;
}

// The digits of a key. Bits above those of numbers of 8 and 16 bits do not count.
fn key_at(at: u32) -> vec2<u32> {
    return key_of(words_of(source[at])) & vec2(KEY_BITS, 0xffffffffu);
}

// The keys of an invocation in four rounds, so that loads overlap. Behind the end of the row they repeat the last one.
fn four_keys(start: u32, at: u32) -> array<vec2<u32>, 4> {
    let last = rows.n - 1u;
    let first = key_at(start + min(at, last));
    let second = key_at(start + min(at + THREADS, last));
    let third = key_at(start + min(at + 2u * THREADS, last));
    return array(first, second, third, key_at(start + min(at + 3u * THREADS, last)));
}

fn word_with(key: vec2<u32>, digit: u32) -> u32 {
    return select(key.x, key.y, IS_PAIR & (digit < 4u));
}

// Counts a key by a digit if it has the digits of `found` that are higher. The first of the lanes with the last lane's digit
// counts for all of them, so that they do not wait for each other where most keys have one digit.
fn count(key: vec2<u32>, at: u32, found: vec2<u32>, digit: u32, place: Place) {
    let by = 8u * (digit % 4u);
    let word = word_with(key, digit);
    let differs = (((word ^ word_with(found, digit)) >> by) >> 8u) != 0u;
    let counts = (at < rows.n) & !differs & (!IS_PAIR | (digit >= 4u) | (key.x == found.x));
    let value = (word >> by) % DIGITS;
    let is_common = value == last_word(value, place);
    let lanes = lanes_where(counts & is_common, place);
    let is_first = (lanes & ((1u << place.lane) - 1u)) == 0u;
    if counts & (is_first | !is_common) {
        atomicAdd(&counters[spread(value)], select(1u, countOneBits(lanes), is_common));
    }
}

// The digit of the key whose number is `left` among those that were counted, and its number among those with the digit.
fn digit_of(left: u32, place: Place) -> vec2<u32> {
    var own = 0u;
    for (var i = 0u; i < DIGITS_OF_LANE; i++) {
        own += atomicLoad(&counters[spread(place.lane * DIGITS_OF_LANE + i)]);
    }
    var before = sum_before(own);
    if place.team == 0u {
        for (var i = 0u; i < DIGITS_OF_LANE; i++) {
            let digit = place.lane * DIGITS_OF_LANE + i;
            let count = atomicLoad(&counters[spread(digit)]);
            if (before < left) & (left <= before + count) {
                chosen = vec2(digit, left - before);
            }
            before += count;
        }
    }
    workgroupBarrier();
    return chosen;
}

// The k-th key of a row that starts at `start`, and its number among its equals.
fn find(start: u32, place: Place) -> vec3<u32> {
    var found = vec2(0u);
    var left = rows.k;
    for (var i = N_DIGITS; i > 0u; i--) {
        for (var digit = place.thread; digit < DIGITS; digit += THREADS) {
            atomicStore(&counters[spread(digit)], 0u);
        }
        workgroupBarrier();
        for (var base = 0u; base < rows.n; base += 4u * THREADS) {
            let at = base + place.thread;
            let keys = four_keys(start, at);
            count(keys[0], at, found, i - 1u, place);
            count(keys[1], at + THREADS, found, i - 1u, place);
            count(keys[2], at + 2u * THREADS, found, i - 1u, place);
            count(keys[3], at + 3u * THREADS, found, i - 1u, place);
        }
        workgroupBarrier();
        let next = digit_of(left, place);
        left = next.y;
        let by = 8u * ((i - 1u) % 4u);
        let word = (word_with(found, i - 1u) & ~(255u << by)) | (next.x << by);
        found = select(vec2(word, found.y), vec2(found.x, word), IS_PAIR & (i <= 4u));
    }
    return vec3(found, left);
}

// Notes which lanes have elements that come before the k-th key, or with this key.
fn note(own: vec2<u32>, at: u32, key: Key, place: Place) {
    let is_element = at < rows.n;
    let before = lanes_where(is_element & precedes(to_key(own), key), place);
    let equal = lanes_where(is_element & is_same(to_key(own), key), place);
    if place.lane == 0u {
        lanes_before[at / LANES] = before;
        lanes_equal[at / LANES] = equal;
        numbers[spread(at / LANES)] = countOneBits(before) | (countOneBits(equal) << 16u);
    }
}

// Adds up `numbers`, of which there are `n`. All teams compute the same, and the first one writes.
fn add_numbers(n: u32, place: Place) {
    let each = (n - 1u) / LANES + 1u;
    let start = place.lane * each;
    let end = min(start + each, n);
    var own = 0u;
    for (var i = start; i < end; i++) {
        own += numbers[spread(i)];
    }
    var sum = sum_before(own);
    workgroupBarrier();
    if place.team == 0u {
        for (var i = start; i < end; i++) {
            let number = numbers[spread(i)];
            numbers[spread(i)] = sum;
            sum += number;
        }
    }
    workgroupBarrier();
}

// The place in the longer row.
fn place_in_row(row: u32, at: u32) -> u32 {
    if rows.block == 0u {
        return at;
    }
    if at >= rows.k * rows.block {
        return rows.length - (rows.n - at);
    }
    return blocks[row * rows.k + at / rows.block] * rows.block + at % rows.block;
}

@compute @workgroup_size(THREADS)
fn select_first(@builtin(workgroup_id) group: vec3<u32>, invocation: Invocation) {
    let place = place_of(invocation);
    let start = group.x * rows.n;
    let found = find(start, place);
    let key = to_key(found.xy);
    for (var base = 0u; base < rows.n; base += 4u * THREADS) {
        let at = base + place.thread;
        let keys = four_keys(start, at);
        note(keys[0], at, key, place);
        note(keys[1], at + THREADS, key, place);
        note(keys[2], at + 2u * THREADS, key, place);
        note(keys[3], at + 3u * THREADS, key, place);
    }
    workgroupBarrier();
    add_numbers((rows.n - 1u) / LANES + 1u, place);
    let bit = 1u << place.lane;
    for (var at = place.thread; at < rows.n; at += THREADS) {
        let team = at / LANES;
        let is_before = (lanes_before[team] & bit) != 0u;
        let is_equal = (lanes_equal[team] & bit) != 0u;
        let n_before = (numbers[spread(team)] & 0xffffu) + countOneBits(lanes_before[team] & (bit - 1u));
        let n_equal = (numbers[spread(team)] >> 16u) + countOneBits(lanes_equal[team] & (bit - 1u));
        if is_before | (is_equal & (n_equal < found.z)) {
            places[group.x * rows.k + n_before + min(n_equal, found.z)] = place_in_row(group.x, at);
        }
    }
}
