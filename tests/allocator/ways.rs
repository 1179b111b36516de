//! The routes of copies between devices, each forced by a limit: the chosen route, the bytes, and the order with other
//! work.

use std::sync::Arc;
use std::thread;

use vkarray::device::{Device, DeviceInfo};
use vkarray::interop::{ConnectionLimit, ConnectionSync, MemoryConnection, MigrationPath, UnifiedBy};
use vkarray::memory::managers::{PoolManager, Request};
use vkarray::memory::{Allocator, Block, BlockRange, HostOptions, MemoryKind};
use vkarray::{Context, DeviceNDArray, Groups, Stream};

use super::unmapped::Unmapped;
use super::{pattern, read};
use crate::fixture::kernels::{keep_busy, kept_busy, spin, step, stepped};
use crate::fixture::watchdog::watched;
use crate::fixture::{Fixture, child};

const MIB: usize = 1 << 20;

/// A context whose device memory the host cannot address, so that no copy reads it in place.
fn unmapped(device: &Arc<Device>) -> Context {
    let manager = Box::new(Unmapped(PoolManager::new()));
    Context::with_allocator(&Allocator::with_manager(device, manager).unwrap()).unwrap()
}

fn is_same_hardware(from: &DeviceInfo, to: &DeviceInfo) -> bool {
    from.uuid == to.uuid && from.driver.uuid == to.driver.uuid
}

/// Whether `to` imports memory that `from` exports.
fn exports(from: &Context, to: &Context) -> bool {
    let (there, here) = (from.device().external().memory_fd, to.device().external().memory_fd);
    is_same_hardware(from.info(), to.info()) && there.exportable && here.importable
}

/// The connection of a copy within a limit, as the drivers report it.
fn expected(from: &Context, to: &Context, limit: ConnectionLimit, exportable: [bool; 2]) -> MemoryConnection {
    let sync = ConnectionSync::HostWait;
    let imports_pages = |ctx: &Context| ctx.device().external().host_memory.importable;
    let in_place = exportable[0] && exports(from, to) || exportable[1] && exports(to, from);
    match limit {
        ConnectionLimit::Unified if in_place => MemoryConnection::Unified { how: UnifiedBy::Exported, sync },
        ConnectionLimit::Migratable | ConnectionLimit::Unified if exports(from, to) => {
            MemoryConnection::Migratable { path: MigrationPath::ExportedBounce, sync }
        }
        ConnectionLimit::None => MemoryConnection::None,
        _ if imports_pages(from) && imports_pages(to) => {
            MemoryConnection::Migratable { path: MigrationPath::SharedHostBounce, sync }
        }
        _ => MemoryConnection::None,
    }
}

fn block(ctx: &Context, len: usize, exportable: bool) -> Arc<Block> {
    let request = Request::new(len as u64, MemoryKind::Device).exportable(exportable);
    ctx.allocator().allocate_for(&request).unwrap()
}

fn range<'a>(block: &'a Arc<Block>, stream: &'a Stream, start: usize, len: usize) -> BlockRange<'a> {
    BlockRange { block, range: start as u64..(start + len) as u64, stream }
}

/// Copies `len` of `bytes`, from byte 7 to byte 13, and checks the route, the bytes and their neighbours.
fn check_copy(from: &Context, to: &Context, limit: ConnectionLimit, exportable: [bool; 2], bytes: &[u8]) {
    let len = bytes.len() - 40;
    let (here, there) = (from.stream().unwrap(), to.stream().unwrap());
    let (source, target) = (block(from, len + 40, exportable[0]), block(to, len + 40, exportable[1]));
    source.copy_from_host(&here, 0, bytes).unwrap();
    target.fill(&there, 0x5555_5555).unwrap();
    let copied = range(&source, &here, 7, len).copy_within_limit(&range(&target, &there, 13, len), limit).unwrap();
    let what = format!("{} -> {}, {limit:?}, {exportable:?}, {len} bytes", from.info().name, to.info().name);
    let expected = if len == 0 { MemoryConnection::None } else { expected(from, to, limit, exportable) };
    assert_eq!(copied, expected, "{what}");
    let found = read(&target, &there);
    assert!(found[13..13 + len] == bytes[7..7 + len], "{what}");
    assert!(found[..13].iter().chain(&found[13 + len..]).all(|&byte| byte == 0x55), "{what}: its neighbours");
    assert!(read(&source, &here) == bytes, "{what}: the source changed");
}

