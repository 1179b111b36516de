// image[i] = colour((field[i] - low) / (high - low))
//
// Shows numbers as colours: `low` and smaller numbers are dark blue, `high` and larger numbers are yellow. Dispatch one
// invocation per element: covering (length of field); the image has four channels for each.

struct Params {
    low: f32,
    high: f32,
}

@group(0) @binding(0) var<storage, read> field: array<f32>;
@group(0) @binding(1) var<storage, read_write> image: array<vec4<f32>>;
var<immediate> params: Params;

@compute @workgroup_size(64)
fn colour_map(@builtin(global_invocation_id) at: vec3<u32>) {
    var colours = array<vec3<f32>, 5>(
        vec3(0.05, 0.03, 0.25),
        vec3(0.35, 0.05, 0.5),
        vec3(0.8, 0.2, 0.35),
        vec3(0.97, 0.55, 0.2),
        vec3(0.98, 0.95, 0.6),
    );
    if at.x >= min(arrayLength(&field), arrayLength(&image)) {
        return;
    }
    // The colour between two colours of the table, in proportion.
    let place = 4.0 * clamp((field[at.x] - params.low) / (params.high - params.low), 0.0, 1.0);
    let first = min(u32(place), 3u);
    image[at.x] = vec4(mix(colours[first], colours[first + 1u], place - f32(first)), 1.0);
}
