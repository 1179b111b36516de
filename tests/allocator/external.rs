//! Memory and semaphores that two devices share, opened separately on the same hardware, and their connections.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use ash::vk;
use vkarray::device::{Device, Error as DriverError, External, PhysicalDevice};
use vkarray::interop::{
    ConnectionSync, ConnectionTraits, ExportedMemory, MemoryConnection, MemoryDescription, MigrationPath, UnifiedBy,
    connection_between, note_connection_failure,
};
use vkarray::memory::managers::Request;
use vkarray::memory::{Error as MemoryError, MemoryKind};
use vkarray::vulkan::{ExternalSemaphore, SemaphoreKind};
use vkarray::{Context, Error, Groups};

use super::pattern;
use crate::fixture::kernels::{keep_busy, kept_busy, spin, step, stepped};
use crate::fixture::watchdog::watched;
use crate::fixture::{Fixture, child, contents, poll};

/// Another device on the fixture's hardware, closed at the end of a test.
struct Second(Option<Context>);

impl Second {
    fn open(fixture: &Fixture) -> Self {
        Self(Some(Context::on(&Device::open(fixture.device().physical()).unwrap()).unwrap()))
    }

    fn context(&self) -> &Context {
        self.0.as_ref().unwrap()
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        let device = Arc::clone(self.context().device());
        self.0 = None;
        poll("the release of the second device", || Arc::strong_count(&device) == 1);
    }
}

/// Whether the fixture's device exports memory and imports it again. Where it does not, the tests check that exports
/// are refused.
fn shares_memory(ctx: &Context) -> bool {
    let External { memory_fd, .. } = ctx.device().external();
    memory_fd.exportable && memory_fd.importable
}

/// The driver's own answer about storage buffers.
fn raw_support(device: &PhysicalDevice, handle_type: vk::ExternalMemoryHandleTypeFlags) -> (bool, bool) {
    let usage = vk::BufferUsageFlags::STORAGE_BUFFER | vk::BufferUsageFlags::TRANSFER_SRC;
    let info = vk::PhysicalDeviceExternalBufferInfo::default().usage(usage).handle_type(handle_type);
    let mut properties = vk::ExternalBufferProperties::default();
    let instance = device.instance().raw();
    // SAFETY: the device is of this instance, and both structures are complete.
    unsafe { instance.get_physical_device_external_buffer_properties(device.raw(), &info, &mut properties) };
    let features = properties.external_memory_properties.external_memory_features;
    let has = |feature| features.contains(feature);
    (has(vk::ExternalMemoryFeatureFlags::EXPORTABLE), has(vk::ExternalMemoryFeatureFlags::IMPORTABLE))
}

#[test]
fn every_pair_of_devices_is_connected_as_their_drivers_say() {
    let fixture = Fixture::open();
    let physical = fixture.instance().devices().unwrap();
    let devices: Vec<_> =
        physical.iter().flat_map(|physical| [0, 1].map(|_| Device::open(physical).unwrap())).collect();
    for (i, src) in devices.iter().enumerate() {
        for (j, dst) in devices.iter().enumerate() {
            let ask =
                |exportable| connection_between(src, dst, &ConnectionTraits::default().exportable(exportable)).unwrap();
            let (plain, exportable) = (ask(false), ask(true));
            println!("{} {i} -> {} {j}: {plain}; exportable: {exportable}", src.info().name, dst.info().name);
            let expected = expected(src, dst, i == j);
            assert_eq!((plain, exportable), expected, "{} {i} -> {} {j}", src.info().name, dst.info().name);
        }
    }
}

