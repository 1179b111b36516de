// image[y, x] = colour(n), where n counts the steps z <- z * z + c, from z = 0, that keep |z| <= 2
//
// c is the point of the pixel: `centre` in the middle of the image, `scale` for half its height. Points that are still
// within the circle after MAX_ITER steps are black; all others have the colour of their step. Dispatch one invocation
// per pixel: covering (width, height). centre = (-0.7, 0) and scale = 1.25 show the whole set.

struct Params {
    width: u32,
    height: u32,
    centre: vec2<f32>,
    scale: f32,
}

override MAX_ITER: u32 = 64;

@group(0) @binding(0) var<storage, read_write> image: array<vec4<f32>>;
var<immediate> params: Params;

fn colour(n: u32) -> vec3<f32> {
    // Three ramps, one after the other: blue rises first, red last.
    return clamp(vec3(0.125, 0.1875, 0.25) * f32(n % 32u + 1u) - vec3(1.0, 0.75, 0.0), vec3(0.0), vec3(1.0));
}

@compute @workgroup_size(16, 16)
fn mandelbrot(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x >= params.width || at.y >= params.height {
        return;
    }
    // From pixels to the plane: the middle of the image is zero, and its upper edge is +1.
    let size = vec2(f32(params.width), f32(params.height));
    let place = (2.0 * vec2<f32>(at.xy) + 1.0 - size) / size.y;
    let c = params.centre + params.scale * vec2(place.x, -place.y);

    var z = vec2<f32>();
    var n = 0u;
    // A `for` loop with a limit, left by `break`: the compiler sees that it ends, and adds no check.
    for (var i = 0u; i < MAX_ITER; i++) {
        z = vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c;
        if dot(z, z) > 4.0 {
            break;
        }
        n++;
    }
    let outside = select(0.0, 1.0, n < MAX_ITER);
    image[at.y * params.width + at.x] = vec4(outside * colour(n), 1.0);
}
