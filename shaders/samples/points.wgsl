// image[y, x] = sum over points of exp(-(distance from the pixel / radius)^2), at most 1
//
// Draws points as dots of light in a grey picture. A point is a vec4 of which the first two numbers count; `centre` is
// in the middle of the picture, and `scale` is half of its height. `radius` is in the units of the points. Dispatch one
// invocation per pixel: covering (width, height).

struct Params {
    width: u32,
    height: u32,
    centre: vec2<f32>,
    scale: f32,
    radius: f32,
}

@group(0) @binding(0) var<storage, read> points_to_draw: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> image: array<f32>;
var<immediate> params: Params;

@compute @workgroup_size(16, 16)
fn points(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x >= params.width || at.y >= params.height {
        return;
    }
    let size = vec2(f32(params.width), f32(params.height));
    let place = (2.0 * vec2<f32>(at.xy) + 1.0 - size) / size.y;
    let pixel = params.centre + params.scale * vec2(place.x, -place.y);
    var light = 0.0;
    for (var i = 0u; i < arrayLength(&points_to_draw); i++) {
        let far = (points_to_draw[i].xy - pixel) / params.radius;
        light += exp(-dot(far, far));
    }
    image[at.y * params.width + at.x] = min(light, 1.0);
}
