//! Memory of the program with its owner: the device reaches the memory, and the owner outlives every user of it.

use std::ops::{Deref, DerefMut};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as TaskContext, Waker};
use std::thread;

use memmap2::MmapMut;
use pollster::block_on;
use vkarray::array::PinnedArray;
use vkarray::memory::{Error as MemoryError, RegisteredPath, StableDeref};
use vkarray::{Context, Graph, Groups, Index};

use super::pattern;
use super::registered::{PAGE, both, imports};
use crate::fixture::Fixture;
use crate::fixture::host_semaphore::HostSemaphore;
use crate::fixture::kernels::{step, stepped};

/// Whole pages of the program, and a flag that is set when they are freed.
#[derive(Debug)]
struct Pages {
    map: MmapMut,
    is_gone: Arc<AtomicBool>,
}

impl Pages {
    fn new(bytes: &[u8]) -> (Self, Arc<AtomicBool>) {
        let (mut map, is_gone) = (MmapMut::map_anon(bytes.len()).unwrap(), Arc::new(AtomicBool::new(false)));
        map.copy_from_slice(bytes);
        (Self { map, is_gone: Arc::clone(&is_gone) }, is_gone)
    }
}

impl Deref for Pages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}

impl DerefMut for Pages {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.map
    }
}

// SAFETY: the pages stay where they are mapped when the map is moved.
unsafe impl StableDeref for Pages {}

impl Drop for Pages {
    fn drop(&mut self) {
        self.is_gone.store(true, Ordering::SeqCst);
    }
}

/// How a device that imports memory reaches whole pages.
fn path_of_pages(ctx: &Context) -> RegisteredPath {
    if imports(ctx) { RegisteredPath::Imported } else { RegisteredPath::Staged }
}

/// The bytes after one call of [`step`] on their words.
fn stepped_bytes(bytes: &[u8], add: u32) -> Vec<u8> {
    let words = bytes.chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap()));
    words.flat_map(|word| stepped(word, add).to_ne_bytes()).collect()
}

/// A kernel on all words of the memory, a copy of its middle, and writes of the host; then the owner is taken back.
fn use_all_ways<O>(ctx: &Context, owner: O, given: &[u8], paths: &[RegisteredPath])
where
    O: StableDeref + DerefMut<Target = [u8]> + Send + Sync + 'static,
{
    let pinned = ctx.pin(owner).unwrap();
    let path = pinned.path();
    assert!(paths.contains(&path), "{path:?}");
    assert_eq!(pinned.size(), given.len());
    let words = pinned.view::<u32>().unwrap();
    step(ctx).launch(Groups::covering(words.shape()), (&words, 7_u32)).unwrap();
    let mut expected = stepped_bytes(given, 7);
    assert!(pinned.to_vec().unwrap() == expected, "{path:?}");
    let middle = [Index::from(1..given.len() - 1)];
    let copy = ctx.device_array::<u8>(given.len() - 2).unwrap();
    copy.copy_from_device(&pinned.slice(middle).unwrap()).unwrap();
    pinned.write_on_host().unwrap().view_mut().fill(3);
    pinned.slice(middle).unwrap().copy_from_device(&copy).unwrap();
    (expected[0], expected[given.len() - 1]) = (3, 3);
    assert!(pinned.read_on_host().unwrap().as_slice() == Some(&expected[..]), "{path:?}");
    drop(words);
    assert!(*pinned.into_inner().unwrap() == expected[..], "{path:?}");
}

#[test]
fn kernels_copies_and_the_host_use_memory_with_an_owner() {
    let fixture = Fixture::open();
    for (name, ctx) in both(&fixture) {
        for len in [4, PAGE - 4, PAGE + 4, 4 * 1009] {
            let given = pattern(6, len);
            use_all_ways(&ctx, given.clone(), &given, &[RegisteredPath::Staged]);
            use_all_ways(&ctx, given.clone().into_boxed_slice(), &given, &[RegisteredPath::Staged]);
        }
        // These pages come last: after NVIDIA's driver (580) has refused pages of a file, it refuses other pages too,
        // and a first chunk of pinned memory.
        for n_pages in [1, 2] {
            let given = pattern(5, n_pages * PAGE);
            let paths = [path_of_pages(&ctx), RegisteredPath::Staged];
            use_all_ways(&ctx, Pages::new(&given).0, &given, &paths[..n_pages]);
            let file = tempfile::tempfile().unwrap();
            file.set_len(given.len() as u64).unwrap();
            // SAFETY: the file belongs to this test, and nothing else changes it.
            let mut map = unsafe { MmapMut::map_mut(&file) }.unwrap();
            map.copy_from_slice(&given);
            // Pages of a file are imported by some drivers, and refused by NVIDIA's.
            use_all_ways(&ctx, map, &given, &paths);
        }
        let empty = ctx.pin(Vec::<f64>::new()).unwrap();
        assert_eq!((empty.size(), empty.into_inner().unwrap()), (0, vec![]), "{name}");
    }
}

