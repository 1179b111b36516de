//! Tests of the allocator crate on a device.
//!
//! | file | behaviour |
//! |---|---|
//! | `blocks.rs`, `copies.rs` | blocks of every size and kind, copies of parts; read these first |
//! | `staging.rs`, `ring.rs`, `jobs.rs` | host copies through staging memory, small ones with kernels between them |
//! | `between.rs`, `ways.rs` | copies between devices, each route that they take |
//! | `host_order.rs`, `host_guards.rs`, `registered.rs` | order of host copies, guards of mapped memory, registered slices |
//! | `cleanup.rs`, `deferral.rs` | when dropped memory is freed, limits of pending memory, deferred frees |
//! | `pool.rs`, `arena.rs`, `managers.rs`, `given_back.rs` | the memory managers, wrong managers, memory freed to the
//! wrong manager |
//! | `exhaustion.rs` | running out of memory |
//! | `reset.rs`, `reset_meanwhile.rs`, `reset_stress.rs` | resets, also during other calls |
//! | `external.rs` | memory and semaphores that several devices share, and their connections |
//! | `memory_objects.rs`, `peer_objects.rs` | device, host and shared memory objects; behaviours of dpctl's and RMM's |
//! | `pinned.rs` | memory of the program with its owner |
//! | `lent.rs` | memory of the program of several types, and memory that is only read |
//! | `soak.rs` | a long random run |
//!
//! `unmapped.rs` has a manager for tests whose device memory the host cannot address.

mod arena;
mod between;
mod blocks;
mod cleanup;
mod copies;
mod deferral;
mod exhaustion;
#[cfg(unix)]
mod external;
mod given_back;
mod host_guards;
mod host_order;
mod jobs;
mod lent;
mod managers;
mod memory_objects;
mod peer_objects;
mod pinned;
mod pool;
mod registered;
mod reset;
mod reset_meanwhile;
mod reset_stress;
mod ring;
mod soak;
mod staging;
pub(crate) mod unmapped;
#[cfg(unix)]
mod ways;

use std::sync::Arc;

use vkarray::memory::managers::PoolManager;
use vkarray::memory::{Allocator, Block, Error as MemoryError, HostOptions, MemoryKind};
use vkarray::{Context, DeviceNDArray, Error, Stream};

use self::unmapped::Unmapped;
use crate::fixture::Fixture;

/// A context with the device's own memory, and a context whose device memory the host cannot address.
fn contexts(fixture: &Fixture) -> [(&'static str, Context); 2] {
    let hidden = Allocator::with_manager(fixture.device(), Box::new(Unmapped(PoolManager::new()))).unwrap();
    [("as it is", Context::on(fixture.device()).unwrap()), ("unmapped", Context::with_allocator(&hidden).unwrap())]
}

/// An array of each kind of memory that the device has and the host can address.
fn host_arrays(ctx: &Context, n: usize) -> Vec<(&'static str, DeviceNDArray<u32>)> {
    let options = HostOptions::default();
    let mut arrays = vec![
        ("pinned", ctx.pinned_array([n]).unwrap()),
        ("mapped", ctx.mapped_array([n], options).unwrap()),
        ("portable", ctx.mapped_array([n], options.portable(true)).unwrap()),
        ("write-combined", ctx.mapped_array([n], options.wc(true)).unwrap()),
    ];
    match ctx.shared_array([n]) {
        Ok(shared) => arrays.push(("shared", shared)),
        Err(Error::Memory(MemoryError::NoSuchMemory { kind: MemoryKind::Shared })) => {
            let has = MemoryKind::Shared.memory_type(ctx.info(), u32::MAX).is_some();
            assert!(!has, "the device has shared memory, which was refused");
        }
        Err(error) => panic!("{error}"),
    }
    arrays
}

/// The bytes of a block, copied to the host on a stream.
fn read(block: &Arc<Block>, stream: &Stream) -> Vec<u8> {
    let mut bytes = vec![0xEE; usize::try_from(block.size()).unwrap()];
    block.copy_to_host(stream, 0, &mut bytes).unwrap();
    bytes
}

/// Bytes that differ from their neighbours and, by `first`, between calls.
fn pattern(first: u8, len: usize) -> Vec<u8> {
    (0..251).cycle().take(len).map(|i| first.wrapping_add(i)).collect()
}
