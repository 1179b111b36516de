// smooth_image[p] = sum over q of w(p, q) * source[q] / sum over q of w(p, q),
// w(p, q) = exp(-|p - q|^2 / (2 sigma_space^2) - |source[p] - source[q]|^2 / (2 sigma_colour^2))
//
// A blur that keeps edges: a pixel q near p counts little if its colour differs from that of p. q runs over the square
// of `radius` pixels around p; pixels outside the image do not count. Dispatch one invocation per pixel: covering
// (width, height).

struct Params {
    width: u32,
    height: u32,
    radius: u32,
    sigma_space: f32,
    sigma_colour: f32,
}

@group(0) @binding(0) var<storage, read> source: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> smooth_image: array<vec4<f32>>;
var<immediate> params: Params;

@compute @workgroup_size(16, 16)
fn bilateral(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x >= params.width || at.y >= params.height {
        return;
    }
    let middle = source[at.y * params.width + at.x];
    // The square around the pixel, cut at the borders of the image.
    let first = at.xy - min(at.xy, vec2(params.radius));
    let end = min(at.xy + params.radius + 1u, vec2(params.width, params.height));

    var sum = vec4<f32>();
    var weights = 0.0;
    for (var y = first.y; y < end.y; y++) {
        for (var x = first.x; x < end.x; x++) {
            let pixel = source[y * params.width + x];
            let step = vec2(f32(x), f32(y)) - vec2<f32>(at.xy);
            let change = pixel - middle;
            let space = dot(step, step) / (2.0 * params.sigma_space * params.sigma_space);
            let colour = dot(change, change) / (2.0 * params.sigma_colour * params.sigma_colour);
            let weight = exp(-space - colour);
            sum += weight * pixel;
            weights += weight;
        }
    }
    // The pixel itself has weight 1, so the sum of the weights is not zero.
    smooth_image[at.y * params.width + at.x] = sum / weights;
}
