// One step of Conway's Game of Life on a torus of `rows` by `columns` cells, 1 for alive

struct Size {
    rows: u32,
    columns: u32,
}

@group(0) @binding(0) var<storage, read> cells: array<u32>;
@group(0) @binding(1) var<storage, read_write> next: array<u32>;
var<immediate> size: Size;

@compute @workgroup_size(8, 8)
fn life(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x >= size.columns || at.y >= size.rows {
        return;
    }
    var alive = 0u;
    for (var dy = 0u; dy < 3u; dy += 1u) {
        for (var dx = 0u; dx < 3u; dx += 1u) {
            let x = (at.x + dx + size.columns - 1u) % size.columns;
            let y = (at.y + dy + size.rows - 1u) % size.rows;
            alive += cells[y * size.columns + x];
        }
    }
    let cell = cells[at.y * size.columns + at.x];
    next[at.y * size.columns + at.x] = select(0u, 1u, alive == 3u || (alive == 4u && cell == 1u));
}
