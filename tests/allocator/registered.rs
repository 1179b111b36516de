//! Registered slices of the host: any address and length, imported or staged, and no use of a slice after its call.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ash::vk;
use vkarray::device::Device;
use vkarray::kernel::Error as KernelError;
use vkarray::memory::Error as MemoryError;
use vkarray::memory::RegisteredPath;
use vkarray::stream::GraphRecorder;
use vkarray::{Context, Graph, Groups, Index};
use vkarray_allocator::HostPointer;
use vkarray_driver::DeviceRequest;

use super::pattern;
use crate::fixture::Fixture;
use crate::fixture::kernels::{step, stepped};

pub(super) const PAGE: usize = 4096;

/// A context that imports memory, if the device can, and a context that does not.
pub(super) fn both(fixture: &Fixture) -> [(&'static str, Context); 2] {
    let without = vec!["VK_EXT_external_memory_host".to_owned()];
    let request = DeviceRequest { without, ..DeviceRequest::default() };
    let staged = Device::open_with(fixture.device().physical(), &request).unwrap();
    [("as opened", Context::clone(fixture)), ("without the extension", Context::on(&staged).unwrap())]
}

/// `len` bytes that start `offset` bytes after the start of a page, with other bytes around them.
struct Lent {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl Lent {
    fn new(offset: usize, len: usize) -> Self {
        let bytes = vec![0xAB; len + 3 * PAGE];
        let start = bytes.as_ptr().addr().next_multiple_of(PAGE) - bytes.as_ptr().addr() + offset;
        Self { bytes, start, len }
    }

    fn slice(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.len]
    }

    /// Fails if a byte around the slice has changed.
    fn assert_untouched(&self, what: &str) {
        let around = self.bytes[..self.start].iter().chain(&self.bytes[self.start + self.len..]);
        assert!(around.copied().all(|byte| byte == 0xAB), "{what}: bytes around the slice changed");
    }
}

/// Whether the device imports host memory as buffers that can be copied from and to.
pub(super) fn imports(ctx: &Context) -> bool {
    let device = ctx.device();
    let (instance, usage) = (device.physical().instance().raw(), vk::BufferUsageFlags::TRANSFER_DST);
    let handle_type = vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT;
    let info = vk::PhysicalDeviceExternalBufferInfo::default().usage(usage).handle_type(handle_type);
    let mut properties = vk::ExternalBufferProperties::default();
    // SAFETY: the physical device is of this instance, and both structures are complete.
    unsafe {
        instance.get_physical_device_external_buffer_properties(device.physical().raw(), &info, &mut properties);
    }
    let features = properties.external_memory_properties.external_memory_features;
    device.plan().extensions.iter().any(|name| name == "VK_EXT_external_memory_host")
        && features.contains(vk::ExternalMemoryFeatureFlags::IMPORTABLE)
}

/// The path of registered memory whose pages no other registration has.
fn expected_path(ctx: &Context, offset: usize, len: usize) -> RegisteredPath {
    let is_pages = len > 0 && (0..len).step_by(PAGE).all(|at| (offset + at).is_multiple_of(PAGE) && len - at >= PAGE);
    let is_worth_it = is_pages || len > 16 << 10;
    if imports(ctx) && is_worth_it { RegisteredPath::Imported } else { RegisteredPath::Staged }
}

#[test]
fn every_address_and_length_is_copied_to_the_byte() {
    let fixture = Fixture::open();
    // All lengths are staged, except whole pages.
    let few = [0, 1, 3, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 3 * PAGE + 517];
    let many = [4 * PAGE, 4 * PAGE + 1, 5 * PAGE + 517, 100_003];
    let lengths = [&few[..], &many].concat();
    let offsets = [0, 1, 4, 1111, PAGE - 1];
    for (name, ctx) in both(&fixture) {
        for (len, offset) in lengths.iter().flat_map(|&len| offsets.map(|offset| (len, offset))) {
            let what = format!("{name}, {len} bytes at {offset}");
            let (source, target) = (ctx.slice_to_device(&pattern(3, len)).unwrap(), ctx.zeros::<u8>([len]).unwrap());
            let mut lent = Lent::new(offset, len);
            let path = expected_path(&ctx, offset, len);
            ctx.register(lent.slice(), |mut registered| {
                assert_eq!((registered.len(), registered.path()), (len, path), "{what}");
                registered.copy_from(0, &source).unwrap();
                // The target gets the bytes just copied, which may be in staging memory.
                registered.copy_to(0, &target).unwrap();
                assert_eq!(registered.read().unwrap(), pattern(3, len), "{what}");
                registered.write().unwrap().copy_from_slice(&pattern(77, len));
                registered.copy_to(0, &source).unwrap();
                registered.copy_from(0, &target).unwrap();
            })
            .unwrap();
            // The end of the call waited for the last copy.
            assert_eq!(lent.slice(), pattern(3, len), "{what}");
            lent.assert_untouched(&what);
            assert_eq!(target.copy_to_host().unwrap().as_slice().unwrap(), pattern(3, len), "{what}");
            assert_eq!(source.copy_to_host().unwrap().as_slice().unwrap(), pattern(77, len), "{what}");
        }
    }
}

/// Large copies are cut at the ends of whole pages.
#[test]
fn slices_of_several_mebibytes_are_copied_to_the_byte() {
    let fixture = Fixture::open();
    for (name, ctx) in both(&fixture) {
        for (offset, len) in [(0, 8 << 20), (16, 8 << 20), (PAGE - 3, (4 << 20) + PAGE + 7)] {
            let what = format!("{name}, {len} bytes at {offset}");
            let source = ctx.slice_to_device(&pattern(5, len)).unwrap();
            let target = ctx.zeros::<u8>([len]).unwrap();
            let mut lent = Lent::new(offset, len);
            ctx.register(lent.slice(), |mut registered| {
                registered.copy_from(0, &source).unwrap();
                registered.copy_to(0, &target).unwrap();
            })
            .unwrap();
            assert!(lent.slice() == pattern(5, len), "{what}");
            assert!(target.to_vec().unwrap() == pattern(5, len), "{what}");
            lent.assert_untouched(&what);
        }
    }
}

#[test]
fn parts_of_the_slice_are_copied_to_strided_views() {
    let fixture = Fixture::open();
    for (name, ctx) in both(&fixture) {
        let mut data: Vec<u32> = (0..5000).collect();
        let array = ctx.zeros::<u32>([40, 50]).unwrap();
        let view = array.slice([Index::stepped(.., -3), Index::stepped(5.., 2)]).unwrap();
        let n = view.size();
        ctx.register(&mut data[1..], |mut registered| {
            registered.copy_to(900, &view).unwrap();
            registered.copy_from(4000, &view).unwrap();
            let message = format!("{n} elements from element {} on are outside a slice of 4999", 5000 - n);
            assert_eq!(registered.copy_to(5000 - n, &view).unwrap_err().to_string(), message);
            assert_eq!(registered.copy_from(5000 - n, &view).unwrap_err().to_string(), message);
            assert!(registered.copy_from(usize::MAX, &view).is_err());
        })
        .unwrap();
        let expected: Vec<u32> = (901..).take(n).collect();
        assert_eq!(data[4001..4001 + n], expected, "{name}");
        assert_eq!(view.copy_to_host().unwrap().iter().copied().collect::<Vec<_>>(), expected, "{name}");
    }
}

#[test]
fn copies_are_ordered_with_kernels() {
    let fixture = Fixture::open();
    for (name, ctx) in both(&fixture) {
        let step = step(&ctx);
        let mut data: Vec<u32> = (0..10_000).collect();
        let array = ctx.zeros::<u32>([10_000]).unwrap();
        let stream = ctx.stream().unwrap();
        ctx.register(&mut data, |mut registered| {
            for add in 0..20_u32 {
                registered.on(&stream).copy_to(0, &array).unwrap();
                step.dispatch(&stream, Groups::covering([10_000]), (&array, add)).unwrap();
                registered.on(&stream).copy_from(0, &array).unwrap();
            }
        })
        .unwrap();
        let expected: Vec<u32> = (0..10_000).map(|x| (0..20).fold(x, stepped)).collect();
        assert_eq!(data, expected, "{name}");
    }
}

#[test]
fn a_panic_ends_the_registration_too() {
    let fixture = Fixture::open();
    for (name, ctx) in both(&fixture) {
        let mut lent = Lent::new(100, 6 * PAGE);
        let source = ctx.slice_to_device(&pattern(9, 6 * PAGE)).unwrap();
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            ctx.register(lent.slice(), |mut registered| {
                registered.copy_from(0, &source).unwrap();
                panic!("on purpose");
            })
        }));
        assert!(panicked.is_err());
        assert_eq!(lent.slice(), pattern(9, 6 * PAGE), "{name}");
        // The slice can be registered again.
        ctx.register(lent.slice(), |mut registered| registered.copy_to(0, &source).unwrap()).unwrap();
    }
}

