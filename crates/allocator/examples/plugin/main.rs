//! Runs a memory manager that is not part of the library: `cargo run -p vkarray-allocator --example plugin`.
//!
//! The manager is `plain.rs`. This file gives it to an allocator and uses that.

mod plain;

use vkarray_allocator::{Allocator, MemoryKind};
use vkarray_driver::{Device, Instance, Stream};

use crate::plain::PlainPlugin;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::open_selected(&Instance::builder().build()?, None)?;
    let allocator = Allocator::with_manager(&device, Box::new(PlainPlugin::new()))?;
    let (stream, block) = (Stream::new(&device)?, allocator.allocate(8, MemoryKind::Device)?);
    block.copy_from_host(&stream, 0, b"a plugin")?;
    let mut back = [0; 8];
    block.copy_to_host(&stream, 0, &mut back)?;
    println!("{} keeps `{}` for {:?}", device.info().name, String::from_utf8_lossy(&back), allocator.usage());
    Ok(())
}
