// order = the places of a row's keys in ascending order, equal keys in their former order
//
// A merge sort of each row of `n` keys. `sort_blocks` sorts blocks of 256: each key's rank is the number of keys before it.
// `sort_merge` merges runs of `width`: each key finds its rank in the other run by bisection. The text before this file
// defines `key_order.wgsl`. `sort_blocks` has a workgroup for each block, `sort_merge` an invocation for each key.

struct Sort { n: u32, count: u32, width: u32 }

@group(0) @binding(0) var<storage, read> keys: array<Key>;
@group(0) @binding(1) var<storage, read> order: array<u32>;
@group(0) @binding(2) var<storage, read_write> sorted_keys: array<Key>;
@group(0) @binding(3) var<storage, read_write> sorted_order: array<u32>;
var<immediate> sort: Sort;

var<workgroup> block: array<Key, 256>;

@compute @workgroup_size(256)
fn sort_blocks(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let n_blocks = (sort.n + 255u) / 256u;
    let start = group.x % n_blocks * 256u;
    let base = group.x / n_blocks * sort.n + start;
    let length = min(sort.n - start, 256u);
    if lane < length {
        block[lane] = keys[base + lane];
    }
    workgroupBarrier();
    if lane >= length {
        return;
    }
    let key = block[lane];
    var rank = 0u;
    for (var i = 0u; i < length; i++) {
        rank += u32(precedes(block[i], key) || (i < lane && is_same(block[i], key)));
    }
    sorted_keys[base + rank] = key;
    sorted_order[base + rank] = start + lane;
}

@compute @workgroup_size(256)
fn sort_merge(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= sort.count {
        return;
    }
    let base = id.x / sort.n * sort.n;
    let i = id.x - base;
    let key = keys[id.x];
    let start = i / sort.width / 2u * 2u * sort.width;
    let middle = min(start + sort.width, sort.n);
    let end = min(middle + sort.width, sort.n);
    let is_first = i < middle;
    // The other run. A key of the first run comes before equal keys of the second.
    let other = select(start, middle, is_first);
    var low = other;
    var high = select(middle, end, is_first);
    while low < high {
        let probe = (low + high) / 2u;
        let found = keys[base + probe];
        if precedes(found, key) || (!is_first && is_same(found, key)) {
            low = probe + 1u;
        } else {
            high = probe;
        }
    }
    let rank = i - select(middle, start, is_first) + low - other;
    sorted_keys[base + start + rank] = key;
    sorted_order[base + start + rank] = order[id.x];
}
