//! Blocks of odd sizes and of every kind: all bytes written are read back.

use std::sync::Arc;

use vkarray::memory::{Block, Error as MemoryError, MemoryKind};

use super::pattern;
use crate::fixture::Fixture;

/// Sizes around words and granules, a prime, and one more than a power of two.
const SIZES: [usize; 10] = [0, 1, 3, 4, 5, 15, 16, 17, 251, (1 << 20) + 1];

#[test]
fn blocks_of_every_size_and_kind_return_the_bytes_written() {
    let fixture = Fixture::open();
    for kind in kinds(&fixture) {
        for size in SIZES {
            let block = block(&fixture, size, kind);
            assert_eq!((block.size(), block.kind()), (size as u64, kind));
            assert!(block.is_mapped() || !kind.is_host_visible(), "{kind} memory is not mapped");
            let bytes = pattern(7, size);
            block.copy_from_host(fixture.default_stream(), 0, &bytes).unwrap();
            assert_eq!(read(&fixture, &block), bytes, "{size} bytes of {kind} memory");
        }
    }
}

#[test]
fn a_fill_writes_every_byte_of_its_block_and_no_other_block() {
    let fixture = Fixture::open();
    let word = 0x0403_0201_u32;
    for size in SIZES {
        let [before, filled, after] = [(); 3].map(|()| block(&fixture, size, MemoryKind::Device));
        for neighbour in [&before, &after] {
            neighbour.copy_from_host(fixture.default_stream(), 0, &pattern(9, size)).unwrap();
        }
        filled.fill(fixture.default_stream(), word).unwrap();
        let expected: Vec<u8> = word.to_ne_bytes().into_iter().cycle().take(size).collect();
        assert_eq!(read(&fixture, &filled), expected, "{size} bytes");
        for neighbour in [&before, &after] {
            assert_eq!(read(&fixture, neighbour), pattern(9, size), "beside {size} bytes");
        }
    }
}

#[test]
fn a_kind_that_the_device_lacks_is_refused() {
    let fixture = Fixture::open();
    for kind in MemoryKind::ALL {
        let is_there = kind.memory_type(fixture.info(), u32::MAX).is_some();
        match fixture.allocator().allocate(16, kind) {
            Ok(_) => assert!(is_there, "{kind}"),
            Err(MemoryError::NoSuchMemory { kind: named }) => assert!(!is_there && named == kind, "{kind}"),
            Err(error) => panic!("{kind}: {error}"),
        }
    }
}

#[test]
fn blocks_of_one_allocator_do_not_overlap() {
    let fixture = Fixture::open();
    let blocks: Vec<_> = (0..200_usize).map(|i| block(&fixture, 1 + i * 13 % 400, MemoryKind::Device)).collect();
    for (block, first) in blocks.iter().zip(0..) {
        let bytes = pattern(first, usize::try_from(block.size()).unwrap());
        block.copy_from_host(fixture.default_stream(), 0, &bytes).unwrap();
    }
    for (block, first) in blocks.iter().zip(0..) {
        assert_eq!(read(&fixture, block), pattern(first, usize::try_from(block.size()).unwrap()), "block {first}");
    }
}

/// The kinds of memory that the device has; `a_kind_that_the_device_lacks_is_refused` tests the others.
fn kinds(fixture: &Fixture) -> Vec<MemoryKind> {
    let has = |kind: &MemoryKind| kind.memory_type(fixture.info(), u32::MAX).is_some();
    MemoryKind::ALL.into_iter().filter(has).collect()
}

fn block(fixture: &Fixture, size: usize, kind: MemoryKind) -> Arc<Block> {
    fixture.allocator().allocate(size as u64, kind).unwrap()
}

fn read(fixture: &Fixture, block: &Arc<Block>) -> Vec<u8> {
    super::read(block, fixture.default_stream())
}
