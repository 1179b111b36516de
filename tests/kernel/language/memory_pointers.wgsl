// Pointers to workgroup and storage memory, handed to functions.
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;

// Returns n, in a form that no compiler can evaluate: unrolling the loops takes some compilers minutes.
fn rounds(n: u32) -> u32 {
    return min(n, n * arrayLength(&x));
}

fn mix(h: u32, v: u32) -> u32 {
    return (((h << 5u) | (h >> 27u)) ^ v) * 0x9e3779b1u;
}

struct Pair { a: u32, b: array<u32, 4> }

var<workgroup> tile: array<u32, 64>;
var<workgroup> pairs: array<Pair, 16>;

fn total(p: ptr<workgroup, array<u32, 64>>) -> u32 {
    var sum = 0u;
    for (var i = 0u; i < rounds(64u); i++) { sum += (*p)[i] * (i + 1u); }
    return sum;
}

fn put(p: ptr<workgroup, u32>, value: u32) {
    *p = value;
}

fn word(p: ptr<storage, array<u32>>, i: u32) -> u32 {
    return (*p)[i % arrayLength(p)];
}

fn write_word(p: ptr<storage, u32, read_write>, value: u32) {
    *p = value;
}

@compute @workgroup_size(64) fn to_workgroup_memory(
    @builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) l: u32,
) {
    put(&tile[63u - l], x[id.x]);
    put(&pairs[l / 4u].b[l % 4u], x[id.x] ^ l);
    workgroupBarrier();
    y[id.x] = mix(total(&tile), pairs[l % 16u].b[l / 16u]);
}

@compute @workgroup_size(64) fn to_storage(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    y[id.x] = mix(word(&x, a), word(&x, id.x + 5u));
}

@compute @workgroup_size(64) fn to_a_storage_element(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&y) {
        write_word(&y[id.x], x[id.x] * 3u);
    }
}
