// next[y, x] = now[y, x] + rate * (now[y - 1, x] + now[y + 1, x] + now[y, x - 1] + now[y, x + 1] - 4 now[y, x])
//
// One step of the heat equation on a plate, with explicit differences. The cells at the border keep their temperature.
// `rate` is conductivity * time step / cell size^2; above 0.25 the steps grow without limit. Steps alternate between
// two arrays: dispatch (a, b), then (b, a). One invocation per cell: covering (width, height).

struct Params {
    width: u32,
    height: u32,
    rate: f32,
}

@group(0) @binding(0) var<storage, read> now: array<f32>;
@group(0) @binding(1) var<storage, read_write> next: array<f32>;
var<immediate> params: Params;

@compute @workgroup_size(16, 16)
fn heat(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x >= params.width || at.y >= params.height {
        return;
    }
    let i = at.y * params.width + at.x;
    let is_border = at.x == 0u || at.y == 0u || at.x == params.width - 1u || at.y == params.height - 1u;
    if is_border {
        next[i] = now[i];
        return;
    }
    let around = now[i - params.width] + now[i + params.width] + now[i - 1u] + now[i + 1u];
    next[i] = now[i] + params.rate * (around - 4.0 * now[i]);
}
