// after[y, x] = 2 now[y, x] - before[y, x]
//             + rate * (now[y - 1, x] + now[y + 1, x] + now[y, x - 1] + now[y, x + 1] - 4 now[y, x])
//
// One step of the wave equation on a membrane. A cell of `before` is read by the invocation that writes it and by no
// other, so `after` takes its place in the same array: dispatch (now, before), then (before, now). The cells at the
// border stay at zero, and reflect waves. `rate` is (speed * time step / cell size)^2; above 0.5 the steps grow without
// limit. One invocation per cell: covering (width, height).

struct Params {
    width: u32,
    height: u32,
    rate: f32,
}

@group(0) @binding(0) var<storage, read> now: array<f32>;
@group(0) @binding(1) var<storage, read_write> before: array<f32>;
var<immediate> params: Params;

@compute @workgroup_size(16, 16)
fn wave(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x >= params.width || at.y >= params.height {
        return;
    }
    let i = at.y * params.width + at.x;
    let is_border = at.x == 0u || at.y == 0u || at.x == params.width - 1u || at.y == params.height - 1u;
    if is_border {
        before[i] = 0.0;
        return;
    }
    let around = now[i - params.width] + now[i + params.width] + now[i - 1u] + now[i + 1u];
    before[i] = 2.0 * now[i] - before[i] + params.rate * (around - 4.0 * now[i]);
}
