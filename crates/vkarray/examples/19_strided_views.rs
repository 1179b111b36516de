//! Strided views in a kernel: the kernel gets the whole array, and the view's offset and strides as numbers.
//!
//! A view with gaps is refused as an argument, since a shader sees an array as one piece of memory. Copying it with
//! `to_contiguous` is one way; this is the other one.

use vkarray::prelude::*;

const ROW_SUMS: &str = "
    struct View { rows: u32, columns: u32, offset: i32, row_stride: i32, column_stride: i32 }
    var<immediate> view: View;
    @group(0) @binding(0) var<storage, read> x: array<f32>;
    @group(0) @binding(1) var<storage, read_write> sums: array<f32>;
    @compute @workgroup_size(64) fn row_sums(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x >= view.rows { return; }
        var sum = 0.0;
        for (var column = 0u; column < view.columns; column++) {
            // Strides may be negative, so the index is a signed number.
            sum += x[view.offset + i32(id.x) * view.row_stride + i32(column) * view.column_stride];
        }
        sums[id.x] = sum;
    }";

/// The sums of the rows of a view of two axes; `whole` is the contiguous array that it is a view of.
fn row_sums(kernel: &Kernel, whole: &DeviceNDArray<f32>, view: &DeviceNDArray<f32>) -> vkarray::Result<Vec<f32>> {
    let length = |axis: usize| u32::try_from(view.shape()[axis]).expect("the table is small");
    let stride = |axis: usize| i32::try_from(view.strides()[axis]).expect("the table is small");
    let offset = i32::try_from(view.offset() - whole.offset()).expect("the table is small");
    let sums = view.context().zeros::<f32>([view.shape()[0]])?;
    let args = (whole, &sums, length(0), length(1), offset, stride(0), stride(1));
    kernel.launch(Groups::covering(view.shape()[0]), args)?;
    sums.to_vec()
}

fn main() -> vkarray::Result<()> {
    let ctx = Context::open_default()?;
    let kernel = ctx.kernel(Source::wgsl(ROW_SUMS)).build()?;
    let table = ctx.arange(0.0_f32, 35.0, 1.0)?.reshape([5, 7])?;

    for (what, view) in [
        ("the table", table.clone()),
        ("its columns", table.t()),
        ("every other column, backwards", table.slice(s![.., ..;-2])?),
        ("a corner", table.slice(s![1..4, 2..5])?),
    ] {
        let found = row_sums(&kernel, &table, &view)?;
        println!("{what}: {found:?}");
        // The host sums the same view, copied by the library.
        let expected: Vec<f32> = view.copy_to_host()?.outer_iter().map(|row| row.sum()).collect();
        assert_eq!(found, expected, "{what}");
    }
    Ok(())
}