#[test]
fn each_way_copies_every_byte_and_is_the_strongest_within_the_limit() {
    let fixture = Fixture::open();
    let bytes = pattern(3, 35 * MIB);
    for other in fixture.other_devices() {
        let (here, there) = (unmapped(fixture.device()), unmapped(&other));
        for (from, to) in [(&here, &there), (&there, &here)] {
            let is_exporter = [from, to].map(|ctx| ctx.device().external().memory_fd.exportable);
            for limit in ConnectionLimit::ALL {
                for exportable in [[false; 2], [true, false], [false, true], [true; 2]] {
                    let exportable = [0, 1].map(|side: usize| exportable[side] && is_exporter[side]);
                    for len in [0, 1, 4099, 65_537, 2 * MIB + 1] {
                        check_copy(from, to, limit, exportable, &bytes[..len + 40]);
                    }
                }
                // More bytes than all parts of the memory between the two sides.
                check_copy(from, to, limit, [false; 2], &bytes);
            }
        }
    }
}

#[test]
fn the_host_reads_in_place_what_a_copy_of_each_way_wrote() {
    let fixture = Fixture::open();
    let bytes = pattern(8, 3 * MIB);
    for other in fixture.other_devices() {
        let (from, to) = (unmapped(fixture.device()), Context::on(&other).unwrap());
        let source = from.slice_to_device(&bytes).unwrap();
        let streams = [&from, &to].map(|ctx| ctx.stream().unwrap());
        for limit in ConnectionLimit::ALL {
            for target in [to.pinned_array::<u8>(3 * MIB), to.mapped_array(3 * MIB, HostOptions::default())] {
                let target = target.unwrap();
                let (from, to) = (range(source.block(), &streams[0], 1, 3 * MIB - 1), target.block());
                from.copy_within_limit(&range(to, &streams[1], 0, 3 * MIB - 1), limit).unwrap();
                let found = target.read_on_host().unwrap();
                assert!(found.as_slice().unwrap()[..3 * MIB - 1] == bytes[1..], "{limit:?}");
            }
        }
    }
}

/// Work on other streams of the exporter than the copy's, before and after it, while the importer is busy.
#[test]
fn a_copy_in_place_is_ordered_with_all_streams_of_both_devices() {
    let fixture = Fixture::open();
    for other in fixture.other_devices() {
        let there = Context::on(&other).unwrap();
        for exportable in [[true, false], [false, true]] {
            let makes = |ctx: &Context, exportable| match exportable && exports(ctx, ctx) {
                true => ctx.exportable_array::<u32>(1).unwrap(),
                false => ctx.device_array(1).unwrap(),
            };
            let (x, y) = (makes(&fixture, exportable[0]), makes(&there, exportable[1]));
            let z = there.full(1, 4_u32).unwrap();
            x.fill(1).unwrap();
            y.fill(2).unwrap();
            let (from, to) = (fixture.stream().unwrap(), there.stream().unwrap());
            let (writer, reader) = (fixture.stream().unwrap(), there.stream().unwrap());
            keep_busy(&writer, &spin(&fixture), &x);
            keep_busy(&to, &spin(&there), &z);
            let copied = whole(&x, &from).copy_within_limit(&whole(&y, &to), ConnectionLimit::Unified).unwrap();
            step(&fixture).dispatch(&writer, Groups::covering(1), (&x, 5_u32)).unwrap();
            step(&there).dispatch(&reader, Groups::covering(1), (&y, 7_u32)).unwrap();
            let busy = kept_busy(1);
            let found = (x.to_vec().unwrap()[0], y.to_vec().unwrap()[0]);
            assert_eq!(found, (stepped(busy, 5), stepped(busy, 7)), "{copied}, {exportable:?}");
        }
    }
}

/// While one thread copies in place, another overwrites the exported bytes, each time with one value.
#[test]
fn work_of_other_threads_comes_before_or_after_a_copy_in_place() {
    let fixture = Fixture::open();
    for other in fixture.other_devices() {
        let there = Context::on(&other).unwrap();
        for exportable in [[true, false], [false, true]] {
            let makes = |ctx: &Context, exportable| match exportable && exports(ctx, ctx) {
                true => ctx.exportable_array::<u32>(MIB).unwrap(),
                false => ctx.device_array(MIB).unwrap(),
            };
            let (x, y) = (makes(&fixture, exportable[0]), makes(&there, exportable[1]));
            let shared = if exportable[0] { &x } else { &y };
            shared.fill(0).unwrap();
            x.fill(0).unwrap();
            let streams = [fixture.stream().unwrap(), there.stream().unwrap(), shared.context().stream().unwrap()];
            for round in 0..25 {
                thread::scope(|scope| {
                    scope.spawn(|| {
                        for value in 1..40_u32 {
                            shared.on(&streams[2]).fill(value).unwrap();
                            streams[2].flush().unwrap();
                        }
                    });
                    let (from, to) = (whole(&x, &streams[0]), whole(&y, &streams[1]));
                    from.copy_within_limit(&to, ConnectionLimit::Unified).unwrap();
                });
                let found = y.to_vec().unwrap();
                let n_other = found.iter().filter(|&&element| element != found[0]).count();
                assert_eq!(n_other, 0, "round {round}, {exportable:?}");
            }
        }
    }
}

