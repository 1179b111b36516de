// out[i] = start + i * step
//
// There is a kernel for 32-bit integers, signed or not, one for 64-bit integers as two words, the low word first, which
// runs on any device, and one for floats. The kernel for floats is used only if every value and product is exact, so
// that a fused multiply-add gives the same result. The text before this file is `pairs.wgsl`. Dispatch one invocation per
// element: covering (length of the array).

struct Words { start: u32, step: u32 }
struct Pairs { start: vec2<u32>, step: vec2<u32> }
struct Floats { start: f32, step: f32 }

@group(0) @binding(0) var<storage, read_write> words: array<u32>;
@group(0) @binding(0) var<storage, read_write> pairs: array<vec2<u32>>;
@group(0) @binding(0) var<storage, read_write> floats: array<f32>;
var<immediate> of_words: Words;
var<immediate> of_pairs: Pairs;
var<immediate> of_floats: Floats;

@compute @workgroup_size(256)
fn ramp_words(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x < arrayLength(&words) {
        words[at.x] = of_words.start + at.x * of_words.step;
    }
}

@compute @workgroup_size(256)
fn ramp_pairs(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x < arrayLength(&pairs) {
        pairs[at.x] = pair_sum(of_pairs.start, pair_product(vec2(at.x, 0u), of_pairs.step));
    }
}

@compute @workgroup_size(256)
fn ramp_floats(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x < arrayLength(&floats) {
        floats[at.x] = of_floats.start + f32(at.x) * of_floats.step;
    }
}
