//! Device, host and shared memory objects: every method, copies between all kinds, many lengths, and refused calls.

use vkarray::Context;
use vkarray::device::Device;
use vkarray::memory::usm::{
    DeviceMemory, HostMemory, HostVisible, MemoryState, OnDevice, OnHost, SharedMemory, UsmMemory, UsmType,
};
use vkarray::memory::{Error as MemoryError, MemoryKind};

use super::pattern;
use crate::fixture::Fixture;

/// Lengths around words, and a length that is no multiple of a word.
const LENGTHS: [u64; 8] = [1, 2, 3, 4, 5, 8, 251, 4086];

fn bytes(first: u8, len: u64) -> Vec<u8> {
    pattern(first, index(len))
}

fn index(at: u64) -> usize {
    usize::try_from(at).unwrap()
}

fn has_shared(ctx: &Context) -> bool {
    let has = MemoryKind::Shared.memory_type(ctx.info(), u32::MAX).is_some();
    assert_eq!(SharedMemory::new(ctx, 16).is_ok(), has, "shared memory");
    has
}

fn message<T>(outcome: Result<T, MemoryError>) -> String {
    outcome.err().map(|error| error.to_string()).unwrap_or_default()
}

macro_rules! there_and_back {
    ($ctx:expr, $source:ident, $target:ident) => {
        for len in LENGTHS {
            let source = $source::new($ctx, len).unwrap();
            source.copy_from_host(bytes(3, len)).unwrap();
            let target = $target::new($ctx, len + 3).unwrap();
            target.memset(9).unwrap();
            target.copy_from_device(&source).unwrap();
            let mut expected = bytes(3, len);
            expected.extend([9; 3]);
            assert_eq!(target.to_bytes().unwrap(), expected, "{} to {}", source.usm_type(), target.usm_type());
            let refused = message(source.copy_from_device(&target));
            assert_eq!(refused, format!("{} bytes do not fit into {len}", len + 3));
            assert_eq!($target::copy_of($ctx, &source).unwrap().copy_to_host().unwrap(), bytes(3, len));
        }
    };
}

#[test]
fn every_kind_is_copied_to_every_kind() {
    let fixture = Fixture::open();
    let ctx = &*fixture;
    there_and_back!(ctx, DeviceMemory, DeviceMemory);
    there_and_back!(ctx, DeviceMemory, HostMemory);
    there_and_back!(ctx, HostMemory, DeviceMemory);
    there_and_back!(ctx, HostMemory, HostMemory);
    if has_shared(ctx) {
        there_and_back!(ctx, DeviceMemory, SharedMemory);
        there_and_back!(ctx, HostMemory, SharedMemory);
        there_and_back!(ctx, SharedMemory, DeviceMemory);
        there_and_back!(ctx, SharedMemory, HostMemory);
        there_and_back!(ctx, SharedMemory, SharedMemory);
    }
}

#[test]
fn a_fill_changes_only_its_bytes() {
    let fixture = Fixture::open();
    let patterns: [&[u8]; 10] = [
        &[7],
        &[1, 2],
        &[1, 2, 3],
        &[1, 2, 3, 4],
        &[1, 2, 3, 4, 5, 6, 7, 8],
        &[5; 8],
        &[0; 16],
        &pattern(1, 11),
        &pattern(1, 16),
        &pattern(1, 4098),
    ];
    let device = DeviceMemory::new(&*fixture, 9000).unwrap();
    for (start, len) in
        (0..9).flat_map(|start| [0, 1, 2, 3, 4, 5, 7, 8, 16, 33, 48, 8192, 8196].map(|len| (start, len)))
    {
        for pattern in patterns.iter().filter(|pattern| len % pattern.len() as u64 == 0) {
            device.copy_from_host(bytes(100, 9000)).unwrap();
            device.view(start..start + len).unwrap().fill(pattern).unwrap();
            let mut expected = bytes(100, 9000);
            let filled = &mut expected[index(start)..index(start + len)];
            filled.iter_mut().zip(pattern.iter().cycle()).for_each(|(byte, value)| *byte = *value);
            assert_eq!(device.to_bytes().unwrap(), expected, "{len} bytes at {start} with {pattern:?}");
        }
    }
    for (len, pattern) in [(9000, &[1_u8; 7][..]), (9000, &[]), (0, &[]), (9000, &[1; 32]), (5, &[1; 2])] {
        let refused = device.view(0..len).unwrap().fill(pattern);
        assert!(matches!(refused, Err(MemoryError::BadPattern { .. })), "{len} {pattern:?}");
    }
}

