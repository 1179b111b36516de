//! The sanitizer: a kernel that is built with checks reports the first fault with its line.

use vkarray::kernel;
use vkarray::prelude::*;

/// A kernel that reads one element too far.
const SHIFT: &str = "
    @group(0) @binding(0) var<storage, read> x: array<u32>;
    @group(0) @binding(1) var<storage, read_write> y: array<u32>;
    @compute @workgroup_size(64)
    fn shift(@builtin(global_invocation_id) id: vec3<u32>) {
        y[id.x] = x[id.x + 1];
    }";

fn main() -> vkarray::Result<()> {
    let ctx = Context::open_default()?;
    let (x, y) = (ctx.arange(0_u32, 64, 1)?, ctx.zeros::<u32>([64])?);
    let source = Source::wgsl(SHIFT).named("shift.wgsl");

    // Without checks, indices stay inside the array, and the fault is silent.
    let shift = ctx.kernel(source.clone()).build()?;
    shift.launch(Groups::covering(64), (&x, &y))?;
    ctx.synchronize()?;

    // With checks, the dispatch waits for the kernel and fails.
    let checked = ctx.kernel(source).sanitize(true).build()?;
    match checked.launch(Groups::covering(64), (&x, &y)) {
        Err(kernel::Error::Found(finding)) => {
            println!("{finding}");
            assert!(finding.to_string().contains("shift.wgsl:6"), "the line of the index");
            Ok(())
        }
        other => Ok(other?),
    }
}
