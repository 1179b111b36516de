//! Pinned and pageable memory: two kinds of copies to the device and back, timed.
//!
//! Memory of the program is pageable: the library copies it through pinned slots. A pinned array needs no such copy.
//! Build with `--release` to compare the times.

use std::time::Instant;

use vkarray::prelude::*;

const N: usize = 1 << 22;

/// Prints how long `copy` takes: the least of five times.
fn time(what: &str, mut copy: impl FnMut() -> vkarray::Result<()>) -> vkarray::Result<()> {
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        copy()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("{what:24} {:6.2} GB/s", (4 * N) as f64 / best / 1e9);
    Ok(())
}

fn main() -> vkarray::Result<()> {
    let ctx = Context::open_default()?;
    let device = ctx.zeros::<f32>([N])?;

    // A pageable source may be changed as soon as the call returns; `synchronize` waits for the device too.
    let mut pageable = vec![1.5_f32; N];
    time("pageable to device", || {
        device.copy_from_slice(&pageable)?;
        ctx.synchronize()
    })?;
    time("device to pageable", || device.copy_to_slice(&mut pageable))?;

    // A pinned array is an array like any other; a guard opens it to the host.
    let pinned = ctx.pinned_array::<f32>([N])?;
    pinned.write_on_host()?.view_mut().fill(2.5);
    time("pinned to device", || {
        device.copy_from_device(&pinned)?;
        ctx.synchronize()
    })?;
    time("device to pinned", || {
        pinned.copy_from_device(&device)?;
        ctx.synchronize()
    })?;

    // While the device copies, the program cannot open the array by mistake: the guard waits for the copy.
    pinned.copy_from_device(&device)?;
    assert_eq!(pinned.read_on_host()?.view()[[N - 1]], 2.5);
    assert_eq!(pageable[N - 1], 1.5);
    Ok(())
}
