//! Behaviours of dpctl's memory objects and RMM's buffers that the other tests of memory objects do not show.
//!
//! The table `docs/conformance/memory-objects.md` lists all of them.

use std::sync::Arc;

use vkarray::Context;
use vkarray::memory::managers::{AllocationStatistics, PoolManager};
use vkarray::memory::usm::{
    DeviceMemory, HostMemory, HostVisible, MemoryState, OnBoth, OnDevice, OnHost, SharedMemory, UsmKind, UsmMemory,
};
use vkarray::memory::{Allocator, Error as MemoryError};

use super::pattern;
use crate::fixture::Fixture;

fn has_shared(ctx: &Context) -> bool {
    SharedMemory::new(ctx, 1).is_ok()
}

/// The address of the first byte: on the host if the host addresses the memory, else the position in the buffer.
fn address<K: UsmKind>(memory: &UsmMemory<K>) -> u64 {
    let (block, range) = memory.block().unwrap();
    range.start + block.mapped().map_or(block.buffer_offset(), |first| first.addr().get() as u64)
}

fn object_of_each_alignment<K: UsmKind>(ctx: &Context) {
    for alignment in [0, 1, 64, 128, 256, 512, 4096] {
        let memory = UsmMemory::<K>::aligned(ctx, 1024, alignment).unwrap();
        assert_eq!((memory.nbytes(), memory.size(), memory.usm_type()), (1024, 1024, K::TYPE));
        assert_eq!(address(&memory) % alignment.max(256), 0, "{alignment}");
        assert_eq!(format!("{memory:?}"), format!("UsmMemory {{ usm_type: {:?}, nbytes: 1024, .. }}", K::TYPE));
        assert_eq!(memory.usm_type_in(ctx), Some(K::TYPE));
        let copy = UsmMemory::<K>::copy_of(ctx, &memory).unwrap();
        assert_eq!(address(&copy) % alignment.max(256), 0, "a copy keeps the alignment of {alignment}");
        assert_eq!(memory.state().unwrap().alignment, alignment);
    }
    assert!(matches!(UsmMemory::<K>::new(ctx, u64::MAX), Err(MemoryError::TooLarge { bytes: u64::MAX, .. })));
}

#[test]
fn an_object_has_the_size_kind_and_alignment_that_were_asked_for() {
    let fixture = Fixture::open();
    object_of_each_alignment::<OnDevice>(&fixture);
    object_of_each_alignment::<OnHost>(&fixture);
    if has_shared(&fixture) {
        object_of_each_alignment::<OnBoth>(&fixture);
    }
}

/// Two handles to the same bytes: each frees them for the other.
fn sibling<K: UsmKind>(ctx: &Context) {
    let memory = UsmMemory::<K>::new(ctx, 100).unwrap();
    let sibling = UsmMemory::<K>::from_memory(&memory).unwrap();
    assert_eq!(address(&memory), address(&sibling));
    assert!(sibling.reference().is_none());
    memory.memset(3).unwrap();
    drop(memory);
    assert_eq!(sibling.to_bytes().unwrap(), [3; 100]);
}

#[test]
fn a_sibling_has_the_same_bytes_and_no_owner() {
    let fixture = Fixture::open();
    sibling::<OnDevice>(&fixture);
    sibling::<OnHost>(&fixture);
    if has_shared(&fixture) {
        sibling::<OnBoth>(&fixture);
    }
}

/// Every byte is set, also where the number of bytes is no multiple of four; the default value is zero.
fn set_and_copied<K: UsmKind>(ctx: &Context) {
    let memory = UsmMemory::<K>::new(ctx, 4086).unwrap();
    for value in [0, 7, 255] {
        memory.memset(value).unwrap();
        assert_eq!(memory.to_bytes().unwrap(), [value; 4086]);
    }
    let given = pattern(5, 4086);
    memory.copy_from_host(&given).unwrap();
    let copy = DeviceMemory::copy_of(ctx, &memory).unwrap();
    drop(memory); // The copy may not have run yet.
    assert_eq!(copy.to_bytes().unwrap(), given);
}