/// The answers for memory that is not exportable, and for memory that is.
fn expected(src: &Device, dst: &Device, is_same: bool) -> (MemoryConnection, MemoryConnection) {
    let both = |answer| (answer, answer);
    if is_same {
        return both(MemoryConnection::Unified { how: UnifiedBy::Identity, sync: ConnectionSync::Gpu });
    }
    let listed = |device: &Device, name| device.info().has_extension(name);
    let fd = |device: &Device| match listed(device, "VK_KHR_external_memory_fd") {
        true => raw_support(device.physical(), vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD),
        false => (false, false),
    };
    let pages = |device: &Device| {
        listed(device, "VK_EXT_external_memory_host")
            && raw_support(device.physical(), vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT).1
    };
    let uuids = |device: &Device| (device.info().uuid.clone(), device.info().driver.uuid.clone());
    let timeline = src.info().external.timeline_fd;
    let is_ordered = uuids(src) == uuids(dst) && timeline.exportable && timeline.importable;
    let sync = if is_ordered { ConnectionSync::Gpu } else { ConnectionSync::HostWait };
    if uuids(src) == uuids(dst) && fd(src).0 && fd(dst).1 {
        let plain = MemoryConnection::Migratable { path: MigrationPath::ExportedBounce, sync };
        return (plain, MemoryConnection::Unified { how: UnifiedBy::Exported, sync });
    }
    both(match pages(src) && pages(dst) {
        true => MemoryConnection::Migratable { path: MigrationPath::SharedHostBounce, sync },
        false => MemoryConnection::None,
    })
}

#[test]
fn arrays_blocks_and_contexts_name_the_same_connection() {
    let (fixture, second) = {
        let fixture = Fixture::open();
        let second = Second::open(&fixture);
        (fixture, second)
    };
    let other = second.context();
    let plain = connection_between(fixture.device(), other.device(), &ConnectionTraits::default()).unwrap();
    let array = fixture.zeros::<u32>(5).unwrap();
    assert_eq!(fixture.connection_to(other).unwrap(), plain);
    assert_eq!(array.connection_to(other).unwrap(), plain);
    assert_eq!(array.block().connection_to(other.device()).unwrap(), plain);
    let memory = vkarray::memory::usm::DeviceMemory::new(&*fixture, 8).unwrap();
    assert_eq!(memory.connection_to(other).unwrap(), plain);
    if shares_memory(&fixture) {
        let exportable = fixture.exportable_array::<u32>(5).unwrap().connection_to(other).unwrap();
        assert!(matches!(exportable, MemoryConnection::Unified { how: UnifiedBy::Exported, .. }), "{exportable}");
        note_connection_failure(fixture.device(), other.device(), exportable);
        assert_ne!(fixture.connection_to(other).unwrap(), plain, "a failure was forgotten");
        assert_eq!(other.connection_to(&fixture).unwrap(), plain, "the other direction did not fail");
    }
    memory.free().unwrap();
    assert!(matches!(memory.connection_to(other), Err(MemoryError::UsedAfterFree { nbytes: 8 })));
    drop((array, memory, second));
}

#[test]
fn a_variable_limits_the_connection() {
    const TEST: &str = "allocator::external::a_variable_limits_the_connection";
    let fixture = Fixture::open();
    let second = Second::open(&fixture);
    let answer = fixture.connection_to(second.context());
    if let Some(expected) = child::argument() {
        return match answer {
            Ok(answer) => assert!(answer.to_string().starts_with(&expected), "{answer}"),
            Err(error) => assert_eq!(error.to_string(), expected),
        };
    }
    let refused = "\"some\" in VKARRAY_MEMORY_CONNECTION is not `none`, `host-pages`, `migratable` or `unified`";
    for (value, expected) in [("none", "none"), ("migratable", "migratable"), ("some", refused)] {
        let (passed, text) = child::run(TEST, expected, &[("VKARRAY_MEMORY_CONNECTION", value)]);
        assert!(passed, "{value}: {text}");
    }
}

