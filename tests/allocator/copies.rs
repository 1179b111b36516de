//! Copies of parts of blocks: odd offsets and lengths, between blocks and within one, and refused copies.

use std::ops::Range;
use std::sync::Arc;

use vkarray::Context;
use vkarray::device::Device;
use vkarray::memory::{Block, MemoryKind};

use super::pattern;
use crate::fixture::Fixture;

const SIZE: usize = 300;

/// Offsets and lengths around words and at both ends.
const PARTS: [(usize, usize); 9] = [(0, 0), (0, 1), (1, 1), (3, 2), (5, 7), (1, 299), (299, 1), (300, 0), (128, 129)];

#[test]
fn host_copies_of_parts_change_only_these_bytes() {
    let fixture = Fixture::open();
    for kind in [MemoryKind::Device, MemoryKind::Pinned] {
        for (offset, len) in PARTS {
            let block = filled(&fixture, kind, 1);
            let mut expected = pattern(1, SIZE);
            expected[offset..offset + len].copy_from_slice(&pattern(100, len));
            block.copy_from_host(fixture.default_stream(), offset as u64, &pattern(100, len)).unwrap();
            assert_eq!(read(&fixture, &block, 0, SIZE), expected, "{len} bytes at {offset}");
            assert_eq!(read(&fixture, &block, offset, len), pattern(100, len), "{len} bytes at {offset}");
        }
    }
}

#[test]
fn device_copies_of_parts_change_only_these_bytes() {
    let fixture = Fixture::open();
    let source = filled(&fixture, MemoryKind::Device, 1);
    for (from, len) in PARTS {
        for to in [0, 1, 2, SIZE - len].into_iter().filter(|to| to + len <= SIZE) {
            for kind in [MemoryKind::Device, MemoryKind::Pinned] {
                let target = filled(&fixture, kind, 50);
                copy(&fixture, &source, from..from + len, &target, to).unwrap();
                let mut expected = pattern(50, SIZE);
                expected[to..to + len].copy_from_slice(&pattern(1, SIZE)[from..from + len]);
                assert_eq!(read(&fixture, &target, 0, SIZE), expected, "{len} bytes from {from} to {to}");
            }
        }
    }
}

#[test]
fn a_copy_within_a_block_may_be_adjacent_but_not_overlap() {
    let fixture = Fixture::open();
    let block = filled(&fixture, MemoryKind::Device, 1);
    // From, to, length, message. Adjacent ranges and empty ones are accepted.
    let cases = [
        (0, 100, 100, None),
        (100, 0, 100, None),
        (5, 5, 0, None),
        (0, 99, 100, Some("cannot copy bytes 0..100 to 99..199 of the same block: they overlap")),
        (1, 0, 1, None),
        (1, 0, 2, Some("cannot copy bytes 1..3 to 0..2 of the same block: they overlap")),
        (7, 7, 1, Some("cannot copy bytes 7..8 to 7..8 of the same block: they overlap")),
    ];
    let mut expected = pattern(1, SIZE);
    for (from, to, len, message) in cases {
        let copied = copy(&fixture, &block, from..from + len, &block, to);
        assert_eq!(copied.err().as_deref(), message, "{len} bytes from {from} to {to}");
        if message.is_none() {
            expected.copy_within(from..from + len, to);
        }
        assert_eq!(read(&fixture, &block, 0, SIZE), expected, "{len} bytes from {from} to {to}");
    }
}

#[test]
fn ranges_outside_the_block_are_refused() {
    let fixture = Fixture::open();
    let (block, other) = (filled(&fixture, MemoryKind::Device, 1), filled(&fixture, MemoryKind::Device, 2));
    let stream = fixture.default_stream();
    // Offset, length, message.
    let cases = [
        (300, 1, "bytes 300..301 are outside a block of 300 bytes"),
        (0, 301, "bytes 0..301 are outside a block of 300 bytes"),
        (301, 0, "bytes 301..301 are outside a block of 300 bytes"), // An empty range that starts past the end.
        (u64::MAX, 2, "bytes 18446744073709551615..18446744073709551617 are outside a block of 300 bytes"),
    ];
    for (offset, len, message) in cases {
        let mut bytes = vec![0; len];
        assert_eq!(block.copy_from_host(stream, offset, &bytes).unwrap_err().to_string(), message);
        assert_eq!(block.copy_to_host(stream, offset, &mut bytes).unwrap_err().to_string(), message);
        if len <= SIZE {
            let into = other.copy_from_block(stream, offset, &block, 0..len as u64);
            assert_eq!(into.unwrap_err().to_string(), message);
        }
        if let Some(end) = offset.checked_add(len as u64) {
            assert_eq!(other.copy_from_block(stream, 0, &block, offset..end).unwrap_err().to_string(), message);
        }
    }
    assert_eq!(read(&fixture, &block, 0, SIZE), pattern(1, SIZE));
    assert_eq!(read(&fixture, &other, 0, SIZE), pattern(2, SIZE));
}

#[test]
fn memory_and_streams_of_two_devices_are_refused() {
    let fixture = Fixture::open();
    let foreign = Context::on(&Device::open(fixture.device().physical()).unwrap()).unwrap();
    let (own, other) = (filled(&fixture, MemoryKind::Device, 1), filled(&foreign, MemoryKind::Device, 2));
    let name = &fixture.info().name;
    let message =
        format!("memory of {name} cannot be used together with memory of {name}: they were opened separately");
    let mut bytes = [0; 10];
    let refused = [
        own.copy_from_host(foreign.default_stream(), 0, &[1; 10]),
        own.copy_to_host(foreign.default_stream(), 0, &mut bytes),
        own.copy_from_block(fixture.default_stream(), 0, &other, 0..10),
        other.copy_from_block(fixture.default_stream(), 0, &own, 0..10),
        own.copy_from_block(foreign.default_stream(), 0, &other, 0..10),
        own.fill(foreign.default_stream(), 0),
    ];
    for refusal in refused {
        assert_eq!(refusal.unwrap_err().to_string(), message);
    }
    assert_eq!(read(&fixture, &own, 0, SIZE), pattern(1, SIZE));
    assert_eq!(read(&foreign, &other, 0, SIZE), pattern(2, SIZE));
}

fn filled(ctx: &Context, kind: MemoryKind, first: u8) -> Arc<Block> {
    let block = ctx.allocator().allocate(SIZE as u64, kind).unwrap();
    block.copy_from_host(ctx.default_stream(), 0, &pattern(first, SIZE)).unwrap();
    block
}

fn copy(ctx: &Context, source: &Arc<Block>, bytes: Range<usize>, to: &Arc<Block>, at: usize) -> Result<(), String> {
    let range = bytes.start as u64..bytes.end as u64;
    to.copy_from_block(ctx.default_stream(), at as u64, source, range).map_err(|error| error.to_string())
}

fn read(ctx: &Context, block: &Arc<Block>, offset: usize, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    block.copy_to_host(ctx.default_stream(), offset as u64, &mut bytes).unwrap();
    bytes
}
