// Floating-point numbers of 16 bits.
enable f16;
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;

fn mix(h: u32, v: u32) -> u32 {
    return (((h << 5u) | (h >> 27u)) ^ v) * 0x9e3779b1u;
}

@compute @workgroup_size(64) fn half_sums(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    let p = f16(a & 63u) * 0.25h;
    let v = vec3<f16>(p, 2.0h, f16(a >> 6u & 15u));
    let w = v * v.zyx + v - vec3(1.5h);
    y[id.x] = mix(u32(i32(w.x * 4.0h)), u32(i32(w.y * 2.0h)) ^ u32(i32(w.z * 4.0h)));
}

@compute @workgroup_size(64) fn half_words(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    let v = vec2<f16>(f16(bitcast<i32>(a << 21u) >> 21u), f16(a >> 11u & 255u));
    y[id.x] = mix(pack2x16float(vec2<f32>(v)), u32(f32(v.y) * 8.0));
}