#[test]
fn both_devices_read_what_either_writes_to_exported_memory() {
    let fixture = Fixture::open();
    if !shares_memory(&fixture) {
        let refused = fixture.exportable_array::<u32>(4).unwrap_err();
        assert!(matches!(refused, Error::Memory(MemoryError::Unsupported { .. })), "{refused}");
        return;
    }
    let second = Second::open(&fixture);
    let other = second.context();
    let (here, there) = (step(&fixture), step(other));
    for len in [1, 63, 64, 65, 4099] {
        let x = fixture.exportable_array::<u32>(len).unwrap();
        let y = other.import_array::<u32>(&x.block().export().unwrap(), len).unwrap();
        assert!(!x.block().is_mapped() && !y.block().is_mapped(), "a Rust reference to memory that others write");
        assert!(x.block().is_exportable() && !y.block().is_exportable());
        let values: Vec<u32> = (0..).take(len).collect();
        x.copy_from_slice(&values).unwrap();
        fixture.synchronize().unwrap(); // The host waits, since nothing orders the devices.
        there.dispatch(other.default_stream(), Groups::covering([len]), (&y, 3_u32)).unwrap();
        other.synchronize().unwrap();
        here.dispatch(fixture.default_stream(), Groups::covering([len]), (&x, 5_u32)).unwrap();
        fixture.synchronize().unwrap();
        let expected: Vec<u32> = values.iter().map(|&value| stepped(stepped(value, 3), 5)).collect();
        assert_eq!(contents(&y), expected, "{len}");
        drop(x); // The importer keeps the memory.
        fixture.allocator().flush().unwrap();
        assert_eq!(contents(&y), expected, "{len}, without the exporter");
    }
    let empty = fixture.exportable_array::<u32>(0).unwrap();
    let imported = other.import_array::<u32>(&empty.block().export().unwrap(), 0).unwrap();
    assert_eq!(contents(&imported), Vec::<u32>::new());
    drop((empty, imported, here, there));
    drop(second);
}

#[test]
fn an_export_is_imported_more_than_once_and_by_its_own_device() {
    let fixture = Fixture::open();
    if !shares_memory(&fixture) {
        return assert!(fixture.exportable_array::<u32>(4).is_err());
    }
    let block = fixture.allocator().allocate_for(&Request::new(1000, MemoryKind::Device).exportable(true)).unwrap();
    let exported = block.export().unwrap();
    let stream = fixture.default_stream();
    block.copy_from_host(stream, 0, &pattern(9, 1000)).unwrap();
    stream.synchronize().unwrap();
    let imports: Vec<_> = (0..3).map(|_| fixture.allocator().import(&exported).unwrap()).collect();
    drop((block, exported));
    for imported in &imports {
        let mut bytes = vec![0; 1000];
        imported.copy_to_host(stream, 0, &mut bytes).unwrap();
        assert_eq!(bytes, pattern(9, 1000));
        assert!(matches!(imported.export(), Err(MemoryError::NotExportable { size: 1000, .. })));
    }
}

