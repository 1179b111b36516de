//! Profiles of limits: a request that a small device refuses is refused on a large one, before the driver is called.
//!
//! A file here sets all limits of a profile below the limits of every driver, so that every driver refuses the same
//! requests.

use vkarray::prelude::*;

use crate::fixture::with_limits;

/// Kernels, arrays and launches within the small limits compute correct results. Each request that exceeds a limit is
/// refused with an error that has the small number.
#[test]
fn a_device_behaves_like_a_smaller_one() {
    let limits = r#"{"max_compute_work_group_invocations": 64, "max_compute_shared_memory_size": 1024,
        "max_storage_buffer_range": 65536, "max_buffer_size": 1048576, "max_compute_work_group_count": [100, 100, 100],
        "min_storage_buffer_offset_alignment": 256, "max_push_descriptors": 0}"#;
    with_limits(limits, |ctx| assert_small(&ctx));
}

fn assert_small(ctx: &Context) {
    assert_eq!(ctx.info().limits.max_compute_shared_memory_size, 1024);

    let shader = |size: u32, shared: u32| {
        format!(
            "var<workgroup> tile: array<u32, {shared}>;
             @group(0) @binding(0) var<storage, read_write> x: array<u32>;
             @compute @workgroup_size({size}) fn count(
                 @builtin(global_invocation_id) at: vec3<u32>, @builtin(local_invocation_index) rank: u32,
             ) {{ tile[rank] = at.x; if at.x < arrayLength(&x) {{ x[at.x] = tile[rank] + 1u; }} }}"
        )
    };
    let build = |size, shared| ctx.kernel(Source::wgsl(shader(size, shared))).build();
    let refused = |result: Result<Kernel, vkarray::kernel::Error>, limit: &str| {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(limit), "{error}");
    };
    refused(build(65, 65), "64");
    refused(build(64, 257), "1024");
    let count = build(64, 256).unwrap();

    // 156 workgroups, of which the axis takes 100: the launch is folded.
    let x = ctx.zeros::<u32>(9_973).unwrap();
    count.launch(Groups::covering(9_973), (&x,)).unwrap();
    assert_eq!(x.to_vec().unwrap(), (1..=9_973).collect::<Vec<u32>>());
    let long = ctx.zeros::<u32>(16_385).unwrap();
    let error = count.launch(Groups::covering(1), (&long,)).unwrap_err().to_string();
    assert!(error.contains("65540") && error.contains("65536"), "{error}");
    let error = ctx.zeros::<u8>((1 << 20) + 1).unwrap_err().to_string();
    assert!(error.contains("1048576") || error.contains("1.00 MiB"), "{error}");
}
