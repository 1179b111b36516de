// first[0] = the smallest position of an index that is not in -length..length, or the places that indices name
//
// `first` starts as the number of indices; the bound range of indices begins with index `start`. The text before this
// file defines `indices.wgsl`.
// Covers (number of indices).

struct Check { start: u32, count: u32, length: u32 }

@group(0) @binding(0) var<storage, read> indices: array<u32>;
@group(0) @binding(1) var<storage, read_write> first: array<atomic<u32>>;
@group(0) @binding(1) var<storage, read_write> places: array<u32>;
var<immediate> check: Check;

@compute @workgroup_size(256)
fn index_check(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < check.count && !is_in_range(index_pair(id.x), check.length) {
        atomicMin(&first[0], check.start + id.x);
    }
}

@compute @workgroup_size(256)
fn index_places(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < check.count {
        places[id.x] = position(id.x, check.length);
    }
}
