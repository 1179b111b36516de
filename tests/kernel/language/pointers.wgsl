// Pointers: to local and private memory, to elements and members, and handed to functions.
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;

// Returns n, in a form that no compiler can evaluate: unrolling the loops takes some compilers minutes.
fn rounds(n: u32) -> u32 {
    return min(n, n * arrayLength(&x));
}

fn mix(h: u32, v: u32) -> u32 {
    return (((h << 5u) | (h >> 27u)) ^ v) * 0x9e3779b1u;
}

struct Inner { a: u32, b: vec3<u32> }
struct Outer { first: Inner, rest: array<Inner, 3> }

var<private> state: array<u32, 7>;
var<private> total: u32;

fn bump(p: ptr<function, u32>, n: u32) -> u32 {
    *p += n;
    return *p * 3u;
}

fn bump_all(p: ptr<function, array<u32, 5>>, at: u32) {
    for (var i = 0u; i < rounds(5u); i++) { (*p)[i] = (*p)[(i + at) % 5u] * 2u + i; }
}

fn bump_private(p: ptr<private, u32>) {
    *p = *p * 5u + 1u;
}

fn turn(p: ptr<private, array<u32, 7>>, at: u32) {
    (*p)[at % 7u] ^= (*p)[(at + 3u) % 7u] + 9u;
}

fn swap(p: ptr<function, u32>, q: ptr<function, u32>) {
    let kept = *p;
    *p = *q;
    *q = kept;
}

fn assign(p: ptr<function, Inner>, value: u32) {
    (*p).a += value;
    (*p).b[value % 3u] = value;
    (*p).b.y ^= 5u;
}

@compute @workgroup_size(64) fn to_a_local(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    var own = a;
    let first = bump(&own, 3u);
    let place = &own;
    *place ^= first;
    y[id.x] = bump(place, 1u) ^ own;
}

@compute @workgroup_size(64) fn to_a_local_array(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    var own = array(a, a ^ 1u, 7u, a >> 3u, 0u);
    bump_all(&own, a % 5u);
    let place = &own[a % 5u];
    *place += 11u;
    y[id.x] = mix(mix(own[0], own[1]), mix(own[2], mix(own[3], own[4])));
}

@compute @workgroup_size(64) fn to_private(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    total = a;
    for (var i = 0u; i < rounds(7u); i++) { state[i] = a * i; }
    bump_private(&total);
    turn(&state, a);
    turn(&state, a >> 5u);
    y[id.x] = mix(total, mix(state[0] ^ state[1], state[2] ^ state[3]) + state[4] + state[5] * state[6]);
}

@compute @workgroup_size(64) fn two_of_them(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    var p = a;
    var q = ~a >> 3u;
    swap(&p, &q);
    y[id.x] = mix(p, q);
}

@compute @workgroup_size(64) fn to_a_member(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    var own = Outer(Inner(1u, vec3(a)), array(Inner(2u, vec3(3u)), Inner(a, vec3(4u)), Inner(5u, vec3(6u))));
    let inner = &own.rest[a % 3u];
    (*inner).b.z += a;
    let part = &(*inner).b;
    (*part).x = 9u;
    own.first.b[a % 2u] += 1u;
    let r = own.rest[a % 3u].b;
    y[id.x] = mix(mix(own.first.b.x, own.first.b.y), mix(r.x + r.y, r.z + own.rest[1].b.x));
}

@compute @workgroup_size(64) fn through_two_functions(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    var own = Inner(a, vec3(1u, 2u, a));
    assign(&own, a % 11u);
    assign(&own, a % 7u);
    y[id.x] = mix(mix(own.a, own.b.x), mix(own.b.y, own.b.z));
}
