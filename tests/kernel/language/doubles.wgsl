// Floating-point numbers of 64 bits.
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;

fn mix(h: u32, v: u32) -> u32 {
    return (((h << 5u) | (h >> 27u)) ^ v) * 0x9e3779b1u;
}

@compute @workgroup_size(64) fn double_sums(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[2u * id.x];
    let b = x[2u * id.x + 1u];
    let p = f64(a) * 0.5lf + f64(bitcast<i32>(b));
    let q = p * 4.0lf - f64(a);
    y[id.x] = mix(u32(i32(floor(p / 65536.0lf))), u32(abs(q) / 1048576.0lf));
}
