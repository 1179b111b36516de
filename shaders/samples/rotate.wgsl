// turned[p] = picture at c + R (p - c), where c = the middle of the picture and R turns by `angle`
//
// The picture is an image, which the sampler interpolates; beyond its edges it is what the sampler says. Dispatch one
// invocation per pixel: covering (width, height).

@group(0) @binding(0) var picture: texture_2d<f32>;
@group(0) @binding(1) var how: sampler;
@group(0) @binding(2) var turned: texture_storage_2d<rgba8unorm, write>;
var<immediate> angle: f32;

@compute @workgroup_size(8, 8)
fn rotate(@builtin(global_invocation_id) at: vec3<u32>) {
    let size = vec2<f32>(textureDimensions(picture));
    let middle = 0.5 * size;
    let pixel = vec2<f32>(at.xy) + 0.5;
    let source = middle + mat2x2(cos(angle), -sin(angle), sin(angle), cos(angle)) * (pixel - middle);
    textureStore(turned, at.xy, textureSampleLevel(picture, how, source / size, 0.0)); // Outside of it nothing is stored.
}
