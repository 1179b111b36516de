// y[row, i] = (x[row, i - 1] + 2 * x[row, i] + x[row, i + 1]) / 4, with the ends repeated

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
var<immediate> columns: u32;

@compute @workgroup_size(64)
fn blur(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x >= arrayLength(&y) {
        return;
    }
    let row = at.x / columns * columns;
    let left = max(at.x, row + 1u) - 1u;
    let right = min(at.x + 1u, row + columns - 1u);
    y[at.x] = 0.25 * x[left] + 0.5 * x[at.x] + 0.25 * x[right];
}