#[test]
fn overlapping_copies_within_an_allocation_keep_the_source_bytes() {
    let fixture = Fixture::open();
    for (from, to, len) in [(0, 1, 50), (1, 0, 50), (0, 50, 50), (7, 7, 20), (3, 40, 60), (40, 3, 60)] {
        let memory = DeviceMemory::new(&*fixture, 100).unwrap();
        memory.copy_from_host(bytes(1, 100)).unwrap();
        let (source, target) = (memory.view(from..from + len).unwrap(), memory.view(to..to + len).unwrap());
        target.copy_from_device(&source).unwrap();
        let mut expected = bytes(1, 100);
        expected.copy_within(index(from)..index(from + len), index(to));
        assert_eq!(memory.to_bytes().unwrap(), expected, "{len} bytes from {from} to {to}");
    }
}

#[test]
fn freed_memory_is_refused_by_all_who_share_it() {
    let fixture = Fixture::open();
    let memory = HostMemory::new(&*fixture, 40).unwrap();
    let (clone, view) = (HostMemory::from_memory(&memory).unwrap(), memory.view(8..16).unwrap());
    memory.memset(1).unwrap();
    view.free().unwrap();
    assert_eq!(message(memory.free()), "40 bytes of memory were freed twice");
    assert_eq!(message(view.free()), "8 bytes of memory were freed twice");
    let used = "40 bytes of memory were used after they were freed";
    let outcomes = [
        clone.memset(1),
        clone.copy_from_host([1]),
        clone.copy_to_host_into(&mut [0; 40]),
        clone.to_bytes().map(drop),
        clone.copy_from_device(&DeviceMemory::new(&*fixture, 1).unwrap()),
        clone.read_on_host::<u8>().map(drop),
        clone.write_on_host::<u8>().map(drop),
        clone.view(0..1).map(drop),
        clone.state().map(drop),
    ];
    for outcome in outcomes {
        assert_eq!(message(outcome), used);
    }
    assert_eq!(clone.nbytes(), 40);
}

#[test]
fn sizes_alignments_and_ranges_are_checked() {
    let fixture = Fixture::open();
    let ctx = &*fixture;
    assert_eq!(message(DeviceMemory::new(ctx, 0)), "a memory object must have at least one byte");
    for alignment in [3, 12, 255] {
        let refused = message(DeviceMemory::aligned(ctx, 8, alignment));
        assert_eq!(refused, format!("an alignment must be a power of two, which {alignment} is not"));
    }
    assert!(DeviceMemory::aligned(ctx, u64::MAX, 512).is_err());
    for alignment in [0, 1, 64, 256, 1024, 1 << 16] {
        let host = HostMemory::aligned(ctx, 100, alignment).unwrap();
        let address = host.read_on_host::<u8>().unwrap().as_ptr().addr() as u64;
        assert_eq!((host.nbytes(), address % alignment.max(1)), (100, 0), "{alignment}");
        let device = DeviceMemory::aligned(ctx, 100, alignment).unwrap();
        device.copy_from_device(&host).unwrap();
    }
    let memory = DeviceMemory::new(ctx, 10).unwrap();
    memory.copy_from_host(bytes(1, 10)).unwrap();
    assert_eq!(message(memory.copy_from_host([0; 11])), "11 bytes do not fit into 10");
    assert_eq!(message(memory.copy_to_host_into(&mut [0; 9])), "10 bytes do not fit into 9");
    assert_eq!(message(memory.copy_to_host_into(&mut [])), "10 bytes do not fit into 0");
    memory.copy_from_host([]).unwrap();
    let mut larger = [7; 12];
    memory.copy_to_host_into(&mut larger).unwrap();
    assert_eq!((larger[..10].to_vec(), &larger[10..]), (bytes(1, 10), &[7, 7][..]));
    let view = memory.view(2..6).unwrap();
    assert_eq!(view.view(1..3).unwrap().to_bytes().unwrap(), bytes(1, 10)[3..5]);
    assert_eq!(message(view.view(3..5)), "bytes 3..5 are outside a block of 4 bytes");
    #[expect(clippy::reversed_empty_ranges, reason = "it is to be refused")]
    let reversed = view.view(3..2);
    assert_eq!(message(reversed), "a range cannot start at byte 3 and end at byte 2");
}

