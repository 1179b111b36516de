//! The shaders that many tests share, and what they compute, on the host.

use vkarray::{Context, Kernel, Source};

/// `y = a x + y`, one element an invocation.
pub(crate) const SAXPY: &str = "
    @group(0) @binding(0) var<storage, read> x: array<f32>;
    @group(0) @binding(1) var<storage, read_write> y: array<f32>;
    var<immediate> a: f32;
    @compute @workgroup_size(64) fn saxpy(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < arrayLength(&y) { y[id.x] += a * x[id.x]; }
    }";

/// `to = from * 3 + to * 5 + add`, in wrapping integers: neither the order of two calls nor a lost one goes unseen.
const MIX: &str = "
    @group(0) @binding(0) var<storage, read> from: array<u32>;
    @group(0) @binding(1) var<storage, read_write> to: array<u32>;
    var<immediate> add: u32;
    @compute @workgroup_size(64) fn mix(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < arrayLength(&to) { to[id.x] = from[id.x] * 3u + to[id.x] * 5u + add; }
    }";

/// `x = x * 5 + add`, in place.
const STEP: &str = "
    @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    var<immediate> add: u32;
    @compute @workgroup_size(64) fn step(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < arrayLength(&x) { x[id.x] = x[id.x] * 5u + add; }
    }";

/// Applies a linear congruence `n` times to each element: work that takes as long as one likes.
const SPIN: &str = "
    @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    var<immediate> n: u32;
    @compute @workgroup_size(1) fn spin(@builtin(global_invocation_id) id: vec3<u32>) {
        var value = x[id.x];
        for (var i = 0u; i < n; i++) { value = value * 1664525u + 1013904223u; }
        x[id.x] = value;
    }";

/// Rounds of [`spin`] that take a long time on any device, and not so long that a test becomes slow.
pub(crate) const LONG: u32 = 60_000_000;

pub(crate) fn saxpy(ctx: &Context) -> Kernel {
    ctx.kernel(Source::wgsl(SAXPY)).build().unwrap()
}

pub(crate) fn mix(ctx: &Context) -> Kernel {
    ctx.kernel(Source::wgsl(MIX)).build().unwrap()
}

pub(crate) fn mixed(from: u32, to: u32, add: u32) -> u32 {
    from.wrapping_mul(3).wrapping_add(to.wrapping_mul(5)).wrapping_add(add)
}

pub(crate) fn step(ctx: &Context) -> Kernel {
    ctx.kernel(Source::wgsl(STEP)).build().unwrap()
}

pub(crate) fn stepped(x: u32, add: u32) -> u32 {
    x.wrapping_mul(5).wrapping_add(add)
}

pub(crate) fn spin(ctx: &Context) -> Kernel {
    ctx.kernel(Source::wgsl(SPIN)).build().unwrap()
}

/// What `n` rounds of [`spin`] make of `x`, in few steps: the map is affine, so it is squared.
pub(crate) fn spun(x: u32, mut n: u32) -> u32 {
    let (mut factor, mut addend) = (1_664_525_u32, 1_013_904_223_u32);
    let mut x = x;
    while n > 0 {
        if n & 1 == 1 {
            x = x.wrapping_mul(factor).wrapping_add(addend);
        }
        addend = addend.wrapping_mul(factor.wrapping_add(1));
        factor = factor.wrapping_mul(factor);
        n >>= 1;
    }
    x
}

#[test]
fn spun_is_what_the_loop_computes() {
    for n in 0..70 {
        let looped = (0..n).fold(7_u32, |x, _| x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        assert_eq!(spun(7, n), looped, "{n} rounds");
    }
}
