// image[y, x] = colour(n), where n counts the steps z <- z * z + c that keep |z| small, from z = scale * (x, y) around
// the middle of the image. Points for which |z| stays small are black.
//
// `scale` is half the height of the view: 1.2 shows the whole set. Dispatch one invocation per pixel: covering
// (width, height). Try c = -0.8 + 0.156i.

struct Params {
    width: u32,
    height: u32,
    c_re: f32,
    c_im: f32,
    scale: f32,
}

override MAX_ITER: u32 = 256;

@group(0) @binding(0) var<storage, read_write> image: array<vec4<f32>>;
var<immediate> params: Params;

// The value of |z|^2 above which the iteration diverges; large, so that the fractional step count below is smooth.
const ESCAPE: f32 = 65536.0;

fn palette(t: f32) -> vec3<f32> {
    // One cosine per channel with its own frequency and phase: white, blue, dark, gold.
    return 0.5 - 0.5 * cos(6.2831853 * (t * vec3(1.0, 0.9, 0.7) + vec3(0.0, 0.07, 0.17)));
}

@compute @workgroup_size(16, 16)
fn julia(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x >= params.width || at.y >= params.height {
        return;
    }
    let size = vec2(f32(params.width), f32(params.height));
    var z = params.scale * (2.0 * vec2<f32>(at.xy) + 1.0 - size) / size.y;
    z.y = -z.y; // The imaginary axis points up; rows are counted downwards.

    var n = 0u;
    while n < MAX_ITER && dot(z, z) <= ESCAPE {
        z = vec2(z.x * z.x - z.y * z.y + params.c_re, 2.0 * z.x * z.y + params.c_im);
        n++;
    }
    var colour = vec3<f32>();
    if dot(z, z) > ESCAPE {
        // |z| is squared in each step, so its double logarithm gives the fraction of a step beyond the limit.
        let steps = max(f32(n) + 4.0 - log2(log2(dot(z, z))), 0.0);
        colour = palette(0.05 + 0.3 * log2(1.0 + 0.2 * steps));
    }
    image[at.y * params.width + at.x] = vec4(colour, 1.0);
}
