// y[row, k] = sum over i of x[row, i] * exp(-2 pi i k / n * sqrt(-1)), after log2(n) stages of which this is one
//
// The fast Fourier transform of the rows of an array of complex numbers, in the form of Stockham: each stage adds and
// subtracts pairs that lie n / 2 apart, and writes the two results next to each other, in blocks of `block` = 1, 2, 4,
// ..., n / 2. No stage has to reverse bits. Dispatch covering (n / 2, rows) for each stage, with the two arrays
// exchanged. n is a power of two. sign = -1 transforms; sign = 1 transforms back, without the division by n.

struct Params {
    n: u32,
    rows: u32,
    block: u32,
    sign: f32,
}

@group(0) @binding(0) var<storage, read> x: array<vec2<f32>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec2<f32>>;
var<immediate> params: Params;

fn times(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    return vec2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

@compute @workgroup_size(64)
fn fft(@builtin(global_invocation_id) at: vec3<u32>) {
    let half = params.n / 2u;
    if at.x >= half || at.y >= params.rows {
        return;
    }
    let row = at.y * params.n;
    let first = x[row + at.x];
    let second = x[row + at.x + half];

    let within = at.x % params.block;
    let angle = params.sign * 6.2831853 * f32(at.x - within) / f32(params.n);
    let place = row + 2u * at.x - within;
    y[place] = first + second;
    y[place + params.block] = times(vec2(cos(angle), sin(angle)), first - second);
}
