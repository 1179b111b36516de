// c = a b, of n rows and columns, by tiles
const TILE = 8u;

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
var<immediate> n: u32;

var<workgroup> tile_a: array<f32, 64>;
var<workgroup> tile_b: array<f32, 64>;

@compute @workgroup_size(TILE, TILE)
fn matmul(@builtin(global_invocation_id) at: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let own = local.y * TILE + local.x;
    let is_inside = at.x < n && at.y < n;
    var sum = 0.0;
    for (var first = 0u; first < n; first += TILE) {
        tile_a[own] = 0.0;
        if at.y < n && first + local.x < n {
            tile_a[own] = a[at.y * n + first + local.x];
        }
        tile_b[own] = 0.0;
        if at.x < n && first + local.y < n {
            tile_b[own] = b[(first + local.y) * n + at.x];
        }
        workgroupBarrier();
        for (var k = 0u; k < TILE; k += 1u) {
            sum += tile_a[local.y * TILE + k] * tile_b[k * TILE + local.x];
        }
        workgroupBarrier(); // The next round writes the tiles.
    }
    if is_inside {
        c[at.y * n + at.x] = sum;
    }
}
