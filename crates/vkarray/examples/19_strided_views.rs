//! Strided views in a kernel: the shader asks for first element, shape and strides, and the call passes `Strided(&view)`.
//!
//! Without `Strided`, a view with gaps is refused as an argument, since a shader sees an array as one piece of memory.
//! The other possibility is to copy the view with `to_contiguous`.

use vkarray::prelude::*;

const ROW_SUMS: &str = "
    struct Layout { first: i32, shape: vec2<u32>, strides: vec2<i32> }
    var<immediate> x_layout: Layout; // The layout of `x`.
    @group(0) @binding(0) var<storage, read> x: array<f32>;
    @group(0) @binding(1) var<storage, read_write> sums: array<f32>;
    @compute @workgroup_size(64) fn row_sums(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x >= x_layout.shape.x { return; }
        var sum = 0.0;
        for (var column = 0u; column < x_layout.shape.y; column++) {
            // Strides may be negative, so the index is a signed number.
            sum += x[x_layout.first + i32(id.x) * x_layout.strides.x + i32(column) * x_layout.strides.y];
        }
        sums[id.x] = sum;
    }";

fn main() -> vkarray::Result<()> {
    let ctx = Context::open_default()?;
    let row_sums = ctx.kernel(Source::wgsl(ROW_SUMS)).build()?;
    let table = ctx.arange(0.0_f32, 35.0, 1.0)?.reshape([5, 7])?;

    for (what, view) in [
        ("the table", table.clone()),
        ("its columns", table.t()),
        ("every other column, backwards", table.slice(s![.., ..;-2])?),
        ("a corner", table.slice(s![1..4, 2..5])?),
    ] {
        let rows = view.shape()[0];
        let sums = ctx.zeros::<f32>(rows)?;
        row_sums.launch(Groups::covering(rows), (Strided(&view), &sums))?;
        let found = sums.to_vec()?;
        println!("{what}: {found:?}");
        // The host sums the elements of the view, which the library copied.
        let expected: Vec<f32> = view.copy_to_host()?.outer_iter().map(|row| row.sum()).collect();
        assert_eq!(found, expected, "{what}");
    }
    Ok(())
}
