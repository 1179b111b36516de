//! A radix sort: 24 launches of three kernels, recorded without waiting. No barrier is written anywhere.

use vkarray::prelude::*;

/// The keys of a workgroup, as in the shaders.
const GROUP: usize = 256;

fn main() -> vkarray::Result<()> {
    let ctx = Context::open_default()?;
    let kernel = |name: &str| {
        let source = vkarray::shaders::sample(name).expect("the sort's kernels are samples");
        ctx.kernel(Source::wgsl(source)).build()
    };
    let (count, scan, scatter) = (kernel("radix_count")?, kernel("scan")?, kernel("radix_scatter")?);

    let n = 10_007;
    let values: Vec<u32> = (0..n).map(|i: u32| i.wrapping_mul(2_654_435_769)).collect();
    let n = values.len();
    let mut keys = ctx.slice_to_device(&values)?;
    let mut sorted = ctx.device_array_like(&keys)?;
    let counts = ctx.device_array::<u32>([16, n.div_ceil(GROUP)])?;
    let places = ctx.device_array_like(&counts)?;

    // Four bits at a time, the lowest first. Each pass keeps the order of keys whose four bits are equal.
    for shift in (0_u32..32).step_by(4) {
        count.launch(Groups::covering(n), (&keys, &counts, shift))?;
        scan.launch(Groups::exact([1, 1, 1]), (&counts, &places))?;
        scatter.launch(Groups::covering(n), (&keys, &places, &sorted, shift))?;
        std::mem::swap(&mut keys, &mut sorted);
    }

    // The host waits only here.
    let found = keys.to_vec()?;
    let mut expected = values;
    expected.sort_unstable();
    println!("the smallest of {n} keys: {:?}", &found[..4]);
    assert_eq!(found, expected);
    Ok(())
}
