//! Running out of memory and continuing: a program asks for too much, reads who holds the memory, and takes less.

use vkarray::memory;
use vkarray::memory::managers::{ManagerFactory, PoolManager};
use vkarray::prelude::*;

/// Sums a table that is too large as a whole, `at_a_time` rows at a time; the elements of each row are its number.
fn sum(ctx: &Context, rows: usize, at_a_time: usize) -> vkarray::Result<f64> {
    let mut sum = 0.0;
    for first in (0..rows).step_by(at_a_time) {
        let part = ctx.zeros::<f32>([at_a_time, 1 << 16])?.with_label("part of the table");
        part.index([0])?.fill(first as f32)?;
        sum += f64::from(part.get([0, 17])?);
    }
    Ok(sum)
}

fn main() -> vkarray::Result<()> {
    // A device with little memory: the pool may take 32 MiB.
    let limited = ManagerFactory::new(|| Ok(Box::new(PoolManager::with_limit(32 << 20))));
    let ctx = Context::builder().memory_manager(limited).open()?;
    let weights = ctx.ones::<f32>([1 << 20])?.with_label("weights");

    // A row takes a quarter of a MiB. Before an allocation fails, the library frees what was dropped, and waits for
    // work whose memory is enough. An error therefore means that the program itself holds too much.
    let (rows, mut at_a_time) = (256, 256);
    let sum = loop {
        match sum(&ctx, rows, at_a_time) {
            Ok(sum) => break sum,
            Err(Error::Memory(memory::Error::OutOfMemory(shortage))) => {
                println!("{at_a_time} rows at a time do not fit:\n{shortage}\n");
                assert!(shortage.to_string().contains("`weights`"), "the report names what is held");
                at_a_time /= 2;
            }
            Err(other) => return Err(other),
        }
    };
    println!("{at_a_time} rows at a time fit");
    assert!(at_a_time < 128, "32 MiB and the weights do not fit");
    assert_eq!(sum, (0..rows).step_by(at_a_time).sum::<usize>() as f64);

    // The failures lost nothing: the arrays have their contents, and the context still works.
    assert_eq!(weights.get([12_345])?, 1.0);
    Ok(())
}
