// Several small numbers in a word.
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;

fn mix(h: u32, v: u32) -> u32 {
    return (((h << 5u) | (h >> 27u)) ^ v) * 0x9e3779b1u;
}

@compute @workgroup_size(64) fn pack_normalised(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    // The values are odd sixty-fourths, so that no value lies exactly between two results.
    let v = vec4(f32(a & 127u), f32(a >> 7u & 127u), f32(a >> 14u & 127u), f32(a >> 21u & 127u)) * 2.0 - 127.0;
    let w = v / 64.0;
    y[id.x] = mix(mix(pack4x8snorm(w), pack4x8unorm(w)), mix(pack2x16snorm(w.xy), pack2x16unorm(w.zw)));
}

@compute @workgroup_size(64) fn unpack_normalised(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    let u = vec4<u32>(round(unpack4x8unorm(a) * 255.0));
    let s = vec4<i32>(round(unpack4x8snorm(a) * 127.0));
    let v = vec2<u32>(round(unpack2x16unorm(a) * 65535.0));
    let t = vec2<i32>(round(unpack2x16snorm(a) * 32767.0));
    let h = mix(mix(u.x, u.y), mix(u.z, u.w));
    let k = mix(mix(bitcast<u32>(s.x), bitcast<u32>(s.y)), mix(bitcast<u32>(s.z), bitcast<u32>(s.w)));
    y[id.x] = mix(mix(h, k), mix(mix(v.x, v.y), mix(bitcast<u32>(t.x), bitcast<u32>(t.y))));
}

@compute @workgroup_size(64) fn halves_in_a_word(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    let v = vec2(f32(bitcast<i32>(a << 21u) >> 21u), f32(a >> 11u & 1023u) * 0.25);
    let word = pack2x16float(v);
    let back = unpack2x16float(word);
    y[id.x] = mix(word, u32(all(back == v)));
}

@compute @workgroup_size(64) fn bytes_in_a_word(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    let s = vec4(bitcast<i32>(a) >> 24u, bitcast<i32>(a << 8u) >> 20u, bitcast<i32>(a << 20u) >> 20u, 5);
    let u = vec4(a & 511u, a >> 9u & 511u, a >> 18u & 511u, a >> 23u);
    let h = mix(pack4xI8(s), pack4xU8(u));
    let k = mix(pack4xI8Clamp(s), pack4xU8Clamp(u));
    y[id.x] = mix(h, k);
}

@compute @workgroup_size(64) fn bytes_from_a_word(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    let s = unpack4xI8(a);
    let u = unpack4xU8(a);
    y[id.x] = mix(mix(bitcast<u32>(s.x - s.y), bitcast<u32>(s.z * s.w)), mix(u.x + 3u * u.y, u.z * u.w));
}

@compute @workgroup_size(64) fn dots_of_bytes(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[2u * id.x];
    let b = x[2u * id.x + 1u];
    y[id.x] = mix(bitcast<u32>(dot4I8Packed(a, b)), dot4U8Packed(a, b));
}

@compute @workgroup_size(64) fn swapped_bytes(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    let pairs = (a & 0x00ff00ffu) << 8u | (a >> 8u & 0x00ff00ffu);
    y[id.x] = pairs << 16u | pairs >> 16u;
}

@compute @workgroup_size(64) fn casts_of_bits(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    let v = bitcast<vec2<u32>>(bitcast<vec2<i32>>(vec2(a, ~a)));
    let f = bitcast<u32>(bitcast<f32>(a & 0x7f7fffffu | 0x00800000u));
    y[id.x] = mix(mix(v.x, v.y), f);
}
