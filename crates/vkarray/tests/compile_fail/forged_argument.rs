//! What an argument says of its array cannot be changed, nor put together from parts.

use vkarray::prelude::*;
use vkarray::{ArrayArg, AsArg};

fn main() {
    let ctx = Context::open_default().unwrap();
    let x = ctx.zeros::<u32>([64]).unwrap().read_only();
    if let Arg::Array(mut array) = x.as_arg() {
        array.shape.offset += 1 << 20;
        array.shape.is_writable = true;
        array.shape().is_writable = true;
        let _ = ArrayArg { block: x.block(), shape: *array.shape() };
    }
}
