// Memory that starts as zero, and large arrays of one invocation.
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;

// Returns n, in a form that no compiler can evaluate: unrolling the loops takes some compilers minutes.
fn rounds(n: u32) -> u32 {
    return min(n, n * arrayLength(&x));
}

fn mix(h: u32, v: u32) -> u32 {
    return (((h << 5u) | (h >> 27u)) ^ v) * 0x9e3779b1u;
}

struct Block { counts: array<u32, 9>, flags: vec4<bool>, last: u32 }

var<private> large: array<u32, 1024>;
var<private> block: Block;
var<private> started: u32 = 5u;
var<workgroup> tile: array<u32, 64>;
var<workgroup> shared_block: Block;
var<workgroup> n: atomic<u32>;
var<workgroup> sheet: array<u32, 1024>;

fn fill(a: u32) {
    for (var i = 0u; i < rounds(1024u); i++) { large[i] += i * a; }
}

@compute @workgroup_size(64) fn private_zeros(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    var h = started;
    for (var i = 0u; i < rounds(9u); i++) { h += block.counts[i]; }
    block.counts[a % 9u] = a;
    started += 1u;
    h += block.last + u32(any(block.flags));
    y[id.x] = mix(h, block.counts[a % 9u] + started);
}

@compute @workgroup_size(64) fn private_thousand(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    fill(a);
    fill(3u);
    var h = 0u;
    for (var i = 0u; i < rounds(1024u); i++) { h = mix(h, large[(i * 37u + a) & 1023u]); }
    y[id.x] = h;
}

@compute @workgroup_size(64) fn local_zeros(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    var cells: array<u32, 33>;
    var b: Block;
    var h = b.last + u32(b.flags.z);
    for (var i = 0u; i < rounds(33u); i++) { h += cells[i]; }
    cells[a % 33u] = 1u;
    for (var i = 0u; i < rounds(9u); i++) { h += b.counts[i]; }
    y[id.x] = h + cells[a % 33u] * a;
}

@compute @workgroup_size(64) fn zero_in_each_round(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    var h = 0u;
    for (var i = 0u; i < rounds(5u); i++) {
        var count: u32;
        var cells: array<u32, 4>;
        count += a;
        cells[i & 3u] += i + 1u;
        h = mix(h, count + cells[0] + cells[1] * 2u + cells[2] * 3u + cells[3] * 5u);
    }
    y[id.x] = h;
}

@compute @workgroup_size(64) fn local_thousand(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    var cells: array<u32, 1024>;
    for (var i = 0u; i < rounds(1024u); i++) { cells[i] = a ^ (i * 2654435761u); }
    // A permutation in place: each cell is exchanged with another.
    for (var i = 0u; i < rounds(1024u); i++) {
        let j = (cells[i] ^ i) & 1023u;
        let kept = cells[i];
        cells[i] = cells[j];
        cells[j] = kept;
    }
    var h = 0u;
    for (var i = 0u; i < rounds(1024u); i++) { h = mix(h, cells[i]); }
    y[id.x] = h;
}

@compute @workgroup_size(64) fn workgroup_zeros(
    @builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) l: u32,
) {
    if l % 3u == 0u { tile[l] = x[id.x]; }
    workgroupBarrier();
    let b = shared_block.counts[l % 9u] + shared_block.last + u32(any(shared_block.flags));
    y[id.x] = tile[63u - l] + b;
}

@compute @workgroup_size(64) fn workgroup_count(
    @builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) l: u32,
) {
    if (x[id.x] & 1u) == 1u { atomicAdd(&n, x[id.x] & 0xffffu); }
    workgroupBarrier();
    y[id.x] = atomicLoad(&n) ^ l;
}

@compute @workgroup_size(64) fn workgroup_thousand(
    @builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) l: u32,
) {
    for (var i = 0u; i < rounds(16u); i++) { sheet[i * 64u + l] = x[id.x] * (i + 1u); }
    workgroupBarrier();
    var h = 0u;
    for (var i = 0u; i < rounds(16u); i++) { h = mix(h, sheet[(l * 16u + i) ^ 5u]); }
    y[id.x] = h;
}
