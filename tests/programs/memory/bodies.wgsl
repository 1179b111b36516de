// Reads what `blocks.comp` writes, and programs over structs, pointers and shared memory of WGSL.
struct Body {
    place: vec3<f32>,
    mass: f32,
    spin: vec2<f32>,
    id: u32,
}

@group(0) @binding(0) var<storage, read> bodies: array<Body>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<storage, read_write> cells: array<u32>;

@compute @workgroup_size(16)
fn read_bodies(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x >= arrayLength(&y) { return; }
    let body = bodies[at.x];
    y[at.x] = dot(body.place, vec3(1.0, 10.0, 100.0)) + body.mass + body.spin.x * body.spin.y + f32(body.id);
}

fn swap(p: ptr<function, u32>, q: ptr<function, u32>) {
    let kept = *p;
    *p = *q;
    *q = kept;
}

// Rotates three numbers by two exchanges behind pointers.
@compute @workgroup_size(16)
fn swaps(@builtin(global_invocation_id) at: vec3<u32>) {
    if 3u * at.x + 2u >= arrayLength(&cells) { return; }
    var a = cells[3u * at.x];
    var b = cells[3u * at.x + 1u];
    var c = cells[3u * at.x + 2u];
    swap(&a, &b);
    swap(&b, &c);
    cells[3u * at.x] = a;
    cells[3u * at.x + 1u] = b;
    cells[3u * at.x + 2u] = c;
}

// A cellular automaton: rule 90 on 64 cells, which draws Pascal's triangle modulo 2.
var<workgroup> row: array<u32, 66>;

@compute @workgroup_size(64)
fn rule_90(@builtin(local_invocation_index) i: u32) {
    row[i + 1u] = cells[i];
    for (var round = 0u; round < 32u; round += 1u) {
        workgroupBarrier();
        let next = row[i] ^ row[i + 2u];
        workgroupBarrier();
        row[i + 1u] = next;
    }
    cells[i] = row[i + 1u];
}

// The 64 cells of a private array, written through a computed index and read back in reverse.
@compute @workgroup_size(16)
fn private_array(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x >= arrayLength(&cells) { return; }
    var own: array<u32, 64>;
    for (var k = 0u; k < 64u; k += 1u) { own[(5u * k + at.x) % 64u] = k; }
    var sum = 0u;
    for (var k = 64u; k > 0u; k -= 1u) { sum += own[k - 1u]; }
    cells[at.x] = sum + own[at.x % 64u];
}
