// image[i].rgb = 1 - image[i].rgb; the fourth channel is unchanged.
//
// The negative of an image, in place. Dispatch one invocation per pixel: covering (number of pixels).

@group(0) @binding(0) var<storage, read_write> image: array<vec4<f32>>;

@compute @workgroup_size(64)
fn invert(@builtin(global_invocation_id) at: vec3<u32>) {
    let i = at.x;
    if i >= arrayLength(&image) {
        return;
    }
    image[i] = vec4(1.0 - image[i].rgb, image[i].a);
}
