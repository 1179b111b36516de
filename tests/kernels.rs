//! The shaders that many tests share, and what they compute, on the host.

use vkarray::{Context, DeviceNDArray, Groups, Kernel, Source, Stream};

/// `y = a x + y`, one element an invocation.
pub(crate) const SAXPY: &str = "
    @group(0) @binding(0) var<storage, read> x: array<f32>;
    @group(0) @binding(1) var<storage, read_write> y: array<f32>;
    var<immediate> a: f32;
    @compute @workgroup_size(64) fn saxpy(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < arrayLength(&y) { y[id.x] += a * x[id.x]; }
    }";

/// `sum = source * 3 + sum * 5 + add`, in wrapping integers: neither the order of two calls nor a lost one goes unseen.
const MIX: &str = "
    @group(0) @binding(0) var<storage, read> source: array<u32>;
    @group(0) @binding(1) var<storage, read_write> sum: array<u32>;
    var<immediate> add: u32;
    @compute @workgroup_size(64) fn mix(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < arrayLength(&sum) { sum[id.x] = source[id.x] * 3u + sum[id.x] * 5u + add; }
    }";

/// `x = x * 5 + add`, in place.
pub(crate) const STEP: &str = "
    @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    var<immediate> add: u32;
    @compute @workgroup_size(64) fn step(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < arrayLength(&x) { x[id.x] = x[id.x] * 5u + add; }
    }";

/// `x = x + add`: the one kernel here whose calls commute.
const ADD: &str = "
    @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    var<immediate> add: u32;
    @compute @workgroup_size(64) fn add_to(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < arrayLength(&x) { x[id.x] += add; }
    }";

/// Sixteen xorshift rounds, `n` times, on each element: work that takes as long as one likes.
const SPIN: &str = "
    @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    var<immediate> n: u32;
    fn once(x: u32) -> u32 { let y = x ^ (x << 13); let z = y ^ (y >> 17); return z ^ (z << 5); }
    fn four(x: u32) -> u32 { return once(once(once(once(x)))); }
    @compute @workgroup_size(1) fn spin(@builtin(global_invocation_id) id: vec3<u32>) {
        var value = x[id.x];
        for (var i = 0u; i < n; i++) { value = four(four(four(four(value)))); }
        x[id.x] = value;
    }";

/// Rounds that one iteration of [`spin`] makes.
const ROUNDS: u32 = 16;

/// Iterations of one call in [`keep_busy`]. Lavapipe ends an invocation's loops after 65,535 in all, without a word.
const ITERATIONS: u32 = 60_000;

/// Calls in [`keep_busy`].
const CALLS: u32 = 48;

pub(crate) fn saxpy(ctx: &Context) -> Kernel {
    ctx.kernel(Source::wgsl(SAXPY)).build().unwrap()
}

pub(crate) fn mix(ctx: &Context) -> Kernel {
    ctx.kernel(Source::wgsl(MIX)).build().unwrap()
}

pub(crate) fn mixed(source: u32, sum: u32, add: u32) -> u32 {
    source.wrapping_mul(3).wrapping_add(sum.wrapping_mul(5)).wrapping_add(add)
}

pub(crate) fn step(ctx: &Context) -> Kernel {
    ctx.kernel(Source::wgsl(STEP)).build().unwrap()
}

pub(crate) fn stepped(x: u32, add: u32) -> u32 {
    x.wrapping_mul(5).wrapping_add(add)
}

pub(crate) fn add(ctx: &Context) -> Kernel {
    ctx.kernel(Source::wgsl(ADD)).build().unwrap()
}

pub(crate) fn spin(ctx: &Context) -> Kernel {
    ctx.kernel(Source::wgsl(SPIN)).build().unwrap()
}

/// What `n` iterations of [`spin`] make of `x`.
pub(crate) fn spun(x: u32, n: u32) -> u32 {
    rounds(x, u64::from(n) * u64::from(ROUNDS))
}

/// Gives a stream work on one element that takes far longer than the host needs for a few calls.
pub(crate) fn keep_busy(stream: &Stream, spin: &Kernel, array: &DeviceNDArray<u32>) {
    for _ in 0..CALLS {
        spin.dispatch(stream, Groups::exact([1, 1, 1]), (array, ITERATIONS)).unwrap();
    }
}

/// What [`keep_busy`] makes of `x`.
pub(crate) fn kept_busy(x: u32) -> u32 {
    rounds(x, u64::from(CALLS) * u64::from(ITERATIONS) * u64::from(ROUNDS))
}

/// `n` xorshift rounds, in few steps: a round is linear in the bits, so it is a matrix, which is squared.
fn rounds(mut x: u32, mut n: u64) -> u32 {
    let apply = |matrix: &[u32; 32], x: u32| (0..32).filter(|bit| x >> bit & 1 == 1).fold(0, |y, bit| y ^ matrix[bit]);
    let mut matrix: [u32; 32] = std::array::from_fn(|bit| round(1 << bit));
    while n > 0 {
        if n & 1 == 1 {
            x = apply(&matrix, x);
        }
        matrix = std::array::from_fn(|bit| apply(&matrix, matrix[bit]));
        n >>= 1;
    }
    x
}

fn round(x: u32) -> u32 {
    let y = x ^ x << 13;
    let z = y ^ y >> 17;
    z ^ z << 5
}

#[test]
fn rounds_are_what_a_loop_computes() {
    for n in 0..70 {
        assert_eq!(rounds(7, n), (0..n).fold(7, |x, _| round(x)), "{n} rounds");
    }
}
