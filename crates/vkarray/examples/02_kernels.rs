//! A kernel: WGSL in a string, built once, dispatched with arguments that are checked against it.

use vkarray::prelude::*;

const SAXPY: &str = "
    @group(0) @binding(0) var<storage, read> x: array<f32>;
    @group(0) @binding(1) var<storage, read_write> y: array<f32>;
    var<immediate> a: f32;
    override GROUP: u32 = 64;

    @compute @workgroup_size(GROUP)
    fn saxpy(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < arrayLength(&y) { y[id.x] += a * x[id.x]; }
    }";

fn main() -> vkarray::Result<()> {
    let ctx = Context::open_default()?;
    let x = ctx.arange(0.0_f32, 1000.0, 1.0)?;
    let y = ctx.full([1000], 1.0_f32)?;

    // Building translates the shader; a kernel that was built before is found again, also by the next process.
    let saxpy = ctx.kernel(Source::wgsl(SAXPY)).constant("GROUP", 128).build()?;
    println!("{}", saxpy.signature());

    // One invocation for each element. The call returns at once, and `to_vec` waits for the result.
    saxpy.launch(Groups::covering(1000), (&x, &y, 2.0_f32))?;
    assert_eq!(y.to_vec()?[999], 1999.0);

    // Arguments that do not fit are refused before anything runs.
    let integers = ctx.zeros::<i32>([1000])?;
    let refused = saxpy.launch(Groups::covering(1000), (&integers, &y, 2.0_f32));
    println!("refused: {}", refused.expect_err("what does not fit is refused"));
    Ok(())
}
