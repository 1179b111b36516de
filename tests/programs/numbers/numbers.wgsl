// Programs over numbers, vectors and matrices, whose results are known beforehand.
override FACTOR: f32 = 2.0;
override DEGREE: u32;

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<storage, read_write> words: array<u32>;
@group(0) @binding(3) var<storage, read> vectors: array<vec4<f32>>;

// The geometric sum of a degree that is set from outside, by Horner.
@compute @workgroup_size(64)
fn horner(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x >= arrayLength(&y) { return; }
    var sum = 0.0;
    for (var k = 0u; k <= DEGREE; k += 1u) { sum = sum * x[at.x] + 1.0; }
    y[at.x] = sum;
}

@compute @workgroup_size(64)
fn scaled_by_a_constant(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x < arrayLength(&y) { y[at.x] = FACTOR * x[at.x]; }
}

// The length of a vector, and the distance of its first half from that half exchanged.
@compute @workgroup_size(64)
fn vector_length(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x >= arrayLength(&y) { return; }
    let v = vectors[at.x];
    y[at.x] = length(v) + distance(v.xy, v.yx);
}

// The trace of the square of a rotation, which is twice the cosine of the double angle.
@compute @workgroup_size(64)
fn rotation_twice(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x >= arrayLength(&y) { return; }
    let turn = mat2x2<f32>(cos(x[at.x]), sin(x[at.x]), -sin(x[at.x]), cos(x[at.x]));
    let twice = turn * turn;
    y[at.x] = twice[0][0] + twice[1][1] + determinant(turn) - 1.0;
}

// A power of a matrix by squares: the Fibonacci numbers.
@compute @workgroup_size(32)
fn fibonacci(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x >= arrayLength(&words) { return; }
    var power = vec3(1u, 0u, 1u); // The unit matrix, by the three numbers of a symmetric one.
    var base = vec3(1u, 1u, 0u);
    for (var n = at.x; n > 0u; n /= 2u) {
        if n % 2u == 1u {
            power = vec3(
                power.x * base.x + power.y * base.y,
                power.x * base.y + power.y * base.z,
                power.y * base.y + power.z * base.z,
            );
        }
        base = vec3(
            base.x * base.x + base.y * base.y,
            base.x * base.y + base.y * base.z,
            base.y * base.y + base.z * base.z,
        );
    }
    // F(n + 1) F(n - 1) - F(n) F(n) is 1 or -1 in turns, by Cassini.
    words[at.x] = power.x * power.z - power.y * power.y;
}

// The parts of a float: mantissa and exponent, joined again.
@compute @workgroup_size(64)
fn parts_of_a_float(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x >= arrayLength(&y) { return; }
    let parts = frexp(x[at.x]);
    let whole = modf(x[at.x]);
    y[at.x] = ldexp(parts.fract, parts.exp) + whole.whole + whole.fract;
}

// Grey code and back.
@compute @workgroup_size(64)
fn grey_code(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x >= arrayLength(&words) { return; }
    var code = words[at.x] ^ (words[at.x] >> 1u);
    for (var step = 1u; step < 32u; step *= 2u) { code ^= code >> step; }
    words[at.x] = code;
}

// A Morton code of two coordinates of 8 bits.
@compute @workgroup_size(8, 8)
fn morton(@builtin(global_invocation_id) at: vec3<u32>) {
    var code = 0u;
    for (var bit = 0u; bit < 8u; bit += 1u) {
        code |= ((at.x >> bit) & 1u) << (2u * bit) | ((at.y >> bit) & 1u) << (2u * bit + 1u);
    }
    // A curve that visits each cell once: the sum of all codes is that of 0 to n - 1.
    if code < arrayLength(&words) { words[code] += 1u; }
}

// A linear congruential generator, jumped ahead by squares and undone step by step.
@compute @workgroup_size(64)
fn jump_ahead(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x >= arrayLength(&words) { return; }
    var factor = 1664525u;
    var added = 1013904223u;
    var state = words[at.x];
    for (var n = at.x; n > 0u; n /= 2u) {
        if n % 2u == 1u { state = factor * state + added; }
        added *= factor + 1u;
        factor *= factor;
    }
    let inverse = 4276115653u; // Of 1664525, modulo 2^32.
    for (var n = 0u; n < at.x; n += 1u) { state = (state - 1013904223u) * inverse; }
    words[at.x] = state;
}
