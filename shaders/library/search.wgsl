// place = the number of sorted keys that precede a key; if RIGHT, also of those that are equal to it
//
// `search_places` writes the place of each key. `search_equal` writes 1 for each key that is among the sorted keys, and 0 for the others; a NaN of a float equals no
// key. If there are more sorted keys than are bound at once, the parts are searched one after the other, and the
// results of earlier parts are added unless `is_first`. The text before this file defines RIGHT, NAN_DIFFERS and
// `key_order.wgsl`. All kernels cover (number of keys).

struct Search { n_sorted: u32, count: u32, is_first: u32 }

@group(0) @binding(0) var<storage, read> sorted_keys: array<Key>;
@group(0) @binding(1) var<storage, read> keys: array<Key>;
@group(0) @binding(2) var<storage, read_write> places: array<u32>;
var<immediate> search: Search;

fn place_of(key: Key) -> u32 {
    var low = 0u;
    var high = search.n_sorted;
    while low < high {
        let probe = low + (high - low) / 2u;
        let found = sorted_keys[probe];
        if precedes(found, key) || (RIGHT && is_same(found, key)) {
            low = probe + 1u;
        } else {
            high = probe;
        }
    }
    return low;
}

// The result of the earlier parts for a key.
fn before(key: u32) -> u32 {
    if search.is_first != 0u {
        return 0u;
    }
    return places[key];
}

@compute @workgroup_size(256)
fn search_places(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < search.count {
        places[id.x] = place_of(keys[id.x]) + before(id.x);
    }
}

@compute @workgroup_size(256)
fn search_equal(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= search.count {
        return;
    }
    let key = keys[id.x];
    let place = place_of(key);
    let is_nan = NAN_DIFFERS && all(vec2(key) == vec2(0xffffffffu));
    let found = sorted_keys[min(place, search.n_sorted - 1u)];
    places[id.x] = before(id.x) | u32(!is_nan && place < search.n_sorted && is_same(found, key));
}
