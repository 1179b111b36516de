// Kernels over floats whose invocations work together.
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

struct Moments {
    n: f32,
    mean: f32,
    squares: f32,
}

var<workgroup> moments: array<Moments, 64>;
var<workgroup> a: array<f32, 64>;

// Mean and variance of 64 numbers, joined in pairs without a second pass.
@compute @workgroup_size(64)
fn mean_and_variance(@builtin(local_invocation_index) i: u32) {
    moments[i] = Moments(1.0, x[i], 0.0);
    for (var half = 32u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if i < half {
            let p = moments[i];
            let q = moments[i + half];
            let n = p.n + q.n;
            let d = q.mean - p.mean;
            moments[i] = Moments(n, p.mean + d * q.n / n, p.squares + q.squares + d * d * p.n * q.n / n);
        }
    }
    if i == 0u {
        y[0] = moments[0].mean;
        y[1] = moments[0].squares / 64.0;
    }
}

// The dot product of x with itself backwards.
@compute @workgroup_size(64)
fn dot_product(@builtin(local_invocation_index) i: u32) {
    a[i] = x[i] * x[63u - i];
    for (var half = 32u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if i < half { a[i] += a[i + half]; }
    }
    if i == 0u { y[0] = a[0]; }
}

// The Walsh-Hadamard transform of 64 numbers.
@compute @workgroup_size(64)
fn walsh_hadamard(@builtin(local_invocation_index) i: u32) {
    a[i] = x[i];
    for (var step = 1u; step < 64u; step *= 2u) {
        workgroupBarrier();
        let other = a[i ^ step];
        let own = a[i];
        workgroupBarrier();
        a[i] = select(own + other, other - own, (i & step) != 0u);
    }
    y[i] = a[i];
}

// Solves a system with 2 on the diagonal and -1 beside it, by cyclic reduction of 63 unknowns; x is the right side.
var<workgroup> lower: array<f32, 65>;
var<workgroup> diagonal: array<f32, 65>;
var<workgroup> right: array<f32, 65>;

@compute @workgroup_size(64)
fn tridiagonal(@builtin(local_invocation_index) i: u32) {
    let row = i + 1u;
    if row < 64u {
        lower[row] = -1.0;
        diagonal[row] = 2.0;
        right[row] = x[i];
    }
    workgroupBarrier();
    // The matrix is symmetric and stays so, so one number stands for both neighbours of a row.
    for (var step = 1u; step < 32u; step *= 2u) {
        if row % (2u * step) == 0u && row < 64u {
            let factor = lower[row - step] / diagonal[row - step];
            diagonal[row] -= 2.0 * factor * lower[row - step];
            right[row] -= factor * (right[row - step] + right[row + step]);
            lower[row] = -factor * lower[row - step];
        }
        workgroupBarrier();
    }
    for (var step = 32u; step > 0u; step /= 2u) {
        if row % (2u * step) == step && row < 64u {
            var known = right[row];
            if row > step { known -= lower[row] * right[row - step]; }
            if row + step < 64u { known -= lower[row] * right[row + step]; }
            right[row] = known / diagonal[row];
        }
        workgroupBarrier();
    }
    if row < 64u { y[i] = right[row]; }
}

// Integrates x from its first to its last place with trapezoids of width 1, a strip for each invocation.
@compute @workgroup_size(64)
fn trapezoids(@builtin(local_invocation_index) i: u32) {
    let n = arrayLength(&x);
    var sum = 0.0;
    for (var at = i; at + 1u < n; at += 64u) { sum += 0.5 * (x[at] + x[at + 1u]); }
    a[i] = sum;
    for (var half = 32u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if i < half { a[i] += a[i + half]; }
    }
    if i == 0u { y[0] = a[0]; }
}

// Second differences, with the ends left alone.
@compute @workgroup_size(64)
fn second_differences(@builtin(global_invocation_id) at: vec3<u32>) {
    let i = at.x;
    if i < arrayLength(&y) { y[i] = x[i] - 2.0 * x[i + 1u] + x[i + 2u]; }
}

// Jacobi's rounds for a heated rod of 64 points, whose ends are kept.
@compute @workgroup_size(64)
fn heated_rod(@builtin(local_invocation_index) i: u32) {
    a[i] = x[i];
    for (var round = 0u; round < 200u; round += 1u) {
        workgroupBarrier();
        var mean = a[i];
        if i > 0u && i < 63u { mean = 0.5 * (a[i - 1u] + a[i + 1u]); }
        workgroupBarrier();
        a[i] = mean;
    }
    y[i] = a[i];
}

// The median of each five neighbours.
@compute @workgroup_size(64)
fn median_of_five(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x >= arrayLength(&y) { return; }
    var five: array<f32, 5>;
    for (var k = 0u; k < 5u; k += 1u) { five[k] = x[at.x + k]; }
    for (var k = 1u; k < 5u; k += 1u) {
        for (var j = k; j > 0u && five[j - 1u] > five[j]; j -= 1u) {
            let kept = five[j];
            five[j] = five[j - 1u];
            five[j - 1u] = kept;
        }
    }
    y[at.x] = five[2];
}
