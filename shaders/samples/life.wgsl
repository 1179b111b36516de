// next[y, x] = 1 if the 3 x 3 cells around [y, x] have 3 living ones, or 4 with a living one in the middle; 0 otherwise
//
// One generation of Conway's Game of Life. A cell lives if its value is above 0.5, so any grey picture can be the first
// generation. The world has no border: its left edge meets its right edge, and its upper edge the lower one. Dispatch
// one invocation per cell: covering (width, height); then with the two arrays exchanged.

struct Params {
    width: u32,
    height: u32,
}

@group(0) @binding(0) var<storage, read> now: array<f32>;
@group(0) @binding(1) var<storage, read_write> next: array<f32>;
var<immediate> params: Params;

@compute @workgroup_size(16, 16)
fn life(@builtin(global_invocation_id) at: vec3<u32>) {
    let size = vec2(params.width, params.height);
    if at.x >= size.x || at.y >= size.y {
        return;
    }
    var n_alive = 0u;
    for (var i = 0u; i < 9u; i++) {
        // size - 1 is a step of -1 around the edge: unsigned numbers cannot go below zero.
        let step = vec2(i % 3u, i / 3u) + size - 1u;
        let cell = (at.xy + step) % size;
        n_alive += select(0u, 1u, now[cell.y * size.x + cell.x] > 0.5);
    }
    let i = at.y * size.x + at.x;
    let lives = n_alive == 3u || (n_alive == 4u && now[i] > 0.5);
    next[i] = select(0.0, 1.0, lives);
}
