// y[i] = a * x[i] + y[i]
//
// Dispatch one invocation per element: covering (length of y). If the lengths differ, the shorter one counts.

override WORKGROUP: u32 = 256;

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
var<immediate> a: f32;

@compute @workgroup_size(WORKGROUP)
fn saxpy(@builtin(global_invocation_id) at: vec3<u32>) {
    let i = at.x;
    if i >= min(arrayLength(&x), arrayLength(&y)) {
        return;
    }
    y[i] = a * x[i] + y[i];
}
