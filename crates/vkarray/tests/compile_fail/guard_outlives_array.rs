//! The bytes that a host guard shows live no longer than the array.

use vkarray::prelude::*;

fn main() {
    let ctx = Context::open_default().unwrap();
    let guard = {
        let pinned = ctx.pinned_array::<f32>([3]).unwrap();
        pinned.read_on_host().unwrap()
    };
    println!("{}", guard.view());
}