#[test]
fn what_cannot_be_exported_or_imported_is_refused_by_name() {
    let fixture = Fixture::open();
    let plain = fixture.zeros::<u32>(4).unwrap();
    assert!(matches!(plain.block().export(), Err(MemoryError::NotExportable { size: 16, .. })));
    for kind in [MemoryKind::Pinned, MemoryKind::WriteCombined, MemoryKind::Shared] {
        let refused = fixture.allocator().allocate_for(&Request::new(16, kind).exportable(true)).unwrap_err();
        assert!(matches!(refused, MemoryError::Unsupported { .. }), "{refused}");
    }
    if !shares_memory(&fixture) {
        return;
    }
    let array = fixture.exportable_array::<u32>(1000).unwrap();
    let exported = array.block().export().unwrap();
    let refused = |change: &dyn Fn(&mut MemoryDescription)| {
        let mut description = exported.description().clone();
        change(&mut description);
        // SAFETY: the description is wrong, and is refused before the driver sees it.
        let forged = unsafe { ExportedMemory::new(exported.fd().unwrap(), description) };
        fixture.allocator().import(&forged).unwrap_err().to_string()
    };
    let foreign = |what| format!("cannot be imported by device {}: {what} differs", what_uuid(&fixture, what));
    assert!(refused(&|d| d.device_uuid = "a".repeat(32)).ends_with(&foreign("the device")));
    assert!(refused(&|d| d.driver_uuid = "b".repeat(32)).ends_with(&foreign("the driver")));
    let does_not_fit = "the description of exported memory does not fit: ";
    for (text, what) in [
        (refused(&|d| d.allocation_size /= 2), "the size of the allocation"),
        (refused(&|d| d.size *= 2), "the size of the allocation"),
        (refused(&|d| d.memory_type = 77), "the memory type is 77"),
        (refused(&|d| d.size = u64::MAX), "18446744073709551615 bytes are more than one buffer"),
    ] {
        assert!(text.strip_prefix(does_not_fit).unwrap_or(&text).starts_with(what), "{text}");
    }
    let refused = fixture.import_array::<u32>(&exported, 1001).unwrap_err();
    assert!(matches!(refused, Error::Memory(MemoryError::OutOfBounds { .. })), "{refused}");
    // A file that is too short, with a description that fits.
    let short = OwnedFd::from(tempfile::tempfile().unwrap());
    // SAFETY: the file is no memory, and is refused before the driver sees it.
    let forged = unsafe { ExportedMemory::new(short, exported.description().clone()) };
    assert!(fixture.allocator().import(&forged).is_err());
    // A pipe, from which a driver would read for ever.
    let (pipe, _writer) = std::io::pipe().unwrap();
    // SAFETY: the pipe is no memory, and is refused before the driver sees it.
    let forged = unsafe { ExportedMemory::new(pipe.into(), exported.description().clone()) };
    let refused = watched("importing a pipe", || fixture.allocator().import(&forged).unwrap_err());
    assert!(matches!(refused, MemoryError::Descriptor(_)), "{refused}");
    assert_eq!(fixture.import_array::<u32>(&exported, 1000).unwrap().size(), 1000, "the refusals changed something");
}

/// Opens files until the process can open only `n_free` more.
fn exhaust_descriptors(n_free: usize) -> Vec<File> {
    let limit = libc::rlimit { rlim_cur: 200, rlim_max: 200 };
    // SAFETY: the structure is complete, and the limit applies to this process alone.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) }, 0);
    let mut opened: Vec<_> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    opened.truncate(opened.len() - n_free);
    opened
}

#[test]
fn a_process_without_free_descriptors_has_devices_and_exports_nothing() {
    const TEST: &str = "allocator::external::a_process_without_free_descriptors_has_devices_and_exports_nothing";
    if child::argument().is_none() {
        let (passed, text) = child::run(TEST, "", &[]);
        return assert!(passed, "{text}");
    }
    let fixture = Fixture::open();
    let exports = fixture.device().external().memory_fd.exportable;
    let array = if exports { fixture.exportable_array::<u32>(1000) } else { fixture.device_array(1000) }.unwrap();
    let semaphore = || ExternalSemaphore::new(fixture.device().logical(), SemaphoreKind::Timeline).unwrap();
    let semaphore = fixture.device().external().timeline_fd.exportable.then(semaphore);
    let opened = exhaust_descriptors(0);
    if exports {
        let refused = array.block().export().unwrap_err().to_string();
        assert!(refused.starts_with("vkGetMemoryFdKHR returned ERROR_"), "{refused}");
    }
    if let Some(semaphore) = semaphore {
        let refused = semaphore.export_fd().unwrap_err().to_string();
        assert!(refused.starts_with("vkGetSemaphoreFdKHR returned ERROR_"), "{refused}");
    }
    drop(opened);
    for n_free in 0..20 {
        let opened = exhaust_descriptors(n_free);
        let other = Context::open_default();
        drop(opened);
        let error = other.err();
        assert!(!error.as_ref().is_some_and(Error::is_no_device), "{n_free} descriptors are free: {error:?}");
        assert!(n_free > 0 || matches!(error, Some(Error::Driver(DriverError::NoDescriptors { .. }))), "{error:?}");
    }
    assert!(!exports || array.block().export().is_ok());
}

