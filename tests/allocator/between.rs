//! Copies between two devices: every size and kind of memory, the order with other work, refused calls.

use std::sync::Arc;
use std::thread;

use vkarray::device::Device;
use vkarray::memory::managers::PoolManager;
use vkarray::memory::usm::{DeviceMemory, HostMemory, SharedMemory};
use vkarray::memory::{Allocator, Block, BlockRange, Error as MemoryError, Lent, MemoryKind, RegisteredPath};
use vkarray::{Context, Stream};
use vkarray_driver::DeviceRequest;

use super::unmapped::Unmapped;
use super::{pattern, read};
use crate::fixture::Fixture;
use crate::fixture::watchdog::watched;

const MIB: usize = 1 << 20;

/// An allocator of the device's own memory, and an allocator whose device memory the host cannot address.
fn allocators(device: &Arc<Device>) -> [(&'static str, Arc<Allocator>); 2] {
    let hidden = Box::new(Unmapped(PoolManager::new()));
    [
        ("mapped", Allocator::new(device).unwrap()),
        ("unmapped", Allocator::with_copy_threads(device, hidden, 3).unwrap()),
    ]
}

fn block(allocator: &Arc<Allocator>, size: usize) -> Arc<Block> {
    allocator.allocate(size as u64, MemoryKind::Device).unwrap()
}

fn range<'a>(block: &'a Arc<Block>, stream: &'a Stream, start: usize, len: usize) -> BlockRange<'a> {
    BlockRange { block, range: start as u64..(start + len) as u64, stream }
}

#[test]
fn devices_that_import_no_host_memory_copy_through_slots_of_each() {
    let fixture = Fixture::open();
    let bytes = pattern(5, 16 * MIB + 41);
    let without = vec!["VK_EXT_external_memory_host".to_owned()];
    let request = DeviceRequest { without, ..DeviceRequest::default() };
    let other = Device::open_with(fixture.device().physical(), &request).unwrap();
    let (here, there) = (Stream::new(fixture.device()).unwrap(), Stream::new(&other).unwrap());
    let [(_, from), (_, to)] = [&other, fixture.device()].map(|device| allocators(device).into_iter().nth(1).unwrap());
    for case in [(65_537, 0), (2 * MIB + 1, 7), (16 * MIB + 1, 1)] {
        check_copy((&from, &there), (&to, &here), &bytes, case);
        check_copy((&to, &here), (&from, &there), &bytes, case);
    }
}

#[test]
fn copies_at_once_between_three_devices_do_not_share_host_memory() {
    let fixture = Fixture::open();
    let mut devices = fixture.other_devices();
    devices.extend(fixture.other_devices());
    let sides: Vec<_> = devices
        .iter()
        .map(|device| (allocators(device).into_iter().nth(1).unwrap().1, Stream::new(device).unwrap()))
        .collect();
    let n = sides.len() + 1;
    let own = (allocators(fixture.device()).into_iter().nth(1).unwrap().1, Stream::new(fixture.device()).unwrap());
    let sides: Vec<_> = sides.into_iter().chain([own]).collect();
    thread::scope(|scope| {
        for first in 0..4_u8 {
            let sides = &sides;
            scope.spawn(move || {
                let bytes = pattern(first * 50, 3 * MIB);
                for round in 0..6 {
                    let (from, to) =
                        (&sides[(usize::from(first) + round) % n], &sides[(usize::from(first) + 2 * round + 1) % n]);
                    if !Arc::ptr_eq(from.0.device(), to.0.device()) {
                        check_copy((&from.0, &from.1), (&to.0, &to.1), &bytes, (3 * MIB - 40, usize::from(first)));
                    }
                }
            });
        }
    });
}

#[test]
fn repeated_copies_between_devices_keep_their_host_memory_until_it_is_trimmed() {
    let fixture = Fixture::open();
    let other = Device::open(fixture.device().physical()).unwrap();
    let (here, there) = (Stream::new(fixture.device()).unwrap(), Stream::new(&other).unwrap());
    let [from, to] = [fixture.device(), &other].map(|device| allocators(device).into_iter().nth(1).unwrap().1);
    let (source, target) = (block(&from, 5 * MIB), block(&to, 5 * MIB));
    source.fill(&here, 0x0404_0404).unwrap();
    let copy = || range(&source, &here, 0, 5 * MIB).copy_to(&range(&target, &there, 0, 5 * MIB)).unwrap();
    (0..6).for_each(|_| copy());
    let mut bytes = vec![0; 64 << 10];
    let imports = |allocator: &Arc<Allocator>, bytes: &mut [u8]| {
        allocator.register_all([Lent::Write(bytes)], |[registered]| registered.path()).unwrap()
            != RegisteredPath::Staged
    };
    let staged = [&from, &to].map(|allocator| allocator.staging_bytes());
    if imports(&from, &mut bytes) && imports(&to, &mut bytes) {
        assert_eq!(staged, [8 << 20; 2], "the same pages each time, and no slots");
    } else {
        assert!(staged.iter().all(|&staged| staged > 0), "{staged:?}");
    }
    from.trim(0).unwrap();
    to.trim(0).unwrap();
    copy();
    assert!(read(&target, &there).iter().all(|&byte| byte == 4));
}

/// One side of a copy.
type Side<'a> = (&'a Arc<Allocator>, &'a Stream);

/// Copies `len` of `bytes`, from `at` on, from one device to the other, and checks them and their neighbours.
fn check_copy((from, here): Side<'_>, (to, there): Side<'_>, bytes: &[u8], (len, at): (usize, usize)) {
    let (source, target, bytes) = (block(from, len + 40), block(to, len + 40), &bytes[..len + 40]);
    source.copy_from_host(here, 0, bytes).unwrap();
    target.fill(there, 0x5555_5555).unwrap();
    range(&source, here, at, len).copy_to(&range(&target, there, 13, len)).unwrap();
    let found = read(&target, there);
    let mut neighbours = found[..13].iter().chain(&found[13 + len..]);
    assert!(neighbours.all(|&byte| byte == 0x55), "{len} bytes from {at}");
    assert!(found[13..13 + len] == bytes[at..at + len], "{len} bytes from {at}");
    assert!(read(&source, here) == bytes, "{len} bytes from {at}: the source changed");
}

#[test]
fn copies_of_every_size_to_another_device_write_exactly_their_bytes() {
    let fixture = Fixture::open();
    let bytes = pattern(5, 16 * MIB + 41);
    // Lengths around a small slot, a chunk and a large slot.
    let lens = [0, 1, 3, 4096, 65_536, 65_537, (512 << 10) + 1, 2 * MIB - 1, 2 * MIB + 1];
    for other in fixture.other_devices() {
        let (here, there) = (Stream::new(fixture.device()).unwrap(), Stream::new(&other).unwrap());
        for (kind, from) in allocators(fixture.device()) {
            for (other_kind, to) in allocators(&other) {
                eprintln!("{kind} memory of {}, {other_kind} memory of {}", fixture.info().name, other.info().name);
                for case in lens.into_iter().flat_map(|len| [(len, 0), (len, 7)]) {
                    check_copy((&from, &here), (&to, &there), &bytes, case);
                    check_copy((&to, &there), (&from, &here), &bytes, case);
                }
                let large = [16 * MIB - 1, 16 * MIB, 16 * MIB + 1];
                for len in large.into_iter().filter(|_| kind == other_kind) {
                    check_copy((&from, &here), (&to, &there), &bytes, (len, 1));
                }
            }
        }
    }
}

#[test]
fn every_kind_of_memory_is_copied_to_every_kind_of_another_device() {
    let fixture = Fixture::open();
    let len = 16 * MIB as u64 + 1;
    for other in fixture.other_devices() {
        let other = Context::on(&other).unwrap();
        let bytes = pattern(3, 16 * MIB + 1);
        macro_rules! copy_all {
            ($($source:ident => $($target:ident)*;)*) => {$($(
                if let (Ok(source), Ok(target)) = ($source::new(&*fixture, len), $target::new(&other, len)) {
                    source.copy_from_host(&bytes).unwrap();
                    target.copy_from_device(&source).unwrap();
                    let name = (source.usm_type(), target.usm_type());
                    assert!(target.to_bytes().unwrap() == bytes, "{name:?}");
                    target.memset(1).unwrap();
                    source.view(5..9).unwrap().copy_from_device(&target.view(1..5).unwrap()).unwrap();
                    assert_eq!(source.view(4..10).unwrap().to_bytes().unwrap(), [7, 1, 1, 1, 1, 12], "{name:?}");
                } else {
                    let has = |ctx: &Context| MemoryKind::Shared.memory_type(ctx.info(), u32::MAX).is_some();
                    assert!(!has(&fixture) || !has(&other), "memory was refused that both devices have");
                }
            )*)*};
        }
        copy_all! {
            DeviceMemory => DeviceMemory HostMemory SharedMemory;
            HostMemory => DeviceMemory HostMemory SharedMemory;
            SharedMemory => DeviceMemory HostMemory SharedMemory;
        }
    }
}

#[test]
fn copies_in_opposite_directions_do_not_wait_for_each_other() {
    let fixture = Fixture::open();
    for other in fixture.other_devices() {
        for ((_, from), (_, to)) in allocators(fixture.device()).into_iter().zip(allocators(&other)) {
            let (source, target) = (block(&from, MIB), block(&to, MIB));
            source.fill(fixture.default_stream(), 0x0909_0909).unwrap();
            target.fill(&Stream::new(&other).unwrap(), 0x0909_0909).unwrap();
            let rounds = |from: &Arc<Block>, to: &Arc<Block>| {
                let streams = [from, to].map(|block| Stream::new(block.device()).unwrap());
                for _ in 0..20 {
                    range(from, &streams[0], 0, MIB).copy_to(&range(to, &streams[1], 0, MIB)).unwrap();
                }
            };
            watched("copies in opposite directions", || {
                thread::scope(|scope| {
                    scope.spawn(|| rounds(&source, &target));
                    scope.spawn(|| rounds(&target, &source));
                });
            });
            assert!(read(&source, fixture.default_stream()).iter().all(|&byte| byte == 9));
        }
    }
}

#[test]
fn wrong_sides_of_a_copy_are_refused_and_nothing_changes() {
    let fixture = Fixture::open();
    for other in fixture.other_devices() {
        let (here, there) = (Stream::new(fixture.device()).unwrap(), Stream::new(&other).unwrap());
        let source = block(fixture.allocator(), 100);
        let target = block(&Allocator::new(&other).unwrap(), 100);
        source.fill(&here, 0x0101_0101).unwrap();
        target.fill(&there, 0x0202_0202).unwrap();
        let copy = |from: BlockRange<'_>, to: BlockRange<'_>| from.copy_to(&to).unwrap_err();
        let whole = |block, stream| range(block, stream, 0, 100);
        let refused = copy(range(&source, &here, 0, 50), whole(&target, &there));
        assert!(matches!(refused, MemoryError::SizeMismatch { source_size: 50, target_size: 100 }), "{refused}");
        for refused in [
            copy(range(&source, &here, 1, 100), whole(&target, &there)),
            copy(whole(&source, &here), range(&target, &there, 1, 100)),
        ] {
            assert!(matches!(refused, MemoryError::OutOfBounds { offset: 1, len: 100, size: 100 }), "{refused}");
        }
        for refused in
            [copy(whole(&source, &there), whole(&target, &there)), copy(whole(&source, &here), whole(&target, &here))]
        {
            assert!(matches!(refused, MemoryError::ForeignDevice { .. }), "{refused}");
        }
        let held = source.write_on_host(0..1);
        if let Ok(held) = held {
            let refused = copy(whole(&source, &here), whole(&target, &there));
            assert!(refused.to_string().contains("the host holds bytes"), "{refused}");
            drop(held);
        }
        assert_eq!((read(&source, &here)[0], read(&target, &there)[0]), (1, 2));
    }
}
