// y[i] = exp(x[i]), by 2^n * exp(r) with |r| <= ln(2) / 2 and the series of exp

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn exponential(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x >= arrayLength(&y) {
        return;
    }
    let n = round(x[at.x] * 1.442695);
    let r = (x[at.x] - n * 0.693359375) + n * 2.1219444e-4; // ln(2) in two parts: the first has few bits.
    var series = 1.0;
    for (var k = 9.0; k > 0.0; k -= 1.0) {
        series = 1.0 + series * r / k;
    }
    y[at.x] = ldexp(series, i32(n));
}
