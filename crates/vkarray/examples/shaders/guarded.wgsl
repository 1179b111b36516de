// Six kernels that `safety_cost.rs` times with and without bounded loops and zeroed shared memory.
// `EDGE` is the edge of a tile, `GROUP` the number of invocations of a workgroup; what `n` counts is said at each kernel.
// Behind `//zero` stands what zeroes the shared memory by the kernel's own code.

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
var<immediate> n: u32;

const GROUP = 256u;
const EDGE = 16u;

// out = 2 a + out, `n` elements, each invocation in strides of the whole launch.
@compute @workgroup_size(GROUP)
fn saxpy(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < n; i += groups.x * GROUP) {
        out[i] = 2.0 * a[i] + out[i];
    }
}

var<workgroup> left: array<array<f32, EDGE>, EDGE>;
var<workgroup> right: array<array<f32, EDGE>, EDGE>;

// out = a a, `n` rows and columns.
@compute @workgroup_size(EDGE, EDGE)
fn matmul(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    //zero left[local.y][local.x] = 0.0; right[local.y][local.x] = 0.0; workgroupBarrier();
    var sum = 0.0;
    for (var tile = 0u; tile < n; tile += EDGE) {
        left[local.y][local.x] = a[id.y * n + tile + local.x];
        right[local.y][local.x] = a[(tile + local.y) * n + id.x];
        workgroupBarrier();
        for (var k = 0u; k < EDGE; k++) {
            sum += left[local.y][k] * right[k][local.x];
        }
        workgroupBarrier();
    }
    out[id.y * n + id.x] = sum;
}

// Steps until a point of the plane has left the circle of radius 2, `n` rows and columns.
@compute @workgroup_size(EDGE, EDGE)
fn mandelbrot(@builtin(global_invocation_id) id: vec3<u32>) {
    let c = vec2<f32>(id.xy) * (3.0 / f32(n)) - vec2(2.25, 1.5 + a[0] * 0.0);
    var z = vec2(0.0);
    var steps = 0u;
    while steps < 1000u && dot(z, z) < 4.0 {
        z = vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c;
        steps++;
    }
    out[id.y * n + id.x] = f32(steps);
}

var<workgroup> parts: array<f32, GROUP>;

// out[workgroup] = the sum of that workgroup's share of `n` elements of a.
@compute @workgroup_size(GROUP)
fn reduction(
    @builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local_index: u32,
) {
    //zero parts[local_index] = 0.0; workgroupBarrier();
    var sum = 0.0;
    for (var i = id.x; i < n; i += groups.x * GROUP) {
        sum += a[i];
    }
    parts[local_index] = sum;
    workgroupBarrier();
    for (var half = GROUP / 2u; half > 0u; half /= 2u) {
        if local_index < half { parts[local_index] += parts[local_index + half]; }
        workgroupBarrier();
    }
    if local_index == 0u { out[group.x] = parts[0]; }
}

var<workgroup> bins: array<atomic<u32>, GROUP>;

// out[workgroup][bin] = how many of that workgroup's share of `n` elements of a, from 0 to 1, are in a bin.
@compute @workgroup_size(GROUP)
fn histogram(
    @builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local_index: u32,
) {
    //zero atomicStore(&bins[local_index], 0u); workgroupBarrier();
    atomicStore(&bins[local_index], 0u);
    workgroupBarrier();
    for (var i = id.x; i < n; i += groups.x * GROUP) {
        atomicAdd(&bins[min(u32(a[i] * f32(GROUP)), GROUP - 1u)], 1u);
    }
    workgroupBarrier();
    out[group.x * GROUP + local_index] = f32(atomicLoad(&bins[local_index]));
}

var<workgroup> bodies: array<vec4<f32>, GROUP>;

// out = the acceleration of each of `n` bodies, which a holds as x, y, z, mass.
@compute @workgroup_size(GROUP)
fn nbody(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) local_index: u32) {
    //zero bodies[local_index] = vec4(0.0); workgroupBarrier();
    let own = vec3(a[4u * id.x], a[4u * id.x + 1u], a[4u * id.x + 2u]);
    var acceleration = vec3(0.0);
    for (var tile = 0u; tile < n; tile += GROUP) {
        let other = 4u * (tile + local_index);
        bodies[local_index] = vec4(a[other], a[other + 1u], a[other + 2u], a[other + 3u]);
        workgroupBarrier();
        for (var j = 0u; j < GROUP; j++) {
            let body = bodies[j];
            let away = body.xyz - own;
            let distance = inverseSqrt(dot(away, away) + 0.01);
            acceleration += away * (body.w * distance * distance * distance);
        }
        workgroupBarrier();
    }
    out[3u * id.x] = acceleration.x;
    out[3u * id.x + 1u] = acceleration.y;
    out[3u * id.x + 2u] = acceleration.z;
}
