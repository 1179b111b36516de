// Vectors and matrices.
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;

fn mix(h: u32, v: u32) -> u32 {
    return (((h << 5u) | (h >> 27u)) ^ v) * 0x9e3779b1u;
}

@compute @workgroup_size(64) fn swizzles(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    let v = vec4(a, a >> 8u, a >> 16u, a >> 24u);
    var w = v.wzyx + v.xxzz;
    w.y = v.r;
    w[a % 4u] += 5u;
    let p = vec3(w.zy, 9u).bgr;
    y[id.x] = mix(mix(w.x, w.y), mix(w.z, w.w)) ^ p[a % 3u];
}

@compute @workgroup_size(64) fn comparisons(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    let v = vec3<i32>(bitcast<i32>(a), bitcast<i32>(a << 7u), bitcast<i32>(a << 19u));
    let below = v < vec3(0, 5, -5);
    let s = select(v, v.zxy, below);
    y[id.x] = u32(all(below)) | u32(any(below)) << 1u | bitcast<u32>(s.x ^ (s.y + 3 * s.z)) << 2u;
}

@compute @workgroup_size(64) fn products(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    let f = vec4(f32(a & 7u), f32(a >> 3u & 7u), f32(a >> 6u & 7u), 1.0);
    let m = mat4x4(f, f.yzwx, f.zwxy, f.wxyz);
    let n = m * transpose(m) + m * 2.0;
    let v = n * f + f * m;
    let d = determinant(mat3x3(f.xyz, f.yzx, vec3(1.0, 2.0, 3.0)));
    y[id.x] = mix(u32(v.x + v.y * 2.0), u32(v.z + v.w * 3.0)) ^ bitcast<u32>(i32(d));
}

@compute @workgroup_size(64) fn computed_columns(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    var m = mat4x3<f32>();
    for (var i = 0u; i < 12u; i++) { m[i % 4u][i / 4u] = f32((a >> i) & 15u); }
    m[a % 4u] = m[(a >> 2u) % 4u] * 2.0;
    let c = m[(a >> 4u) % 4u];
    y[id.x] = u32(c[a % 3u] + m[0].x * 32.0 + m[3][2] * 1024.0);
}

@compute @workgroup_size(64) fn integer_vectors(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    var v = vec3(a, 2u, ~a);
    v *= vec3(3u, a, 5u);
    v = (v << vec3(1u)) ^ (v >> vec3(3u, 4u, 5u)) | vec3(1u);
    v %= vec3(1000u, 77u, a | 1u);
    let d = dot(v, vec3(1u, 2u, 3u));
    y[id.x] = mix(d, v.x ^ v.y ^ v.z) + max(v.x, v.z) - u32(dot(vec2(i32(v.x), -7), vec2(3, 2)));
}
