//! Arrays: made on the device or copied to it, seen through views, printed, copied back.

use vkarray::ndarray::arr2;
use vkarray::prelude::*;

fn main() -> vkarray::Result<()> {
    let ctx = Context::open_default()?;
    println!("running on {}", ctx.info().name);

    // Arrays are made as in NumPy. They have a shape, and live in the device's memory.
    let numbers = ctx.arange(0_u32, 12, 1)?;
    let table = numbers.reshape([3, 4])?;
    println!("{table}");

    // Views share memory: no element is copied, and a change is seen through all of them.
    let every_other = table.slice(s![.., ..;2])?;
    let turned = table.transpose(None)?;
    every_other.fill(100)?;
    assert_eq!(numbers.to_vec()?, [100, 1, 100, 3, 100, 5, 100, 7, 100, 9, 100, 11]);
    assert_eq!(turned.shape(), [4, 3]);

    // Host arrays are arrays of the crate `ndarray`.
    let host = arr2(&[[1.0_f32, 2.0], [3.0, 4.0]]);
    let device = ctx.to_device(&host)?;
    let back = device.transpose(None)?.copy_to_host()?;
    assert_eq!(back, arr2(&[[1.0, 3.0], [2.0, 4.0]]).into_dyn());

    // Elements are converted as NumPy's `astype` does.
    assert_eq!(device.astype::<u8>()?.to_vec()?, [1, 2, 3, 4]);

    // An operation that is not possible is an error with both sides in its message.
    let error = table.reshape([5, 3]).expect_err("what does not fit is refused");
    println!("refused: {error}");
    Ok(())
}
