// target_image[y, x] = sum over j, i of weights[j, i] * source[y + radius_y - j, x + radius_x - i]
//
// A convolution like `scipy.signal.convolve2d(source, weights, mode="same")`, on four channels at once: pixels outside
// the image count as zero, and the filter is flipped. For a correlation, pass flipped weights.
//
// `source` and `target_image` have height x width pixels, row by row; `weights` has (2 radius_y + 1) rows of
// (2 radius_x + 1) taps without gaps. Dispatch one invocation per pixel: covering (width, height).
// A radius above HALO or above 15 is reduced to that limit: the shared tile is no larger, and the constant memory has
// room for 31 x 31 taps.

struct Params {
    width: u32,
    height: u32,
    radius_x: u32,
    radius_y: u32,
}

override TILE: u32 = 16; // Side of a workgroup, in pixels.
override HALO: u32 = 4; // The largest radius for which the shared tile has room.

@group(0) @binding(0) var<storage, read> source: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> target_image: array<vec4<f32>>;
@group(0) @binding(2) var<uniform> weights: array<vec4<f32>, 256>;
var<immediate> params: Params;

var<workgroup> tile: array<vec4<f32>, (TILE + 2 * HALO) * (TILE + 2 * HALO)>;

// The pixel at column x and row y, zero outside the image. A coordinate left of or above the image has wrapped
// around to a large number, so one comparison per axis is enough for all four borders.
fn pixel(x: u32, y: u32) -> vec4<f32> {
    if x >= params.width || y >= params.height {
        return vec4<f32>();
    }
    return source[y * params.width + x];
}

@compute @workgroup_size(TILE, TILE)
fn convolve(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
    @builtin(local_invocation_index) rank: u32,
) {
    let radius = min(vec2(params.radius_x, params.radius_y), vec2(min(HALO, 15u)));
    let side = TILE + 2u * radius;
    let first = group.xy * TILE - radius;
    for (var k = rank; k < side.x * side.y; k += TILE * TILE) {
        tile[k] = pixel(first.x + k % side.x, first.y + k / side.x);
    }
    workgroupBarrier();

    // The return comes after the barrier, which every invocation must reach, also invocations outside the image.
    let at = group.xy * TILE + local.xy;
    if at.x >= params.width || at.y >= params.height {
        return;
    }
    var sum = vec4<f32>();
    var tap = 0u;
    for (var j = 0u; j <= 2u * radius.y; j++) {
        let row = (local.y + 2u * radius.y - j) * side.x + local.x + 2u * radius.x;
        for (var i = 0u; i <= 2u * radius.x; i++) {
            sum += weights[tap / 4u][tap % 4u] * tile[row - i];
            tap++;
        }
    }
    target_image[at.y * params.width + at.x] = sum;
}
