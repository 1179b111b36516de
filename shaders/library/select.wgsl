// places[k] = the place of the k-th flag that is set
//
// `flag_changes` sets a flag for each sorted key that differs from the one before it; if NAN_DIFFERS, also for each NaN,
// which has the greatest key. `select_places` writes the places of set flags; `numbers` are the inclusive sums of the
// flags. `invert` writes numbers[i] - 1 to the place order[i]. `run_lengths` writes the distances of places, the last one
// from `count`. The text before this file defines NAN_DIFFERS and `key_order.wgsl`. Each covers (length of its result), but
// `select_places` (number of flags).

struct Select { count: u32 }

@group(0) @binding(0) var<storage, read> keys: array<Key>;
@group(0) @binding(0) var<storage, read> numbers: array<u32>;
@group(0) @binding(1) var<storage, read> order: array<u32>;
@group(0) @binding(2) var<storage, read_write> places: array<u32>;
var<immediate> flags: Select;

@compute @workgroup_size(256)
fn flag_changes(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= flags.count {
        return;
    }
    let key = keys[id.x];
    let is_nan = NAN_DIFFERS && all(vec2(key) == vec2(0xffffffffu));
    places[id.x] = u32(id.x == 0u || is_nan || !is_same(keys[max(id.x, 1u) - 1u], key));
}

@compute @workgroup_size(256)
fn select_places(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= flags.count {
        return;
    }
    let number = numbers[id.x];
    if number != select(0u, numbers[max(id.x, 1u) - 1u], id.x > 0u) {
        places[number - 1u] = id.x;
    }
}

@compute @workgroup_size(256)
fn invert(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < flags.count {
        places[order[id.x]] = numbers[id.x] - 1u;
    }
}

@compute @workgroup_size(256)
fn run_lengths(@builtin(global_invocation_id) id: vec3<u32>) {
    let n = arrayLength(&places);
    if id.x < n {
        var end = flags.count;
        if id.x + 1u < n {
            end = numbers[id.x + 1u];
        }
        places[id.x] = end - numbers[id.x];
    }
}