#[test]
fn memory_is_converted_to_another_kind_only_by_a_copy() {
    let fixture = Fixture::open();
    let ctx = &*fixture;
    let foreign = Context::on(&Device::open(fixture.device().physical()).unwrap()).unwrap();
    let (device, host) = (DeviceMemory::new(ctx, 8).unwrap(), HostMemory::new(ctx, 8).unwrap());
    assert_eq!((device.usm_type_in(ctx), device.usm_type_in(&foreign)), (Some(UsmType::Device), None));
    assert_eq!(message(DeviceMemory::from_memory(&host)), "host memory cannot be shared as device memory: copy it");
    assert_eq!(HostMemory::copy_of(ctx, &device).unwrap().usm_type(), UsmType::Host);
    assert!(device.reference().is_none());
    let array = ctx.slice_to_device(&[1_u32, 2, 3]).unwrap();
    let owner = std::sync::Arc::new(array.clone());
    let lent = DeviceMemory::from_block(ctx, array.block(), 4..12, owner).unwrap();
    lent.memset(0).unwrap();
    assert!(lent.view(0..1).unwrap().reference().is_some());
    assert_eq!(array.copy_to_host().unwrap().as_slice().unwrap(), [1, 0, 0]);
    assert!(HostMemory::from_block(ctx, array.block(), 0..1, std::sync::Arc::new(())).is_err());
    let there = DeviceMemory::new(&foreign, 8).unwrap();
    host.copy_from_host(bytes(5, 8)).unwrap();
    there.copy_from_device(&host).unwrap(); // Over the host, since the objects share no device.
    assert_eq!(there.to_bytes().unwrap(), bytes(5, 8));
}

#[test]
fn a_serialized_state_restores_the_memory() {
    let fixture = Fixture::open();
    let memory = HostMemory::aligned(&*fixture, 77, 512).unwrap();
    memory.copy_from_host(bytes(2, 77)).unwrap();
    let text = serde_json::to_string(&memory.state().unwrap()).unwrap();
    let state: MemoryState = serde_json::from_str(&text).unwrap();
    assert_eq!(state.device_uuid, fixture.info().uuid);
    assert_eq!(state.restore::<OnHost>(&*fixture).unwrap().to_bytes().unwrap(), bytes(2, 77));
    assert!(matches!(state.restore::<OnDevice>(&*fixture), Err(MemoryError::OtherUsmType { .. })));
}

/// Typed guards of one kind: what they refuse, what they wait for, and what they keep.
fn guards_of<K: HostVisible>(ctx: &Context) {
    let memory = UsmMemory::<K>::new(ctx, 24).unwrap();
    memory.fill(&[1, 0, 0, 0]).unwrap();
    let numbers = memory.read_on_host::<u32>().unwrap(); // Waits for the fill.
    assert_eq!(*numbers, [1; 6]);
    assert_eq!(*memory.read_on_host::<u64>().unwrap(), [0x1_0000_0001; 3], "another reader");
    assert!(memory.memset(2).is_err() && memory.write_on_host::<u8>().is_err(), "the host is reading");
    drop(numbers);
    let mut words = memory.write_on_host::<u16>().unwrap();
    words.copy_from_slice(&[7; 12]);
    assert!(memory.copy_to_host().is_err(), "the host is writing");
    drop(words);
    assert_eq!(memory.copy_to_host().unwrap(), [7, 0].repeat(12));
    let odd = memory.view(1..9).unwrap();
    assert_eq!(odd.read_on_host::<u8>().unwrap().len(), 8);
    assert!(matches!(odd.read_on_host::<u32>(), Err(MemoryError::NotElements { itemsize: 4, alignment: 4, .. })));
    assert!(matches!(memory.read_on_host::<[u8; 7]>(), Err(MemoryError::NotElements { size: 24, itemsize: 7, .. })));
    // A guard keeps the bytes of memory that is freed while the guard lives, also on another thread.
    let guard = memory.read_on_host::<u16>().unwrap();
    memory.free().unwrap();
    drop((memory, odd));
    let elements = std::thread::spawn(move || guard.to_vec()).join().unwrap();
    assert_eq!(elements, [7; 12]);
}

#[test]
fn guards_of_memory_objects_are_slices_of_elements() {
    let fixture = Fixture::open();
    guards_of::<OnHost>(&fixture);
    if has_shared(&fixture) {
        guards_of::<vkarray::memory::usm::OnBoth>(&fixture);
    }
}

#[test]
fn memory_objects_of_another_stream_are_ordered_with_all_others() {
    let fixture = Fixture::open();
    // The tuple of an allocator and a stream is a context for memory objects.
    let contexts = [(); 2].map(|()| (fixture.allocator().clone(), fixture.stream().unwrap()));
    let first = DeviceMemory::new(&contexts[0], 1 << 20).unwrap();
    let second = HostMemory::new(&contexts[1], 1 << 20).unwrap();
    assert_eq!(first.usm_type_in(&contexts[1]), Some(UsmType::Device));
    for round in 0..20_u8 {
        first.memset(round).unwrap();
        second.copy_from_device(&first).unwrap();
        first.memset(255).unwrap();
        assert!(second.read_on_host::<u8>().unwrap().iter().all(|&byte| byte == round), "{round}");
    }
}
