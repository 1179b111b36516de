// acceleration[i] = sum over j of mass[j] * (position[j] - position[i]) / (|position[j] - position[i]|^2 +
// softening^2)^1.5
//
// One step of bodies that attract each other: velocity += step * acceleration, next = position + step * velocity. A
// body is a vec4: x, y, z and its mass. Every invocation needs every body. The workgroup reads a tile of bodies into
// its memory once, and all of its invocations use it: the array is read once for each workgroup, not for each body.
// Dispatch one invocation per body: covering (number of bodies); then with `now` and `next` exchanged.

struct Params {
    step: f32,
    softening: f32,
}

const TILE = 64u; // Bodies of a tile, and invocations of a workgroup.

@group(0) @binding(0) var<storage, read> now: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> velocity: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> next: array<vec4<f32>>;
var<immediate> params: Params;

var<workgroup> tile: array<vec4<f32>, TILE>;

@compute @workgroup_size(TILE)
fn nbody(@builtin(global_invocation_id) at: vec3<u32>, @builtin(local_invocation_index) rank: u32) {
    let n = arrayLength(&now);
    // Invocations without a body also compute one, since they have to take part in the barriers.
    let mine = now[min(at.x, n - 1u)];
    var acceleration = vec3<f32>();
    for (var first = 0u; first < n; first += TILE) {
        // A body beyond the last one has mass zero, and attracts nothing.
        let k = first + rank;
        tile[rank] = select(vec4<f32>(), now[min(k, n - 1u)], k < n);
        workgroupBarrier();
        for (var j = 0u; j < TILE; j++) {
            let to = tile[j].xyz - mine.xyz;
            let far = inverseSqrt(dot(to, to) + params.softening * params.softening);
            acceleration += tile[j].w * far * far * far * to;
        }
        workgroupBarrier(); // No invocation fills the next tile while others still read this one.
    }
    if at.x >= n {
        return;
    }
    let speed = velocity[at.x].xyz + params.step * acceleration;
    velocity[at.x] = vec4(speed, 0.0);
    next[at.x] = vec4(mine.xyz + params.step * speed, mine.w);
}