#[test]
fn bytes_of_every_kind_are_set_and_outlive_their_source() {
    let fixture = Fixture::open();
    set_and_copied::<OnDevice>(&fixture);
    set_and_copied::<OnHost>(&fixture);
    if has_shared(&fixture) {
        set_and_copied::<OnBoth>(&fixture);
    }
}

fn read_twice<K: HostVisible>(ctx: &Context) {
    let memory = UsmMemory::<K>::new(ctx, 64).unwrap();
    memory.copy_from_host(pattern(1, 64)).unwrap();
    let (first, second) = (memory.read_on_host::<u8>().unwrap(), memory.read_on_host::<u8>().unwrap());
    assert_eq!(*first, *second);
    assert_eq!(first.as_ptr(), second.as_ptr());
}

#[test]
fn two_readers_of_one_object_see_the_same_bytes() {
    let fixture = Fixture::open();
    read_twice::<OnHost>(&fixture);
    if has_shared(&fixture) {
        read_twice::<OnBoth>(&fixture);
    }
}

fn restored<K: UsmKind>(ctx: &Context) {
    let memory = UsmMemory::<K>::new(ctx, 33).unwrap();
    memory.copy_from_host(pattern(9, 33)).unwrap();
    let text = serde_json::to_string(&memory.state().unwrap()).unwrap();
    let again = serde_json::from_str::<MemoryState>(&text).unwrap().restore::<K>(ctx).unwrap();
    assert_eq!((again.usm_type(), again.to_bytes().unwrap()), (K::TYPE, pattern(9, 33)));
    assert!(!Arc::ptr_eq(&again.block().unwrap().0, &memory.block().unwrap().0));
    let kind = format!("\"{}\"", K::TYPE);
    let refused = serde_json::from_str::<MemoryState>(&text.replace(&kind, "\"elsewhere\"")).unwrap_err();
    assert!(refused.to_string().contains("unknown variant `elsewhere`"), "{refused}");
}

#[test]
fn every_kind_is_restored_and_an_unknown_kind_is_refused() {
    let fixture = Fixture::open();
    restored::<OnDevice>(&fixture);
    restored::<OnHost>(&fixture);
    if has_shared(&fixture) {
        restored::<OnBoth>(&fixture);
    }
}

#[test]
fn a_copy_comes_from_the_manager_of_its_own_context() {
    let fixture = Fixture::open();
    let [first, second] = [(); 2].map(|()| Arc::new(AllocationStatistics::new(PoolManager::new())));
    let [here, there] = [&first, &second].map(|statistics| {
        let allocator = Allocator::with_manager(fixture.device(), Box::new(Arc::clone(statistics))).unwrap();
        (allocator, fixture.stream().unwrap())
    });
    let source = DeviceMemory::new(&here, 1000).unwrap();
    source.copy_from_host(pattern(2, 1000)).unwrap();
    let part = source.view(0..999).unwrap();
    let copy = DeviceMemory::copy_of(&there, &part).unwrap();
    assert_eq!(copy.to_bytes().unwrap(), pattern(2, 1000)[..999]);
    // The copy has its own memory, of as many bytes as it copies, and reports its own manager and stream.
    let (block, range) = copy.block().unwrap();
    assert!(Arc::ptr_eq(block.allocator(), &there.0) && !Arc::ptr_eq(&block, &source.block().unwrap().0));
    assert_eq!((block.size(), range), (999, 0..999));
    assert_eq!(copy.stream().number(), there.1.number());
    // A copy that fails leaves nothing behind.
    let n_live = || second.counted().allocations.current;
    let before = n_live();
    source.free().unwrap();
    assert!(matches!(DeviceMemory::copy_of(&there, &part), Err(MemoryError::UsedAfterFree { nbytes: 999 })));
    assert!(matches!(HostMemory::copy_of(&there, &part), Err(MemoryError::UsedAfterFree { .. })));
    assert_eq!(n_live(), before);
}