#[test]
fn an_owner_outlives_everything_that_reaches_its_memory() {
    let fixture = Fixture::open();
    for (name, ctx) in both(&fixture) {
        let is_imported = imports(&ctx);
        let (owner, is_gone) = Pages::new(&pattern(9, 2 * PAGE));
        let gone = || is_gone.load(Ordering::SeqCst);
        let pinned = ctx.pin(owner).unwrap();
        let (stream, semaphore) = (ctx.stream().unwrap(), HostSemaphore::new(ctx.device()));
        let (view, target) = (pinned.slice([Index::from(5..)]).unwrap(), ctx.zeros::<u8>([2 * PAGE - 5]).unwrap());
        drop(pinned);
        assert_eq!(gone(), !is_imported, "{name}: a view keeps pages that the device reaches");
        stream.wait_for(&semaphore.point(1)).unwrap();
        target.on(&stream).copy_from_device(&view).unwrap();
        stream.flush().unwrap();
        drop(view);
        ctx.allocator().manager().try_flush().unwrap();
        assert_eq!(gone(), !is_imported, "{name}: recorded work keeps them");
        semaphore.signal(1);
        ctx.synchronize().unwrap();
        stream.synchronize().unwrap();
        ctx.allocator().flush().unwrap();
        assert!(gone(), "{name}");
        assert_eq!(target.to_vec().unwrap(), pattern(9, 2 * PAGE)[5..], "{name}");
    }
}

#[test]
fn an_owner_is_taken_back_when_nothing_else_reaches_its_memory() {
    let fixture = Fixture::open();
    for (name, ctx) in both(&fixture) {
        let (owner, is_gone) = Pages::new(&pattern(1, PAGE));
        let pinned = ctx.pin(owner).unwrap();
        let words = pinned.view::<u32>().unwrap();
        let (stream, step) = (ctx.default_stream(), step(&ctx));
        let record =
            Graph::record(stream, |graph| step.record(graph, Groups::covering(words.shape()), (&words, 1_u32)));
        let (graph, _) = record.unwrap();
        drop(words);
        graph.replay(ctx.default_stream()).unwrap();
        let refused = pinned.into_inner().unwrap_err();
        assert!(matches!(refused.error(), MemoryError::StillShared { n_handles: 1.. }), "{name}: {refused}");
        let pinned = refused.into_value().unwrap();
        // While a guard is held, taking the owner back is refused, and changes nothing.
        let guard = pinned.write_on_host().unwrap();
        assert!(graph.replay(ctx.default_stream()).is_err(), "{name}: the host is writing");
        drop(guard);
        drop(graph);
        assert!(!is_gone.load(Ordering::SeqCst));
        let owner = pinned.into_inner().unwrap();
        assert_eq!(*owner, stepped_bytes(&pattern(1, PAGE), 1)[..], "{name}");
        // These pages can be pinned again at once.
        assert_eq!(ctx.pin(owner).unwrap().path(), path_of_pages(&ctx), "{name}");
    }
}

#[test]
fn leaked_guards_and_lost_contexts_leave_the_memory_to_its_owner() {
    let fixture = Fixture::open();
    for (name, ctx) in both(&fixture) {
        let (owner, is_gone) = Pages::new(&pattern(2, PAGE));
        let pinned = ctx.pin(owner).unwrap();
        std::mem::forget(pinned.read_on_host().unwrap());
        assert!(pinned.fill(0).is_err(), "{name}: the host is reading for ever");
        assert_eq!(*pinned.into_inner().unwrap(), pattern(2, PAGE)[..], "{name}");
        assert!(is_gone.load(Ordering::SeqCst), "{name}");
        // Without a handle of the program, the array keeps its context.
        let (owner, is_gone) = Pages::new(&pattern(3, PAGE));
        let own = Context::on(ctx.device()).unwrap();
        let pinned = own.pin(owner).unwrap();
        drop(own);
        pinned.fill(8).unwrap();
        assert_eq!(*pinned.into_inner().unwrap(), [8; PAGE], "{name}");
        assert!(is_gone.load(Ordering::SeqCst), "{name}");
        // After a reset the array is dead, and its pages are still freed.
        let (owner, is_gone) = Pages::new(&pattern(4, PAGE));
        let own = Context::on(ctx.device()).unwrap();
        let pinned = own.pin(owner).unwrap();
        own.reset().unwrap();
        assert!(pinned.fill(1).is_err(), "{name}");
        drop(pinned);
        own.allocator().flush().unwrap();
        assert!(is_gone.load(Ordering::SeqCst), "{name}");
    }
}

struct Job {
    data: PinnedArray<Vec<u32>, u32>,
}

#[test]
fn pinned_memory_lives_in_structs_threads_and_futures() {
    fn assert_movable<T: Send + Sync + 'static>(_: &T) {}

    let fixture = Fixture::open();
    let job = Job { data: fixture.pin(vec![1_u32; 1009]).unwrap() };
    assert_movable(&job);
    let ctx = Context::clone(&fixture);
    let job = thread::spawn(move || {
        step(&ctx).launch(Groups::covering(1009), (&job.data, 2_u32)).unwrap();
        job
    });
    let (job, stream) = (job.join().unwrap(), fixture.stream().unwrap());
    let future = async move {
        job.data.on(&stream).fill(4).unwrap();
        let done = stream.async_done().unwrap();
        done.await.unwrap();
        job.data.into_inner().unwrap()
    };
    assert_eq!(block_on(future), [4; 1009]);
    // A future that is dropped half-way drops the objects that it holds.
    let (owner, is_gone) = Pages::new(&pattern(1, PAGE));
    let (pinned, stream) = (fixture.pin(owner).unwrap(), fixture.stream().unwrap());
    {
        let future = pin!(async move {
            pinned.on(&stream).fill(4).unwrap();
            std::future::pending::<()>().await;
            drop(pinned);
        });
        assert!(future.poll(&mut TaskContext::from_waker(Waker::noop())).is_pending());
    }
    fixture.allocator().flush().unwrap();
    assert!(is_gone.load(Ordering::SeqCst));
}
