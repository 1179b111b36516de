//! An argument is not put together from memory and a description of other memory.

use vkarray::prelude::*;
use vkarray::DType;
use vkarray::kernel::{ArrayArg, ArrayShape};

fn main() {
    let ctx = Context::open_default().unwrap();
    let x = ctx.zeros::<u32>([64]).unwrap();
    let _ = ArrayArg { block: x.block(), shape: ArrayShape::new(DType::U32, &[64], 1 << 20) };
}
