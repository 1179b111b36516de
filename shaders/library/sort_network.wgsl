// out = the rows of `source`, each in ascending order, equal keys in their former order
//
// A bitonic sorting network in registers, for rows that have fewer keys than `radix.wgsl` has counters. A team sorts
// LANES * ITEMS keys: whole rows, each with space for ROW keys, a power of two. Item i of a lane has key
// lane * ITEMS + i, so that keys less than ITEMS apart are compared without a shuffle.
//
// A step compares each key with the one whose number differs in the bits of a mask, and leaves the smaller one first. Two
// sorted runs become one by a step in which all bits of a number in the run differ, which compares the first key with the
// last one, and one for each lower bit. Keys behind the end of a row are the greatest ones.
//
// The text before this file defines `key_of.wgsl`; `key_order.wgsl`; a team, as for `radix.wgsl`, and `word_across`; TEAMS
// and ITEMS; ROW; HAS_ORDER and `set_order`. SORTS has the steps that sort the keys of a lane, as far as they are of one
// row, and MERGES those for the bits of the items, each a line of text: registers have no numbers that a loop could count.

const THREADS = TEAMS * LANES;
const TEAM_KEYS = LANES * ITEMS;
// The lanes that have a row, or several.
const ROW_LANES = max(ROW / ITEMS, 1u);

struct Rows { n: u32, n_keys: u32 }

@group(0) @binding(0) var<storage, read> source: array<Key>;
@group(0) @binding(1) var<storage, read_write> out: array<Key>;
var<immediate> rows: Rows;

// A key, and the place in its row that it had at first.
struct Placed { key: Key, place: u32 }

// Places order equal keys. Without places, equal keys are the same.
fn comes_before(a: Placed, b: Placed) -> bool {
    return precedes(a.key, b.key) | (HAS_ORDER & is_same(a.key, b.key) & (a.place < b.place));
}

fn key_across(key: Key, mask: u32) -> Key {
    var words = vec2<u32>(key);
    words.x = word_across(words.x, mask);
    if IS_PAIR {
        words.y = word_across(words.y, mask);
    }
    return to_key(words);
}

// The step with a mask of the bits of items.
fn within(keys: ptr<function, array<Placed, ITEMS>>, mask: u32) {
    for (var i = 0u; i < ITEMS; i++) {
        let other = i ^ mask;
        if i < other && comes_before((*keys)[other], (*keys)[i]) {
            let key = (*keys)[i];
            (*keys)[i] = (*keys)[other];
            (*keys)[other] = key;
        }
    }
}

// The step with a mask of the bits of lanes, and one of the bits of items.
fn across(keys: ptr<function, array<Placed, ITEMS>>, lanes: u32, items: u32, is_first: bool) {
    let before = *keys;
    for (var i = 0u; i < ITEMS; i++) {
        var other = before[i ^ items];
        other.key = key_across(other.key, lanes);
        if HAS_ORDER {
            other.place = word_across(other.place, lanes);
        }
        if comes_before(other, before[i]) == is_first {
            (*keys)[i] = other;
        }
    }
}

// The index of a key of the team in all rows, or a number from `n_keys` on for a key behind the end of its row.
fn index_of(first_row: u32, key: u32) -> u32 {
    let at = key % ROW;
    return select(0xffffffffu, (first_row + key / ROW) * rows.n + at, at < rows.n);
}

@compute @workgroup_size(THREADS)
fn sort_network(@builtin(workgroup_id) group: vec3<u32>, invocation: Invocation) {
    let place = place_of(invocation);
    let first_row = (group.x * TEAMS + place.team) * (TEAM_KEYS / ROW);
    var keys: array<Placed, ITEMS>;
    for (var i = 0u; i < ITEMS; i++) {
        // The lanes of a row read neighbours: in which order they have its keys before the first step does not matter.
        let key = (place.lane / ROW_LANES * ITEMS + i) * ROW_LANES + place.lane % ROW_LANES;
        let index = index_of(first_row, key);
        let number = source[min(index, rows.n_keys - 1u)];
        keys[i] = Placed(to_key(key_of(words_of(number))), key % ROW);
        if index >= rows.n_keys {
            keys[i].key = to_key(vec2(0xffffffffu));
        }
    }
    SORTS
    for (var half = 1u; half < ROW_LANES; half *= 2u) {
        across(&keys, 2u * half - 1u, ITEMS - 1u, (place.lane & half) == 0u);
        for (var mask = half / 2u; mask > 0u; mask /= 2u) {
            across(&keys, mask, 0u, (place.lane & mask) == 0u);
        }
        MERGES
    }
    for (var i = 0u; i < ITEMS; i++) {
        let index = index_of(first_row, place.lane * ITEMS + i);
        if index < rows.n_keys {
            let key = vec2<u32>(keys[i].key);
            out[index] = to_key(select(key, words_of(to_key(number_of(key))), vec2(EXACT)));
            set_order(index, keys[i].place);
        }
    }
}
