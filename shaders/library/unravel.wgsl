// indices[k] = places[k] / below % length
//
// The index along one axis of flat places in C order; `below` is the number of elements of the axes after it.
// Covers (number of places).

struct Unravel { below: u32, length: u32 }

@group(0) @binding(0) var<storage, read> places: array<u32>;
@group(0) @binding(1) var<storage, read_write> indices: array<u32>;
var<immediate> unravel_by: Unravel;

@compute @workgroup_size(256)
fn unravel(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&places) {
        indices[id.x] = places[id.x] / unravel_by.below % unravel_by.length;
    }
}
