// axpy: x = a y + x. nop: nothing, but its signature says that it writes x.
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read> y: array<f32>;
struct Params { n: u32, a: f32 }
var<immediate> params: Params;
@compute @workgroup_size(64) fn axpy(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if i < params.n { x[i] = params.a * y[i] + x[i]; }
}
@compute @workgroup_size(64) fn nop(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x == 0xffffffffu { x[0] = params.a * y[0] + f32(params.n); }
}
