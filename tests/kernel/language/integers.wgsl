// Arithmetic of integers at the edges of their range: it wraps, and has no undefined case.
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;

fn mix(h: u32, v: u32) -> u32 {
    return (((h << 5u) | (h >> 27u)) ^ v) * 0x9e3779b1u;
}

@compute @workgroup_size(64) fn wraps(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[2u * id.x];
    let b = x[2u * id.x + 1u];
    let sum = bitcast<i32>(a) + bitcast<i32>(b);
    let product = bitcast<i32>(a) * bitcast<i32>(b);
    let difference = vec2(a, b) - vec2(b, a);
    y[id.x] = mix(mix(mix(bitcast<u32>(sum), bitcast<u32>(product)), difference.x), a * b + difference.y);
}

@compute @workgroup_size(64) fn signs(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[2u * id.x];
    let b = x[2u * id.x + 1u];
    let i = bitcast<i32>(a);
    let j = bitcast<i32>(b);
    let h = mix(bitcast<u32>(-i), bitcast<u32>(abs(i)));
    let k = mix(bitcast<u32>(min(i, j)), bitcast<u32>(max(i, j)));
    let c = bitcast<u32>(clamp(i, min(j, 5), max(j, 5)));
    y[id.x] = mix(mix(mix(h, k), c), bitcast<u32>(sign(i)) + min(a, b) * 3u + max(a, b));
}

@compute @workgroup_size(64) fn compares(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[2u * id.x];
    let b = x[2u * id.x + 1u];
    let i = bitcast<i32>(a);
    let j = bitcast<i32>(b);
    var bits = u32(a < b) | u32(a <= b) << 1u | u32(a == b) << 2u | u32(a != b) << 3u;
    bits |= u32(i < j) << 4u | u32(i >= j) << 5u | u32(i > j) << 6u;
    y[id.x] = bits;
}

@compute @workgroup_size(64) fn divides(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[2u * id.x];
    let b = x[2u * id.x + 1u];
    y[id.x] = mix(a / b, a % b);
}

@compute @workgroup_size(64) fn divides_signed(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[2u * id.x];
    let b = x[2u * id.x + 1u];
    let i = bitcast<i32>(a);
    let j = bitcast<i32>(b);
    y[id.x] = mix(bitcast<u32>(i / j), bitcast<u32>(i % j));
}

@compute @workgroup_size(64) fn divides_in_range(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[2u * id.x];
    let b = x[2u * id.x + 1u];
    let i = bitcast<i32>(a) >> 1u;
    let j = bitcast<i32>(b | 1u);
    let v = vec3(i, -i, i + 7) / vec3(j, 7, -3);
    let r = vec3(i, -i, i + 7) % vec3(j, 7, -3);
    y[id.x] = mix(mix(bitcast<u32>(v.x), bitcast<u32>(v.y - v.z)), bitcast<u32>(r.x + 5 * r.y + 11 * r.z));
}

@compute @workgroup_size(64) fn shifts(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[2u * id.x];
    let b = x[2u * id.x + 1u];
    let n = b & 31u;
    let i = bitcast<u32>(bitcast<i32>(a) >> n);
    let v = vec2(a, b) << vec2(n, 31u - n);
    y[id.x] = mix(mix(mix(a << n, a >> n), i), v.x ^ v.y);
}

@compute @workgroup_size(64) fn shifts_past_the_width(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[2u * id.x];
    let b = x[2u * id.x + 1u];
    // The amount counts modulo 32.
    let i = bitcast<u32>(bitcast<i32>(a) >> b);
    y[id.x] = mix(mix(a << b, a >> b), i);
}

@compute @workgroup_size(64) fn high_product(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[2u * id.x];
    let b = x[2u * id.x + 1u];
    let low = (a & 0xffffu) * (b & 0xffffu);
    let m = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
    let n = (a & 0xffffu) * (b >> 16u) + (m & 0xffffu);
    y[id.x] = (a >> 16u) * (b >> 16u) + (m >> 16u) + (n >> 16u);
}

@compute @workgroup_size(64) fn square_root(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    var root = 0u;
    for (var bit = 1u << 15u; bit > 0u; bit >>= 1u) {
        let larger = root | bit;
        if larger * larger <= a { root = larger; }
    }
    y[id.x] = root;
}

@compute @workgroup_size(64) fn truths(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    let t = bool(a) && !bool(a & 1u);
    let v = vec4(bool(a & 2u), t, a > 7u, false);
    y[id.x] = u32(t) | u32(any(v)) << 1u | u32(all(v.xyz)) << 2u | select(3u, 5u, v.z) << 3u | u32(f32(t)) << 8u;
}
