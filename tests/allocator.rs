//! The allocator crate on a device: blocks of every size and kind, copies, running out, and when memory is freed.

mod arena;
mod blocks;
mod cleanup;
mod copies;
mod deferral;
mod exhaustion;
mod given_back;
mod host_guards;
mod host_order;
mod managers;
mod memory_objects;
mod pool;
mod registered;
mod reset;
mod reset_meanwhile;
mod reset_stress;
mod ring;
mod soak;
mod staging;
mod unmapped;

/// Bytes that differ from their neighbours, from word to word and from call to call.
fn pattern(first: u8, len: usize) -> Vec<u8> {
    (0..251).cycle().take(len).map(|i| first.wrapping_add(i)).collect()
}
