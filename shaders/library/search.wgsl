// result = the number of sorted keys that precede a key; if RIGHT, also of those that are equal to it
//
// If IS_MEMBERSHIP, the result is not the number but 1 for a key that is among the sorted keys, and 0 for others; a NaN
// of a float equals no key. If there are more sorted keys than are bound at once, the parts are searched one after the
// other, and the results of earlier parts are added unless `is_first`.
//
// The sorted keys are BUCKETS of equal length, a power of two. A workgroup keeps the last key of each in shared memory, of
// which the lanes of a subgroup read different ones at once, and searches there first. Any number of workgroups shares the
// keys. The text before this file defines `key_of.wgsl`, `key_order.wgsl`, BUCKETS, RIGHT, IS_MEMBERSHIP, IS_FLOAT, and
// SORTED_NUMBERS and NUMBERS, which say whether the sorted and the searched keys are given as numbers, the low word of 64
// bits first.

struct Search { n_sorted: u32, count: u32, is_first: u32 }

@group(0) @binding(0) var<storage, read> sorted_keys: array<Key>;
@group(0) @binding(1) var<storage, read> keys: array<Key>;
@group(0) @binding(2) var<storage, read_write> results: array<u32>;
var<immediate> search: Search;

const THREADS = 256u;

// The last key of each bucket but the last one.
var<workgroup> ends: array<Key, BUCKETS>;

fn as_key(word: Key, is_number: bool) -> Key {
    return select(word, to_key(key_of(words_of(word))), is_number);
}

fn sorted_key(at: u32) -> Key {
    return as_key(sorted_keys[at], SORTED_NUMBERS);
}

// Whether a key's place is behind a sorted key.
fn is_behind(found: Key, key: Key) -> bool {
    return precedes(found, key) | (RIGHT & is_same(found, key));
}

fn bucket_length() -> u32 {
    return (search.n_sorted - 1u) / BUCKETS + 1u;
}

fn load_ends(thread: u32) {
    for (var i = thread; i + 1u < BUCKETS; i += THREADS) {
        ends[i] = sorted_key(min((i + 1u) * bucket_length(), search.n_sorted) - 1u);
    }
    workgroupBarrier();
}

fn place_of(key: Key) -> u32 {
    var bucket = 0u;
    for (var half = BUCKETS / 2u; half > 0u; half /= 2u) {
        bucket += select(0u, half, is_behind(ends[bucket + half - 1u], key));
    }
    var low = min(bucket * bucket_length(), search.n_sorted);
    var high = min(low + bucket_length(), search.n_sorted);
    while low < high {
        let probe = low + (high - low) / 2u;
        let is_after = is_behind(sorted_key(probe), key);
        low = select(low, probe + 1u, is_after);
        high = select(probe, high, is_after);
    }
    return low;
}

fn result(key: Key) -> u32 {
    let place = place_of(key);
    let is_nan = IS_FLOAT & all(vec2(key) == vec2(0xffffffffu));
    let found = sorted_key(min(place, search.n_sorted - 1u));
    let is_member = !is_nan & (place < search.n_sorted) & is_same(found, key);
    return select(place, u32(is_member), IS_MEMBERSHIP);
}

@compute @workgroup_size(THREADS)
fn search_keys(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    load_ends(thread);
    for (var i = group.x * THREADS + thread; i < search.count; i += groups.x * THREADS) {
        var sum = result(as_key(keys[i], NUMBERS));
        if search.is_first == 0u {
            sum += results[i];
        }
        results[i] = sum;
    }
}
