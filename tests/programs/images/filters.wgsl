// Filters of images: each reads texels or samples, and writes numbers or texels.
@group(0) @binding(0) var image: texture_2d<f32>;
@group(0) @binding(1) var smooth_sampler: sampler;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@group(0) @binding(3) var painted: texture_storage_2d<r32float, write>;
@group(0) @binding(4) var picture: texture_storage_2d<rgba8unorm, write>;
@group(0) @binding(5) var layers: texture_2d_array<f32>;
@group(0) @binding(6) var box: texture_3d<f32>;
@group(0) @binding(7) var line: texture_1d<f32>;
@group(0) @binding(8) var labels: texture_2d<u32>;
@group(0) @binding(9) var changed: texture_storage_2d<r32uint, read_write>;

fn texel(x: i32, y: i32) -> f32 {
    let last = vec2<i32>(textureDimensions(image)) - 1;
    return textureLoad(image, clamp(vec2(x, y), vec2(0), last), 0).x;
}

// The mean of nine texels.
@compute @workgroup_size(8, 8)
fn box_blur(@builtin(global_invocation_id) at: vec3<u32>) {
    let size = textureDimensions(image);
    if any(at.xy >= size) { return; }
    var sum = 0.0;
    for (var dy = -1; dy <= 1; dy += 1) {
        for (var dx = -1; dx <= 1; dx += 1) { sum += texel(i32(at.x) + dx, i32(at.y) + dy); }
    }
    y[at.y * size.x + at.x] = sum / 9.0;
}

// The slope to the right and downwards, by Sobel's weights.
@compute @workgroup_size(8, 8)
fn sobel(@builtin(global_invocation_id) at: vec3<u32>) {
    let size = textureDimensions(image);
    if any(at.xy >= size) { return; }
    let x = i32(at.x);
    let v = i32(at.y);
    var right = 0.0;
    var down = 0.0;
    for (var k = -1; k <= 1; k += 1) {
        let weight = f32(2 - abs(k)) / 8.0;
        right += weight * (texel(x + 1, v + k) - texel(x - 1, v + k));
        down += weight * (texel(x + k, v + 1) - texel(x + k, v - 1));
    }
    y[at.y * size.x + at.x] = select(right + 100.0 * down, 0.0, any(at.xy == vec2(0u)) || any(at.xy + 1u == size));
}

// The greatest of nine texels.
@compute @workgroup_size(8, 8)
fn dilate(@builtin(global_invocation_id) at: vec3<u32>) {
    let size = textureDimensions(image);
    if any(at.xy >= size) { return; }
    var greatest = -1.0;
    for (var k = 0; k < 9; k += 1) { greatest = max(greatest, texel(i32(at.x) + k % 3 - 1, i32(at.y) + k / 3 - 1)); }
    y[at.y * size.x + at.x] = greatest;
}

// Half the size, each texel the mean of four by one sample between them.
@compute @workgroup_size(8, 8)
fn half_size(@builtin(global_invocation_id) at: vec3<u32>) {
    let size = textureDimensions(image) / 2u;
    if any(at.xy >= size) { return; }
    let place = (vec2<f32>(at.xy) + 0.5) / vec2<f32>(size);
    textureStore(painted, at.xy, textureSampleLevel(image, smooth_sampler, place, 0.0));
}

// Mirrored from left to right, into another image.
@compute @workgroup_size(8, 8)
fn mirror(@builtin(global_invocation_id) at: vec3<u32>) {
    let size = textureDimensions(image);
    if all(at.xy < size) { textureStore(painted, at.xy, textureLoad(image, vec2(size.x - 1u - at.x, at.y), 0)); }
}

// A checkerboard of bytes.
@compute @workgroup_size(8, 8)
fn checkers(@builtin(global_invocation_id) at: vec3<u32>) {
    let is_light = (at.x + at.y) % 2u == 1u;
    textureStore(picture, at.xy, select(vec4(0.0), vec4(1.0), is_light));
}

// The sum of the layers at each place.
@compute @workgroup_size(8, 8)
fn sum_of_layers(@builtin(global_invocation_id) at: vec3<u32>) {
    let size = textureDimensions(layers);
    if any(at.xy >= size) { return; }
    var sum = 0.0;
    for (var layer = 0u; layer < textureNumLayers(layers); layer += 1u) { sum += textureLoad(layers, at.xy, layer, 0).x; }
    y[at.y * size.x + at.x] = sum;
}

// The middle of a box between eight texels.
@compute @workgroup_size(4, 4, 4)
fn middles_of_a_box(@builtin(global_invocation_id) at: vec3<u32>) {
    let size = textureDimensions(box);
    if any(at + 1u >= size) { return; }
    let place = (vec3<f32>(at) + 1.0) / vec3<f32>(size);
    y[(at.z * (size.y - 1u) + at.y) * (size.x - 1u) + at.x] = textureSampleLevel(box, smooth_sampler, place, 0.0).x;
}

// A table that is read between its entries.
@compute @workgroup_size(64)
fn look_up(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x >= arrayLength(&y) { return; }
    let n = f32(textureDimensions(line));
    // A quarter of a step for each invocation, from the first entry on.
    y[at.x] = textureSampleLevel(line, smooth_sampler, (0.5 + 0.25 * f32(at.x)) / n, 0.0).x;
}

// The number of neighbours of another label.
@compute @workgroup_size(8, 8)
fn borders(@builtin(global_invocation_id) at: vec3<u32>) {
    let size = textureDimensions(labels);
    if any(at.xy >= size) { return; }
    let own = textureLoad(labels, at.xy, 0).x;
    var n = 0.0;
    if at.x + 1u < size.x && textureLoad(labels, at.xy + vec2(1u, 0u), 0).x != own { n += 1.0; }
    if at.y + 1u < size.y && textureLoad(labels, at.xy + vec2(0u, 1u), 0).x != own { n += 10.0; }
    y[at.y * size.x + at.x] = n;
}

// Counts up in place.
@compute @workgroup_size(8, 8)
fn count_up(@builtin(global_invocation_id) at: vec3<u32>) {
    if all(at.xy < textureDimensions(changed)) {
        textureStore(changed, at.xy, textureLoad(changed, at.xy) + vec4(at.x + 1u, 0u, 0u, 0u));
    }
}
