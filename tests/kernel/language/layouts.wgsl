// Structs and matrices in buffers, with their padding.
struct Item { a: u32, b: vec3<u32>, c: array<vec2<u32>, 2>, m: mat3x3<f32>, d: u32 }

@group(0) @binding(0) var<storage, read> x: array<Item>;
@group(0) @binding(1) var<storage, read_write> y: array<Item>;

@compute @workgroup_size(8) fn padded(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let item = x[id.x];
    y[id.x].a = item.d;
    y[id.x].b = item.b.zxy;
    y[id.x].c[id.x & 1u] = item.c[1];
    y[id.x].d = item.a + item.c[0].y;
    let m = mat3x3(vec3<f32>(item.b % 16u), vec3(f32(item.a % 8u), 1.0, 2.0), vec3(0.0, 4.0, f32(item.d % 32u)));
    y[id.x].m = transpose(m);
    y[id.x].m[id.x % 3u][1] = 9.0;
}

@compute @workgroup_size(8) fn whole(@builtin(global_invocation_id) id: vec3<u32>) {
    let n = arrayLength(&y);
    if id.x < n {
        y[id.x] = x[n - 1u - id.x];
    }
}