fn what_uuid(ctx: &Context, what: &str) -> String {
    if what == "the device" { ctx.info().uuid.clone() } else { ctx.info().driver.uuid.clone() }
}

#[test]
fn exportable_memory_in_use_outlives_its_last_handle() {
    let fixture = Fixture::open();
    if !shares_memory(&fixture) {
        return assert!(fixture.exportable_array::<u32>(4).is_err());
    }
    let second = Second::open(&fixture);
    let spin = spin(&fixture);
    let x = fixture.exportable_array::<u32>(1).unwrap();
    x.fill(1).unwrap();
    let y = second.context().import_array::<u32>(&x.block().export().unwrap(), 1).unwrap();
    keep_busy(fixture.default_stream(), &spin, &x);
    drop(x); // The array's work still runs.
    fixture.synchronize().unwrap();
    assert_eq!(contents(&y), [kept_busy(1)]);
    drop(y);
    drop(second);
}

#[test]
fn semaphores_of_descriptors_order_two_devices_where_the_driver_has_them() {
    let fixture = Fixture::open();
    let external = fixture.device().external();
    for (kind, support) in
        [(SemaphoreKind::Timeline, external.timeline_fd), (SemaphoreKind::Binary, external.binary_fd)]
    {
        match ExternalSemaphore::new(fixture.device().logical(), kind) {
            Err(DriverError::Unsuitable { .. }) => assert!(!support.exportable, "{kind:?} is refused"),
            Err(error) => panic!("{error}"),
            Ok(semaphore) if support.importable && shares_memory(&fixture) => ordered(&fixture, &semaphore),
            Ok(_) => assert!(support.exportable, "{kind:?} is not refused"),
        }
    }
}

/// Work of another device starts after long work of the fixture's, by a semaphore.
fn ordered(fixture: &Fixture, semaphore: &ExternalSemaphore) {
    let second = Second::open(fixture);
    let other = second.context();
    // SAFETY: a device of the same hardware exported the semaphore just now, and it is of the same kind.
    let imported = unsafe {
        ExternalSemaphore::import_fd(other.device().logical(), semaphore.kind(), semaphore.export_fd().unwrap())
    };
    let imported = imported.unwrap();
    assert!(matches!(imported.export_fd(), Err(DriverError::Unsuitable { .. })));
    let (spin, step) = (spin(fixture), step(other));
    let x = fixture.exportable_array::<u32>(1).unwrap();
    let y = other.import_array::<u32>(&x.block().export().unwrap(), 1).unwrap();
    x.fill(1).unwrap();
    let mut expected = 1;
    for round in 1..4_u32 {
        keep_busy(fixture.default_stream(), &spin, &x);
        // SAFETY: values grow, and each signal of a binary semaphore is waited for before the next one.
        unsafe { fixture.default_stream().signal_external(semaphore, round.into()) }.unwrap();
        // SAFETY: the signal was submitted before.
        unsafe { other.default_stream().wait_external(&imported, round.into()) }.unwrap();
        step.dispatch(other.default_stream(), Groups::covering([1]), (&y, round)).unwrap();
        expected = stepped(kept_busy(expected), round);
        other.synchronize().unwrap();
        assert_eq!(contents(&y), [expected], "round {round}, {:?}", semaphore.kind());
    }
    // SAFETY: the wait is refused before anything is submitted.
    let refused = unsafe { other.default_stream().wait_external(semaphore, 9) };
    assert!(matches!(refused, Err(DriverError::DifferentDevices)));
    drop((x, y, imported, step));
    drop(second);
}
