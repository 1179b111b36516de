//! The kernel cache: the same source, constants and device give the same kernel, and any difference gives another
//! kernel.

use std::ptr;
use std::thread;

use vkarray::kernel::KernelLimit;
use vkarray::{Context, Groups, Kernel, Source};

use crate::fixture::{Fixture, contents};

const SCALE: &str = "
    override FACTOR: u32 = 2;
    @id(7) override OFFSET: u32 = 0;
    @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    @compute @workgroup_size(8) fn scale(@builtin(global_invocation_id) id: vec3<u32>) {
        x[id.x] = x[id.x] * FACTOR + OFFSET;
    }";

fn build(ctx: &Context, factor: Option<u32>, offset: Option<(&str, u32)>) -> Kernel {
    let mut builder = ctx.kernel(Source::wgsl(SCALE));
    if let Some(factor) = factor {
        builder = builder.constant("FACTOR", factor);
    }
    if let Some((name, offset)) = offset {
        builder = builder.constant(name, offset);
    }
    builder.build().unwrap()
}

fn is_same(a: &Kernel, b: &Kernel) -> bool {
    ptr::eq(a.signature(), b.signature())
}

#[test]
fn the_same_source_and_constants_give_the_same_kernel() {
    let fixture = Fixture::open();
    let kernel = build(&fixture, Some(3), None);
    assert!(is_same(&kernel, &build(&fixture, Some(3), None)));
    assert!(!is_same(&kernel, &build(&fixture, Some(4), None)));
    assert!(!is_same(&kernel, &build(&fixture, Some(3), Some(("OFFSET", 1)))));
    // SAFETY: the kernel has no shared memory.
    let written = unsafe { fixture.kernel(Source::wgsl(SCALE)).constant("FACTOR", 3_u32).assume_written() };
    assert!(!is_same(&kernel, &written.build().unwrap()));
    let other = Context::on(fixture.device()).unwrap();
    assert!(!is_same(&kernel, &build(&other, Some(3), None)), "contexts have caches of their own");
}

#[test]
fn kernels_have_the_values_of_their_constants() {
    let fixture = Fixture::open();
    // The factor, the offset, and the result for 10.
    let cases = [
        (None, None, 20),
        (Some(3), None, 30),
        (Some(0), None, 0),
        (None, Some(("OFFSET", 5)), 25),
        (Some(7), Some(("7", 1)), 71), // The constant is named by its id.
        (Some(u32::MAX), None, 10_u32.wrapping_mul(u32::MAX)),
    ];
    for (factor, offset, expected) in cases {
        let x = fixture.slice_to_device(&[10_u32; 8]).unwrap();
        build(&fixture, factor, offset).dispatch(fixture.default_stream(), Groups::covering([8]), (&x,)).unwrap();
        assert_eq!(contents(&x), [expected; 8], "{factor:?} {offset:?}");
    }
}

#[test]
fn a_constant_of_an_invalid_value_is_refused() {
    let fixture = Fixture::open();
    let cases = [
        ("FACTOR", -1.0, "kernel `scale`: constant `FACTOR` is u32 and cannot be -1: "),
        ("FACTOR", 1.5, "kernel `scale`: constant `FACTOR` is u32 and cannot be 1.5: "),
        ("FACTRO", 1.0, "kernel `scale`: no constant `FACTRO`; there is `FACTOR`, `OFFSET` (did you mean `FACTOR`?)"),
    ];
    for (name, value, message) in cases {
        let error = fixture.kernel(Source::wgsl(SCALE)).constant(name, value).build().unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn threads_that_build_the_same_kernel_at_once_get_one() {
    let fixture = Fixture::open();
    let kernels: Vec<Kernel> = thread::scope(|scope| {
        let builds: Vec<_> = (0..8).map(|_| scope.spawn(|| build(&fixture, Some(9), None))).collect();
        builds.into_iter().map(|build| build.join().unwrap()).collect()
    });
    assert!(kernels.iter().all(|kernel| is_same(kernel, &kernels[0])));
}

#[test]
fn kernels_beyond_the_limit_are_dropped_but_for_those_in_use() {
    let fixture = Fixture::open();
    let cache = fixture.kernel_cache();
    cache.set_limit(KernelLimit { kernels: 4, ..KernelLimit::default() });
    let x = fixture.slice_to_device(&[1_u32; 8]).unwrap();
    let launch = |kernel: &Kernel| kernel.dispatch(fixture.default_stream(), Groups::covering([8]), (&x,)).unwrap();
    let held = build(&fixture, Some(3), None);
    let recorded = build(&fixture, Some(5), None);
    launch(&recorded);
    drop(recorded);
    for factor in 10..30 {
        drop(build(&fixture, Some(factor), None));
        assert!(cache.len() <= 4, "{:?}", cache.statistics());
    }
    assert!(is_same(&held, &build(&fixture, Some(3), None)), "a kernel with a handle stays in the cache");
    launch(&held);
    assert_eq!(contents(&x), [15; 8]);
    let before = cache.statistics();
    assert!(before.built >= 22 && before.dropped >= 18, "{before:?}");
    drop(build(&fixture, Some(10), None)); // Built again, since the kernel was dropped.
    assert_eq!(cache.statistics().built, before.built + 1);
    let (mut kept, all) = (Vec::new(), 40..50);
    all.clone().for_each(|factor| kept.push(build(&fixture, Some(factor), None)));
    assert!(cache.len() >= kept.len(), "kernels in use are kept beyond the limit");
    assert!(all.zip(&kept).all(|(factor, kernel)| is_same(kernel, &build(&fixture, Some(factor), None))));
    cache.set_limit(KernelLimit { spirv_bytes: 0, ..KernelLimit::default() });
    let weak: Vec<_> = kept.iter().map(Kernel::downgrade).collect();
    drop(kept);
    let last = build(&fixture, Some(60), None);
    assert!(weak.iter().all(|kernel| kernel.upgrade().is_none()), "{:?}", cache.statistics());
    assert!([held, last].iter().all(|kernel| kernel.downgrade().is_alive()));
}