#[test]
fn a_registration_ends_with_its_call_whatever_other_threads_free() {
    let fixture = Fixture::open();
    let (mut lent, is_done) = (Lent::new(0, PAGE), AtomicBool::new(false));
    let flush = || {
        while !is_done.load(Ordering::Relaxed) {
            fixture.allocator().try_flush().unwrap();
        }
    };
    thread::scope(|scope| {
        scope.spawn(flush);
        // Pages whose registration has not ended are not registered again.
        let registered = (0..3000).try_for_each(|_| fixture.register(lent.slice(), |_| ()));
        is_done.store(true, Ordering::Relaxed);
        registered.unwrap();
    });
}

#[test]
fn kernels_run_on_registered_slices() {
    let fixture = Fixture::open();
    let stepped_all = |words: &[u32], add| words.iter().map(|&word| stepped(word, add)).collect::<Vec<_>>();
    for (name, ctx) in both(&fixture) {
        let step = step(&ctx);
        let whole = [(0, PAGE), (0, 2 * PAGE)];
        let cut = [(0, 4), (4, PAGE - 4), (PAGE - 4, 2 * PAGE), (PAGE - 4, 6 * PAGE), (8, 4 * 1009)];
        for (offset, len) in whole.into_iter().chain(cut) {
            let what = format!("{name}, {len} bytes at {offset}");
            let mut lent = [Lent::new(offset, len), Lent::new(offset, len)];
            let n = len / 4;
            let [x, y] = [vec![3_u32; n], (0..).take(n).collect()];
            let target = ctx.zeros::<u32>([n]).unwrap();
            for (lent, words) in lent.iter_mut().zip([&x, &y]) {
                lent.slice().copy_from_slice(bytemuck::cast_slice(words));
            }
            let [first, second] = lent.each_mut().map(|lent| bytemuck::cast_slice_mut::<u8, u32>(lent.slice()));
            ctx.register_all((first, second), |(mut a, mut b)| {
                let (bound_a, bound_b) = (a.bind().unwrap(), b.bind().unwrap());
                step.launch(Groups::covering(n), (&bound_a, 1_u32)).unwrap();
                step.launch(Groups::covering(n), (&bound_b, 2_u32)).unwrap();
                b.copy_to(0, &target).unwrap(); // The target gets the values that the kernel wrote.
                assert_eq!(target.to_vec().unwrap(), stepped_all(&y, 2), "{what}");
                assert_eq!(a.read().unwrap(), stepped_all(&x, 1), "{what}");
                a.write().unwrap().fill(9);
                step.launch(Groups::covering(n), (&a.bind().unwrap(), 3_u32)).unwrap();
                target.fill(6).unwrap();
                b.copy_from(0, &target).unwrap(); // The next kernel reads the copied values.
                step.launch(Groups::covering(n), (&b.bind().unwrap(), 5_u32)).unwrap();
            })
            .unwrap();
            // The end of the call waited for the kernels.
            let [first, second] = lent.each_mut().map(|lent| bytemuck::cast_slice::<u8, u32>(lent.slice()).to_vec());
            assert_eq!((first, second), (vec![stepped(9, 3); n], vec![stepped(6, 5); n]), "{what}");
            lent.iter().for_each(|lent| lent.assert_untouched(&what));
        }
    }
}

