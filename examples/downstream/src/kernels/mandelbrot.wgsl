// steps[row, column] = steps until z -> z * z + c leaves the disc of radius 2, at most 16

@group(0) @binding(0) var<storage, read_write> steps: array<u32>;
var<immediate> columns: u32;

@compute @workgroup_size(64)
fn mandelbrot(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x >= arrayLength(&steps) {
        return;
    }
    // Multiples of 1/16, so that the first steps are exact on every device.
    let c = vec2(f32(at.x % columns) / 16.0 - 2.0, f32(at.x / columns) / 16.0 - 1.0);
    var z = vec2(0.0);
    var n = 0u;
    while n < 16u && dot(z, z) <= 4.0 {
        z = vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c;
        n += 1u;
    }
    steps[at.x] = n;
}
