// Integers of 64 bits.
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;

fn mix(h: u32, v: u32) -> u32 {
    return (((h << 5u) | (h >> 27u)) ^ v) * 0x9e3779b1u;
}

@compute @workgroup_size(64) fn long_products(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[2u * id.x];
    let b = x[2u * id.x + 1u];
    let p = u64(a) * u64(b);
    let q = i64(bitcast<i32>(a)) * i64(bitcast<i32>(b)) - 1li;
    y[id.x] = mix(mix(u32(p), u32(p >> 32u)), mix(u32(u64(q)), u32(u64(q) >> 32u)));
}

@compute @workgroup_size(64) fn long_quotients(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[2u * id.x];
    let b = x[2u * id.x + 1u];
    let n = u64(a) << 32u | u64(b);
    let d = u64(b | 1u);
    let s = (i64(bitcast<i32>(a)) * 65536li) / (i64(bitcast<i32>(b) >> 8u) * 2li + 1li);
    y[id.x] = mix(mix(u32(n / d), u32(n % d)), mix(u32(u64(s)), u32(u64(min(s, 5li)) >> 32u)));
}
