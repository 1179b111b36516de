// out[i] = start + i * step
//
// There is a kernel for 32-bit integers, signed or not, one for 64-bit integers as two words, the low word first, which
// runs on any device, and one for floats. The kernel for floats is used only if every value and product is exact, so
// that a fused multiply-add gives the same result. Dispatch one invocation per element: covering (length of the array).

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

// The 64-bit product of two words, from the four products of their halves.
fn wide_product(a: u32, b: u32) -> vec2<u32> {
    let low = (a & 0xffff) * (b & 0xffff);
    let left = (a & 0xffff) * (b >> 16);
    let right = (a >> 16) * (b & 0xffff);
    let middle = (low >> 16) + (left & 0xffff) + (right & 0xffff);
    let high = (a >> 16) * (b >> 16) + (left >> 16) + (right >> 16) + (middle >> 16);
    return vec2((low & 0xffff) | (middle << 16), high);
}

@compute @workgroup_size(256)
fn ramp_pairs(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x < arrayLength(&pairs) {
        var product = wide_product(at.x, of_pairs.step.x);
        product.y += at.x * of_pairs.step.y;
        let low = product.x + of_pairs.start.x;
        let carry = select(0u, 1u, low < product.x);
        pairs[at.x] = vec2(low, product.y + of_pairs.start.y + carry);
    }
}

@compute @workgroup_size(256)
fn ramp_floats(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x < arrayLength(&floats) {
        floats[at.x] = of_floats.start + f32(at.x) * of_floats.step;
    }
}
