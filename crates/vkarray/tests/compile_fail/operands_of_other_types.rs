//! Operands of other element types, literals, shapes and arguments are refused in words that name the way around.
#![deny(deprecated)]

use vkarray::prelude::*;

fn main() -> vkarray::Result<()> {
    let ctx = Context::open_default()?;
    let (x, n) = (ctx.zeros::<f32>([2, 3])?, ctx.zeros::<i32>([2, 3])?);
    let len: usize = 6;
    let _ = &x + &n;
    let _ = &x * 2;
    let _ = &x / len;
    let _ = n.sqrt();
    let _ = ctx.zeros::<f32>([2_i64, 3]);
    let _ = x.sum("rows");
    let _ = x.gt(&x);
    let _ = n.count(..);
    let kernel = ctx.kernel(Source::wgsl("@compute @workgroup_size(64) fn main() {}")).build()?;
    kernel.launch(Groups::covering(len), (&(&x + &x), &len))?;
    Ok(())
}
