//! Kernels that require a subgroup size: they run with it, or are refused with both sizes in the message.

use vkarray::kernel::{Error as KernelError, KernelBuilder};
use vkarray::{Groups, Source};

use crate::fixture::{Fixture, contents, skipped};

/// Writes the size of its subgroups, and how many invocations are in each.
const LOOK: &str = "
    override N: u32 = 32;
    @group(0) @binding(0) var<storage, read_write> sizes: array<u32>;
    @group(0) @binding(1) var<storage, read_write> present: array<u32>;
    @compute @workgroup_size(N) fn look(
        @builtin(global_invocation_id) id: vec3<u32>, @builtin(subgroup_size) size: u32,
    ) {
        sizes[id.x] = size;
        present[id.x] = subgroupAdd(1u);
    }";

fn look(fixture: &Fixture) -> KernelBuilder {
    fixture.kernel(Source::wgsl(LOOK))
}

#[test]
fn a_kernel_runs_with_the_subgroup_size_that_it_requires() {
    let fixture = Fixture::open();
    let subgroup = fixture.info().subgroup;
    if !fixture.info().features.subgroup_size_control || !subgroup.required_in_compute || subgroup.operations & 4 == 0 {
        return skipped("a_kernel_runs_with_the_subgroup_size_that_it_requires", "a choice of the subgroup's size");
    }
    let mut size = subgroup.min_size;
    while size <= subgroup.max_size {
        let n = 2 * size;
        let builder = || look(&fixture).workgroup_size([n, 1, 1]).subgroup_size(size).full_subgroups(true);
        let kernel = builder().build().unwrap();
        let text = kernel.signature().to_string();
        assert!(text.starts_with(&format!("look: workgroup {n}×1×1, full subgroups of {size}, needs")), "{text}");
        let (sizes, present) =
            (fixture.zeros::<u32>([3 * n as usize]).unwrap(), fixture.zeros([3 * n as usize]).unwrap());
        kernel.dispatch(fixture.default_stream(), Groups::exact([3, 1, 1]), (&sizes, &present)).unwrap();
        assert_eq!((contents(&sizes), contents(&present)), (vec![size; 3 * n as usize], vec![size; 3 * n as usize]));
        // Each choice gives a kernel, and equal choices give the same kernel.
        let n_kernels = fixture.kernel_cache().len();
        look(&fixture).workgroup_size([n, 1, 1]).build().unwrap();
        assert_eq!(fixture.kernel_cache().len(), n_kernels + 1);
        builder().build().unwrap();
        assert_eq!(fixture.kernel_cache().len(), n_kernels + 1);
        size *= 2;
    }
}

#[test]
fn a_subgroup_size_that_the_device_lacks_is_refused() {
    let fixture = Fixture::open();
    let subgroup = fixture.info().subgroup;
    let refused = |builder: KernelBuilder| builder.build().map(drop).map_err(|error| error.to_string()).unwrap_err();
    let (least, most) = (subgroup.min_size, subgroup.max_size);
    for size in [0, least - 1, 2 * most, u32::MAX] {
        let message =
            format!("kernel `look`: subgroups of {size}, the device has powers of two from {least} to {most}");
        assert_eq!(refused(look(&fixture).subgroup_size(size)), message);
    }
    let x = most + most / 2;
    let message = format!("kernel `look`: full subgroups of {most} need a workgroup whose x is a multiple, not {x}");
    assert_eq!(refused(look(&fixture).workgroup_size([x, 1, 1]).full_subgroups(true)), message);
    let invocations = least * subgroup.max_in_workgroup + least;
    if invocations <= fixture.info().limits.max_compute_work_group_invocations {
        let builder = look(&fixture).workgroup_size([invocations, 1, 1]).subgroup_size(least);
        let error = builder.build().map(drop).unwrap_err();
        assert!(matches!(error, KernelError::SubgroupCount { .. }), "{error}");
    }
}
