// Pointers to a part of a variable, handed to functions.
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

var<private> state: array<u32, 6>;

fn bump(p: ptr<function, u32>, n: u32) {
    *p += n;
}

fn bump_private(p: ptr<private, u32>) {
    *p = *p * 5u + 1u;
}

@compute @workgroup_size(64) fn to_an_element(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    var own = array(1u, a, 3u, ~a);
    bump(&own[a & 3u], 5u);
    bump(&own[1], 7u);
    y[id.x] = mix(mix(own[0], own[1]), mix(own[2], own[3]));
}

@compute @workgroup_size(64) fn to_a_part_of_a_struct(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    var own = Pair(a, array(1u, 2u, 3u, 4u));
    bump(&own.a, 5u);
    bump(&own.b[a % 4u], a);
    y[id.x] = mix(own.a, mix(mix(own.b[0], own.b[1]), mix(own.b[2], own.b[3])));
}

@compute @workgroup_size(64) fn to_a_private_element(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    for (var i = 0u; i < rounds(6u); i++) { state[i] = i + a; }
    bump_private(&state[a % 6u]);
    y[id.x] = mix(mix(state[0], state[1]), mix(state[2], state[3])) ^ state[4] * state[5];
}
