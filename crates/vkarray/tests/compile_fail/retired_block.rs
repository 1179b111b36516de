//! The tracking of a block is not ended from outside: the device would forget who uses its bytes.

use vkarray::prelude::*;

fn main() {
    let ctx = Context::open_default().unwrap();
    let x = ctx.zeros::<u32>([64]).unwrap();
    let _ = ctx.device().retire_block(x.block().id());
}
