//! Applies functions to the numbers of files, for `tests/primitives/measure_errors.py`: each argument is
//! `FUNCTION,TYPE,PATH`, with the operands in `PATH.x` and `PATH.y` and the results in `PATH.z`, all as plain numbers of the
//! type `f32` or `f64`.

use anyhow::{Context as _, Result, bail};
use vkarray::array::{Floating, Number, Numeric};
use vkarray::prelude::*;
use vkarray_checks::function;

fn apply<T: Number + Floating + Numeric<Real = T>>(ctx: &Context, name: &str, path: &str) -> Result<()> {
    let read = |operand: &str| -> Result<DeviceNDArray<T>> {
        let bytes = std::fs::read(format!("{path}.{operand}"))?;
        let mut numbers = vec![T::zeroed(); bytes.len() / size_of::<T>()];
        bytemuck::cast_slice_mut::<T, u8>(&mut numbers).copy_from_slice(&bytes);
        Ok(ctx.slice_to_device(&numbers)?)
    };
    let results = function(name, &read("x")?, &read("y")?).context("no such function")?.eval()?.to_vec()?;
    Ok(std::fs::write(format!("{path}.z"), bytemuck::cast_slice::<T, u8>(&results))?)
}

fn main() -> Result<()> {
    let ctx = Context::open_default()?;
    for argument in std::env::args().skip(1) {
        let parts: Vec<&str> = argument.splitn(3, ',').collect();
        match *parts.as_slice() {
            [name, "f32", path] => apply::<f32>(&ctx, name, path)?,
            [name, "f64", path] => apply::<f64>(&ctx, name, path)?,
            _ => bail!("{argument} is not FUNCTION,TYPE,PATH"),
        }
    }
    Ok(())
}
