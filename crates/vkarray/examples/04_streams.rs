//! Streams and events: independent work on two streams, ordered where it uses the same memory, and timed.

use std::time::Instant;

use vkarray::prelude::*;

const SQUARE: &str = "
    @group(0) @binding(0) var<storage, read_write> x: array<f32>;
    @compute @workgroup_size(64) fn square(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < arrayLength(&x) { x[id.x] *= x[id.x]; }
    }";

fn main() -> vkarray::Result<()> {
    let ctx = Context::open_default()?;
    let square = ctx.kernel(Source::wgsl(SQUARE)).build()?;
    let (a, b) = (ctx.full([1 << 16], 3.0_f32)?, ctx.full([1 << 16], 5.0_f32)?);
    let groups = Groups::covering([1 << 16]);

    // Work of two streams may overlap, and calls return before the work is complete.
    let (first, second) = (ctx.stream()?, ctx.stream()?);
    let start = Instant::now();
    square.dispatch(&first, groups, (&a,))?;
    square.dispatch(&second, groups, (&b,))?;
    println!("recorded after {:?}", start.elapsed());

    // Both streams use `a` here: the runtime lets the second stream wait for the first, on the device.
    square.dispatch(&second, groups, (&a,))?;

    // An event is a position in a stream. The host, or another stream, can wait for it.
    let event = ctx.event();
    event.record(&second)?;
    event.synchronize()?;
    println!("done after {:?}", start.elapsed());
    assert_eq!((a.get([7])?, b.get([7])?), (81.0, 25.0));

    // A copy to the host can continue while the program does something else.
    let pending = a.on(&first).copy_to_host_async()?;
    assert_eq!(pending.wait()?[[0]], 81.0);
    Ok(())
}
