//! Runs a memory manager that is not part of the library: `cargo run -p vkarray-allocator --example plugin`.
//!
//! The manager is `third_party.rs`. This file gives it to an allocator and uses the allocator.

mod third_party;

use vkarray_allocator::{Allocator, MemoryKind};
use vkarray_driver::{Device, Instance, Stream};

use crate::third_party::GpuAllocatorPlugin;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::open_selected(&Instance::builder().build()?, None)?;
    let allocator = Allocator::with_manager(&device, Box::new(GpuAllocatorPlugin::new()))?;
    let (stream, block) = (Stream::new(&device)?, allocator.allocate(8, MemoryKind::Device)?);
    block.copy_from_host(&stream, 0, b"a plugin")?;
    let mut back = [0; 8];
    block.copy_to_host(&stream, 0, &mut back)?;
    println!("{} keeps `{}` for {:?}", device.info().name, String::from_utf8_lossy(&back), allocator.usage());
    Ok(())
}
