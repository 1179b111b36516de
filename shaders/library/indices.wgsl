// position(at) = the place that index `at` names on an axis of `length`; a negative index counts from the end.
//
// The text before this file defines INDEX_WORDS (1 or 2), IS_SIGNED, and MODE: CHECKED indices are known to be in range,
// WRAP takes them modulo the length, CLIP takes the nearest place and has no negative indices.

const CHECKED = 0u;
const WRAP = 1u;
const CLIP = 2u;

// Index `at` as a number of 64 bits, the low word first.
fn index_pair(at: u32) -> vec2<u32> {
    if INDEX_WORDS == 2u {
        return vec2(indices[2u * at], indices[2u * at + 1u]);
    }
    let low = indices[at];
    return vec2(low, select(0u, 0xffffffffu, IS_SIGNED && low >= 0x80000000u));
}

fn is_negative_index(index: vec2<u32>) -> bool {
    return IS_SIGNED && index.y >= 0x80000000u;
}

fn negated_index(index: vec2<u32>) -> vec2<u32> {
    return vec2(~index.x + 1u, ~index.y + u32(index.x == 0u));
}

// Whether an index is in -length..length.
fn is_in_range(index: vec2<u32>, length: u32) -> bool {
    if is_negative_index(index) {
        let size = negated_index(index);
        return size.y == 0u && size.x <= length;
    }
    return index.y == 0u && index.x < length;
}

// The remainder of a division, bit by bit. A rest of 2^31 and more exceeds 2^32 when it is doubled.
fn remainder(value: vec2<u32>, length: u32) -> u32 {
    if value.y == 0u {
        return value.x % length;
    }
    var rest = 0u;
    for (var bit = 64u; bit > 0u; bit--) {
        let word = select(value.x, value.y, bit > 32u);
        let doubled = (rest << 1u) | ((word >> ((bit - 1u) % 32u)) & 1u);
        rest = select(doubled, doubled - length, rest >= 0x80000000u || doubled >= length);
    }
    return rest;
}

fn position(at: u32, length: u32) -> u32 {
    let index = index_pair(at);
    let is_negative = is_negative_index(index);
    if MODE == CLIP {
        if is_negative {
            return 0u;
        }
        return select(min(index.x, length - 1u), length - 1u, index.y != 0u);
    }
    if MODE == WRAP {
        if is_negative {
            let rest = remainder(negated_index(index), length);
            return select(length - rest, 0u, rest == 0u);
        }
        return remainder(index, length);
    }
    return select(index.x, length + index.x, is_negative);
}