/// Two threads copy between the same two exportable arrays, each from the array that the other writes.
#[test]
fn copies_in_place_in_opposite_directions_do_not_wait_for_each_other() {
    let fixture = Fixture::open();
    for other in fixture.other_devices() {
        let there = Context::on(&other).unwrap();
        if !exports(&fixture, &there) || !exports(&there, &fixture) {
            continue;
        }
        let (x, y) = (fixture.exportable_array::<u32>(1000).unwrap(), there.exportable_array::<u32>(1000).unwrap());
        x.fill(7).unwrap();
        y.fill(7).unwrap();
        let rounds = |from: &DeviceNDArray<u32>, to: &DeviceNDArray<u32>| {
            let streams = [from, to].map(|array| array.context().stream().unwrap());
            // The validation layer (1.3.239) stops for 10 s where one thread reads a semaphore while another signals it,
            // which some of the rounds do.
            for _ in 0..10 {
                let (from, to) = (whole(from, &streams[0]), whole(to, &streams[1]));
                from.copy_within_limit(&to, ConnectionLimit::Unified).unwrap();
            }
        };
        watched("copies in place in opposite directions", || {
            thread::scope(|scope| {
                scope.spawn(|| rounds(&x, &y));
                scope.spawn(|| rounds(&y, &x));
            });
        });
        assert!(x.to_vec().unwrap().iter().chain(&y.to_vec().unwrap()).all(|&element| element == 7));
    }
}

fn whole<'a>(array: &'a DeviceNDArray<u32>, stream: &'a Stream) -> BlockRange<'a> {
    range(array.block(), stream, 0, 4 * array.size())
}

#[test]
fn exported_memory_is_copied_at_once_and_outlives_its_arrays() {
    let fixture = Fixture::open();
    for other in fixture.other_devices() {
        let there = Context::on(&other).unwrap();
        if !exports(&fixture, &there) {
            continue;
        }
        let n = 5 * MIB; // Large enough to be worth an import.
        let x = fixture.exportable_array::<u32>(n).unwrap();
        x.fill(9).unwrap();
        let y = x.copy_to_context(&there).unwrap();
        drop(x);
        assert!(y.to_vec().unwrap().iter().all(|&element| element == 9));
        let back = fixture.exportable_array::<u32>(n).unwrap();
        back.copy_from_context(&y).unwrap();
        y.fill(0).unwrap();
        assert!(back.to_vec().unwrap().iter().all(|&element| element == 9));
    }
}

#[test]
fn the_variable_limits_copies_of_arrays() {
    const TEST: &str = "allocator::ways::the_variable_limits_copies_of_arrays";
    let fixture = Fixture::open();
    if child::argument().is_none() {
        for limit in ["none", "host-pages", "migratable", "unified"] {
            let (passed, text) = child::run(TEST, limit, &[("VKARRAY_MEMORY_CONNECTION", limit)]);
            assert!(passed, "{limit}: {text}");
        }
        return;
    }
    let limit = ConnectionLimit::from_environment().unwrap();
    for other in fixture.other_devices() {
        let (here, there) = (unmapped(fixture.device()), unmapped(&other));
        let bytes = pattern(7, MIB);
        let (source, target) = (block(&here, MIB, false), block(&there, MIB, false));
        let streams = [&here, &there].map(|ctx| ctx.stream().unwrap());
        source.copy_from_host(&streams[0], 0, &bytes).unwrap();
        let target_range = range(&target, &streams[1], 0, MIB);
        let copied = range(&source, &streams[0], 0, MIB).copy_within_limit(&target_range, ConnectionLimit::Unified);
        assert_eq!(copied.unwrap(), expected(&here, &there, limit, [false; 2]));
        assert!(read(&target, &streams[1]) == bytes);
    }
}