#[test]
fn registered_slices_are_typed_arguments_and_stay_out_of_graphs() {
    let fixture = Fixture::open();
    let (step, mut floats, mut words) = (step(&fixture), [1.0_f32; 8], [1_u32; 8]);
    fixture
        .register(&mut floats, |mut data| {
            let refused = step.launch(Groups::covering(8), (&data.bind().unwrap(), 1_u32)).unwrap_err();
            assert!(refused.to_string().contains("f32"), "{refused}");
        })
        .unwrap();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        fixture.register(&mut words, |mut data| {
            let bound = data.bind().unwrap();
            let record = |graph: &mut GraphRecorder| step.record(graph, Groups::covering(8), (&bound, 1_u32));
            let refused = Graph::record(fixture.default_stream(), record);
            assert!(matches!(refused, Err(KernelError::RegisteredInGraph)), "{refused:?}");
            step.launch(Groups::covering(8), (&data.bind().unwrap(), 1_u32)).unwrap();
            panic!("on purpose");
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(words, [stepped(1, 1); 8], "copied back, although the call panicked");
}

/// The second of two slices with a page in common has its other pages imported, and meanwhile the program uses the rest
/// of the first slice's pages.
#[test]
fn neighbours_are_registered_side_by_side() {
    let fixture = Fixture::open();
    let mut lent = Lent::new(0, 13 * PAGE);
    let (front, rest) = lent.slice().split_at_mut(30);
    let (low, rest) = rest.split_at_mut(6 * PAGE - 130);
    let high = &mut rest[..6 * PAGE + 50];
    let given = pattern(5, high.len());
    let array = fixture.slice_to_device(&given).unwrap();
    let start = array.slice([Index::from(..low.len() as isize)]).unwrap();
    let (path_of_low, path_of_high) = if imports(&fixture) {
        (RegisteredPath::Imported, RegisteredPath::Parts { imported: 100..5 * PAGE + 100 })
    } else {
        (RegisteredPath::Staged, RegisteredPath::Staged)
    };
    fixture
        .register(low, |mut low| {
            assert_eq!(low.path(), path_of_low);
            fixture
                .register(high, |mut high| {
                    assert_eq!(high.path(), path_of_high);
                    for round in 0..50 {
                        high.copy_from(0, &array).unwrap();
                        low.copy_from(0, &start).unwrap();
                        front.fill(round);
                        low.read().unwrap();
                        assert_eq!(front, [round; 30]);
                    }
                })
                .unwrap();
        })
        .unwrap();
    let mut expected = vec![0xAB; 13 * PAGE];
    expected[..30].fill(49);
    expected[30..6 * PAGE - 100].copy_from_slice(&given[..6 * PAGE - 130]);
    expected[6 * PAGE - 100..12 * PAGE - 50].copy_from_slice(&given);
    assert!(lent.slice() == expected);
}

#[test]
fn pages_are_pinned_whole_and_once() {
    let fixture = Fixture::open();
    let manager = fixture.allocator().manager();
    let mut lent = Lent::new(0, 2 * PAGE);
    let start = NonNull::from(lent.slice()).cast::<u8>();
    // SAFETY: the offset is at most the length.
    let at = |offset: usize| unsafe { start.add(offset) };
    // SAFETY: `lent` outlives the pinned memory, and no work uses the memory.
    let pin = |offset: usize, size: usize| unsafe { manager.mempin(Box::new(()), at(offset), size as u64, true) };
    let first = pin(0, PAGE);
    if !imports(&fixture) {
        return assert!(matches!(first, Err(MemoryError::Unsupported { .. })), "{first:?}");
    }
    let first = first.unwrap();
    for (offset, size) in [(1, PAGE), (0, PAGE + 1), (PAGE, 0), (16, 16)] {
        assert!(matches!(pin(offset, size), Err(MemoryError::NotWholePages { .. })), "{size} at {offset}");
    }
    for (offset, size) in [(0, PAGE), (0, 2 * PAGE)] {
        assert!(matches!(pin(offset, size), Err(MemoryError::AlreadyPinned { .. })), "{size} at {offset}");
    }
    let second = pin(PAGE, PAGE).unwrap();
    for pointer in [first, second] {
        // SAFETY: the manager gave the memory out just now, and nothing used it.
        unsafe { manager.memfree(pointer.into_pointer()) };
    }
    // SAFETY: the manager gave the memory out just now, and nothing used it.
    unsafe { manager.memfree(pin(0, 2 * PAGE).unwrap().into_pointer()) };
    assert_eq!(manager.usage().n_pending, 0);
}

/// Memory of the program belongs to a value of any type, whose destructor may panic.
#[test]
fn an_owner_that_panics_loses_nothing() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("an owner's own fault");
        }
    }

    let fixture = Fixture::open();
    let manager = fixture.allocator().manager();
    let mut lent = Lent::new(0, PAGE);
    let start = NonNull::from(lent.slice()).cast::<u8>();
    // SAFETY: `lent` outlives the pinned memory, and no work uses the memory.
    let pin = || unsafe { manager.mempin(Box::new(Panics), start, PAGE as u64, false) };
    // SAFETY: the manager gave the memory out just now, and nothing used it.
    let give_back = |pointer: HostPointer| unsafe { manager.memfree(pointer.into_pointer()) };
    if !imports(&fixture) {
        // The refusal drops the owner, whose panic reaches the caller.
        return assert!(catch_unwind(AssertUnwindSafe(|| pin().map(give_back))).is_err());
    }
    give_back(pin().unwrap());
    assert_eq!(manager.usage().n_pending, 0, "it went, at once");
    give_back(pin().unwrap()); // The pages are free to be pinned again.
}
