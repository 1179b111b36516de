// y[j, i] = x[i, j], of `rows` rows and `columns` columns
//
// A workgroup reads a square tile and writes it turned, so that both sides are contiguous.

const TILE = 8u;

struct Size {
    rows: u32,
    columns: u32,
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
var<immediate> size: Size;

var<workgroup> tile: array<f32, 64>;

@compute @workgroup_size(TILE, TILE)
fn transpose(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let source = group.xy * TILE + local.xy; // Column and row of x.
    if source.x < size.columns && source.y < size.rows {
        tile[local.y * TILE + local.x] = x[source.y * size.columns + source.x];
    }
    workgroupBarrier();
    let goal = group.yx * TILE + local.xy; // Column and row of y.
    if goal.x < size.rows && goal.y < size.columns {
        y[goal.y * size.rows + goal.x] = tile[local.x * TILE + local.y];
    }
}
