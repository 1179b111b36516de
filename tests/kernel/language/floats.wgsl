// Floating-point numbers where the result is exact; and conversions of numbers that do not fit.
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;

fn mix(h: u32, v: u32) -> u32 {
    return (((h << 5u) | (h >> 27u)) ^ v) * 0x9e3779b1u;
}

@compute @workgroup_size(64) fn to_integers(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    let f = bitcast<f32>(a);
    y[id.x] = mix(bitcast<u32>(i32(f)), u32(f));
}

@compute @workgroup_size(64) fn from_integers(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    // A number of 24 bits at any place is a float.
    let n = (a >> 8u) << (a & 7u);
    y[id.x] = mix(bitcast<u32>(f32(n)), bitcast<u32>(f32(-bitcast<i32>(n >> 1u))));
}

@compute @workgroup_size(64) fn rounds(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    let f = f32(bitcast<i32>(a) % 4001) / 4.0;
    let h = mix(bitcast<u32>(i32(floor(f))), bitcast<u32>(i32(ceil(f))));
    let k = mix(bitcast<u32>(i32(trunc(f))), bitcast<u32>(i32(round(f))));
    y[id.x] = mix(mix(h, k), u32(fract(f) * 4.0));
}

@compute @workgroup_size(64) fn infinities(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    let f = bitcast<f32>(a);
    let g = bitcast<f32>(x[(id.x * 5u + 2u) % arrayLength(&x)]);
    y[id.x] = u32(f < g) | u32(f <= g) << 1u | u32(f == g) << 2u | u32(f > g) << 3u | u32(f != g) << 4u | u32(abs(f) > 3.4e38) << 5u;
}

@compute @workgroup_size(64) fn not_numbers(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    let f = bitcast<f32>(a);
    let is_nan = (a & 0x7fffffffu) > 0x7f800000u;
    y[id.x] = u32(f != f) | u32(f == f) << 1u | u32(f < 1.0) << 2u | u32(f >= 1.0) << 3u | u32(is_nan) << 4u;
}

@compute @workgroup_size(64) fn parts(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    let f = f32(bitcast<i32>(a) >> 8u) / 64.0;
    let split = frexp(f);
    let whole = modf(f);
    let h = mix(bitcast<u32>(split.fract + 0.0), bitcast<u32>(split.exp));
    y[id.x] = mix(mix(h, bitcast<u32>(i32(whole.whole))), bitcast<u32>(i32(whole.fract * 64.0)) ^ bitcast<u32>(i32(ldexp(f, 6))));
}

@compute @workgroup_size(64) fn exact_sums(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    let p = f32(a % 2048u);
    let q = f32(bitcast<i32>(a >> 11u) % 2048) - 1000.0;
    let v = fma(p, q, 3.0) + p * q - p;
    y[id.x] = mix(bitcast<u32>(i32(v)), bitcast<u32>(i32((p * 0.5 + q * 0.5) * 2.0 + step(p, q) + clamp(p, 5.0, 100.0) + min(p, q))));
}

@compute @workgroup_size(64) fn remainders(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    let p = f32(bitcast<i32>(a) >> 12u);
    let q = f32(1u << (a & 7u)) * 0.5;
    y[id.x] = mix(bitcast<u32>(i32(p % q * 2.0)), bitcast<u32>(i32(p % -q * 2.0)));
}

@compute @workgroup_size(64) fn halves(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    let f = f32(bitcast<i32>(a) % 2048) * f32(1u << (a & 3u)) / 16.0;
    y[id.x] = bitcast<u32>(i32(quantizeToF16(f) * 16.0));
}

@compute @workgroup_size(64) fn geometry(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    let v = vec3(f32(a & 31u), f32(a >> 5u & 31u) - 16.0, f32(a >> 10u & 31u));
    let w = vec3(2.0, f32(a >> 15u & 31u), -3.0);
    let c = cross(v, w);
    let n = vec3<i32>(c) * vec3(1, 3, 7);
    y[id.x] = bitcast<u32>(i32(dot(v, w)) + n.x + n.y + n.z + i32(round(length(v * 0.0 + vec3(3.0, 4.0, 12.0)))));
}
