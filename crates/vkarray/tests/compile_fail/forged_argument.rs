//! What an argument says of its array cannot be changed.

use vkarray::kernel::AsArg;
use vkarray::prelude::*;

fn main() {
    let ctx = Context::open_default().unwrap();
    let x = ctx.zeros::<u32>([64]).unwrap().read_only();
    if let Arg::Array(mut array) = x.as_arg() {
        array.shape.offset += 1 << 20;
        array.shape.is_writable = true;
    }
}
