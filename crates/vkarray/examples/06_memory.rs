//! Memory: arrays that the host reads in place, what is in use, and what an error says when memory runs out.

use std::sync::Arc;

use vkarray::memory::managers::{AllocationStatistics, Limiting, ManagerFactory, PoolManager};
use vkarray::prelude::*;

fn main() -> vkarray::Result<()> {
    // A manager decides where memory comes from. This one is the pool, limited to 1 MiB, and counted.
    let counted = Arc::new(AllocationStatistics::new(Limiting::new(PoolManager::new(), 1 << 20)));
    let manager = Arc::clone(&counted);
    let factory = ManagerFactory::new(move || Ok(Box::new(Arc::clone(&manager))));
    let ctx = Context::builder().memory_manager(factory).open()?;

    // Pinned memory is host memory that the device reaches. While the host uses it through a guard, the device does
    // not.
    let pinned = ctx.pinned_array::<f32>([4])?;
    pinned.write_on_host()?.view_mut().fill(2.5);
    assert_eq!(pinned.to_vec()?, [2.5; 4]);

    // An array that does not fit is refused, with the numbers in the message.
    let image = ctx.zeros::<f32>([256, 512])?;
    println!("in use: {} bytes", counted.counted().bytes.current);
    let error = ctx.zeros::<f32>([512, 512]).expect_err("1 MiB beside 512 KiB exceeds the limit");
    println!("refused: {error}");
    assert!(error.to_string().contains("limited to 1048576 bytes"), "{error}");

    // Memory comes back when the last handle is dropped and the device no longer uses the memory.
    drop(image);
    let again = ctx.zeros::<f32>([256, 512])?;
    assert_eq!(again.nbytes(), 1 << 19);
    Ok(())
}
