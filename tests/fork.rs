//! The binary `fork`: in a forked child process every call is refused, none hangs, and no object is destroyed.
//!
//! It is a separate binary, so that no threads and devices of other tests exist at the fork; its tests run one at a
//! time. Run it with `cargo test -p vkarray-tests --test fork`. It needs a device and the validation layer, and runs on
//! Unix only. Read the first test first.
#![cfg(all(unix, test))]
#![expect(clippy::unwrap_used, reason = "all functions here are tests or helpers of tests")]

use std::error::Error;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use vkarray::device::Device;
use vkarray::kernel::ConstArray;
use vkarray::memory::managers::{AllocationStatistics, PoolManager};
use vkarray::memory::{Block, Lent, MemoryKind};
use vkarray::stream::{DefaultStreams, GraphRecorder};
use vkarray::{Context, DeviceNDArray, Event, Graph, Groups, Kernel, Source, Stream};
use vkarray_driver::HostAccessKind;
use vkarray_driver::hazard::Mode;

use crate::table::{N_DESTROYED, Table};

#[expect(dead_code, reason = "shared with the tests of failing calls; used here to count destroyed objects")]
#[path = "faults/table.rs"]
mod table;

const STEP: &str = "
    @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    var<immediate> add: u32;
    @compute @workgroup_size(64) fn step(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < arrayLength(&x) { x[id.x] = x[id.x] * 5u + add; }
    }";

/// The child's exit code if it destroyed an object.
const DESTROYED: i32 = 99;

/// The objects of the parent.
struct Inherited {
    ctx: Context,
    stream: Stream,
    kernel: Kernel,
    array: DeviceNDArray<u32>,
}

#[test]
fn calls_in_a_forked_process_are_refused_and_the_parent_continues() {
    let table = Table::take();
    let instance = table.instance();
    let device = Device::open_selected(&instance, None).unwrap();
    let ctx = Context::on(&device).unwrap();
    let (stream, kernel) = (ctx.stream().unwrap(), ctx.kernel(Source::wgsl(STEP)).build().unwrap());
    let array = ctx.slice_to_device(&[1_u32; 64]).unwrap();
    let inherited = Inherited { ctx, stream, kernel, array };
    dispatch(&inherited, 1).unwrap();
    inherited.stream.synchronize().unwrap();
    // Some of these dispatches are submitted and some are still in an open batch.
    (2..5).for_each(|add| dispatch(&inherited, add).unwrap());
    let parent = process::id();
    let Some(child) = fork() else {
        let n_destroyed = N_DESTROYED.load(Ordering::Relaxed);
        let code = refused_calls(inherited, parent);
        drop((device, instance));
        exit(if N_DESTROYED.load(Ordering::Relaxed) == n_destroyed { code } else { DESTROYED })
    };
    assert_eq!(exit_code(child), Some(0), "the number of the first call not refused, or {DESTROYED}");
    dispatch(&inherited, 5).unwrap();
    let expected = (1..=5).fold(1_u32, |x, add| x * 5 + add);
    assert_eq!(inherited.array.copy_to_host().unwrap().as_slice(), Some([expected; 64].as_slice()));
    drop(inherited);
    device.close(Duration::from_secs(20)).unwrap();
    assert_eq!(table.live(), []);
    assert_eq!(instance.take_messages(), []);
}

#[test]
fn a_fork_in_a_callback_has_no_waiting_thread() {
    let table = Table::take();
    let instance = table.instance();
    let device = Device::open_selected(&instance, None).unwrap();
    let (stream, (forked, child)) = (Stream::new(&device).unwrap(), mpsc::channel());
    let (called, calls) = mpsc::channel();
    let parent = process::id();
    stream.add_callback(move |_| forked.send(fork()).unwrap()).unwrap();
    stream
        .add_callback(move |_| match process::id() == parent {
            true => called.send(()).unwrap(),
            false => exit(DESTROYED),
        })
        .unwrap();
    // The callback also returns in the child, whose only thread then ends, and the child with it.
    assert_eq!(exit_code(child.recv().unwrap().unwrap()), Some(0), "a callback of the parent ran in the child");
    calls.recv().unwrap();
    drop(stream);
    device.close(Duration::from_secs(20)).unwrap();
    assert_eq!(table.live(), []);
    assert_eq!(instance.take_messages(), []);
}

/// Objects of the parent that other threads use at the fork, so that locks may be held in the child.
struct Busy {
    ctx: Context,
    stream: Stream,
    blocking: Stream,
    kernel: Kernel,
    array: DeviceNDArray<u32>,
    table: ConstArray,
    pinned: Arc<Block>,
    event: Event,
    graph: Mutex<Graph>,
    streams: Arc<DefaultStreams>,
    statistics: Arc<AllocationStatistics<PoolManager>>,
}

/// Takes locks of the library in a thread of the parent, depending on `which`.
fn take_locks(busy: &Busy, which: usize) {
    match which {
        0 | 1 => {
            (0..100).for_each(|_| drop(busy.pinned.read_on_host(0..64).unwrap()));
        }
        2 => {
            busy.kernel.dispatch(&busy.stream, Groups::covering([64]), (&busy.array, 1_u32)).unwrap();
            busy.event.record(&busy.stream).unwrap();
            busy.event.query().unwrap();
            busy.graph.lock().unwrap().replay(&busy.stream).unwrap();
            busy.stream.query().unwrap();
        }
        _ => {
            busy.table.update(&busy.stream, &[7_u32; 8]).unwrap();
            drop(busy.ctx.zeros::<u32>([33]).unwrap());
            drop(busy.streams.per_thread().unwrap());
            drop(Stream::blocking(busy.ctx.device()).unwrap());
            drop(busy.ctx.kernel(Source::wgsl(STEP)).build().unwrap());
        }
    }
}

#[test]
fn a_child_that_drops_everything_does_not_wait_for_locks_of_its_parent() {
    const FORKS: usize = 40;
    let table = Table::take();
    let instance = table.instance();
    let device = Device::open_selected(&instance, None).unwrap();
    let busy = busy(&device);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for which in 0..4 {
            let (busy, is_over) = (&busy, &is_over);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    take_locks(busy, which);
                }
            });
        }
        // Ends the threads also if this thread panics because a child hangs.
        let _end = OnDrop(|| is_over.store(true, Ordering::Relaxed));
        (0..FORKS).for_each(|nth| fork_with_everything_held(&busy, nth));
    });
    busy.stream.synchronize().unwrap();
    drop(busy);
    device.close(Duration::from_secs(20)).unwrap();
    assert_eq!(table.live(), []);
    assert_eq!(instance.take_messages(), []);
}

fn busy(device: &Arc<Device>) -> Busy {
    let ctx = Context::on(device).unwrap();
    let (stream, kernel) = (ctx.stream().unwrap(), ctx.kernel(Source::wgsl(STEP)).build().unwrap());
    let array = ctx.slice_to_device(&[1_u32; 64]).unwrap();
    let record = |graph: &mut GraphRecorder| kernel.record(graph, Groups::covering([64]), (&array, 1_u32));
    let (graph, _) = Graph::record(&stream, record).unwrap();
    let (table, blocking) = (ctx.const_array(&[1_u32; 8], [8]).unwrap(), ctx.blocking_stream().unwrap());
    let (event, streams) = (ctx.event(), DefaultStreams::of(device));
    let statistics = Arc::new(AllocationStatistics::new(PoolManager::new()));
    let pinned = ctx.allocator().allocate(64, MemoryKind::Pinned).unwrap();
    Busy { pinned, ctx, stream, blocking, kernel, array, table, event, graph: Mutex::new(graph), streams, statistics }
}

/// Forks while this thread holds guards, registered memory, a pending copy, callbacks and a future. The child drops
/// these objects, and the objects that other threads were using at the fork.
fn fork_with_everything_held(busy: &Busy, nth: usize) {
    let (allocator, own) = (busy.ctx.allocator(), busy.ctx.stream().unwrap());
    let blocks = [(); 2].map(|()| allocator.allocate(260, MemoryKind::Pinned).unwrap());
    let device_block = allocator.allocate(4099, MemoryKind::Device).unwrap();
    device_block.fill(&own, 0x0303_0303).unwrap();
    let (event, timed) = (busy.ctx.event(), busy.ctx.timed_event());
    event.record(&own).unwrap();
    own.add_callback(|_| ()).unwrap();
    let (done, pending) = (own.async_done().unwrap(), busy.array.on(&own).copy_to_host_async().unwrap());
    let (read, mut write) = (blocks[0].read_on_host(0..260).unwrap(), blocks[1].write_on_host(4..68).unwrap());
    write[0] = 5;
    let scope = busy.statistics.scope();
    let auto = busy.stream.auto_synchronize();
    let mut bytes = vec![0_u8; 3 * 4096 + 5];
    let mut code = 0;
    let parent = process::id();
    let registered = allocator.register_all([Lent::Write(&mut bytes)], |[mut registered]| {
        registered.copy_from_block(&own, 1, &device_block, 0..4099).unwrap();
        let Some(child) = fork() else {
            code = wrong_answer(busy);
            return;
        };
        assert_eq!(exit_code(child), Some(0), "fork {nth}: the number of the first answer that is wrong");
    });
    if process::id() == parent {
        registered.unwrap();
        auto.finish().unwrap();
        assert_eq!(bytes[1..4100], [3; 4099]);
        return;
    }
    if registered.is_ok() {
        code = 90;
    }
    drop((write, read, scope, auto, pending, done, event, timed, own));
    drop((blocks, device_block, busy.ctx.clone(), busy.graph.try_lock().map(drop)));
    exit(code)
}

/// Runs in the child. Returns 0, or the number of the first call with a wrong answer.
fn wrong_answer(busy: &Busy) -> i32 {
    let Busy { ctx, stream, blocking, array, table, pinned: block, event, streams, .. } = busy;
    let refused = [
        refusal(event.query()),
        refusal(event.synchronize()),
        refusal(event.record(stream)),
        refusal(Event::wait_any(&[event], None)),
        refusal(Event::wait_all(&[event], None)),
        refusal(stream.query()),
        refusal(blocking.query()),
        refusal(streams.legacy()),
        refusal(streams.per_thread()),
        refusal(table.update(stream, &[1_u32; 8])),
        refusal(array.on(stream).copy_to_host_async()),
        refusal(array.copy_to_host()),
        refusal(array.fill(1)),
        refusal(array.astype::<f32>()),
        refusal(ctx.allocator().try_flush()),
        refusal(ctx.allocator().flush()),
        refusal(ctx.allocator().reset()),
        refusal(ctx.allocator().trim(0)),
        refusal(ctx.allocator().memory_info()),
        refusal(ctx.kernel(Source::wgsl(STEP)).prefetch()),
        refusal(vkarray::stream::Trace::start(ctx.device())),
        refusal(ctx.device().physical().instance().devices()),
        refusal(block.read_on_host(0..4)),
        refusal(ctx.device().begin_host_access(block.id(), 0..4, Mode::Read, HostAccessKind::Lasting)),
    ];
    // These calls return no error; they must not wait.
    let _ = (ctx.allocator().usage(), ctx.allocator().pending(), block.label(), ctx.kernel_cache().len());
    block.set_label("in the child");
    let _ = (event.point(), DefaultStreams::of(ctx.device()), ctx.device().kernel_label("step"));
    let _ = (ctx.device().track_block_after(&[]), ctx.device().block_uses(block.id(), 0..4, Mode::Write));
    let _ = (ctx.device().points(&[]), ctx.device().host_waits());
    // SAFETY: a forked process has no access to the device, and dropping the block there retires nothing.
    let _ = unsafe { ctx.device().retire_block(block.id()) };
    let wrong = refused.iter().position(|text| text.as_ref().is_none_or(|text| !text.contains("forked from it")));
    wrong.map_or(0, |position| i32::try_from(position + 1).unwrap_or(i32::MAX))
}

/// Calls a function when it is dropped.
struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

fn dispatch(inherited: &Inherited, add: u32) -> Result<(), vkarray::kernel::Error> {
    inherited.kernel.dispatch(&inherited.stream, Groups::covering([64]), (&inherited.array, add))
}

/// Runs in the child. Returns 0, or the number of the first call that was not refused.
fn refused_calls(inherited: Inherited, parent: u32) -> i32 {
    let text = format!(
        "the device was opened by process {parent} and does not work in process {}, forked from it",
        process::id()
    );
    let Inherited { ctx, stream, array, .. } = &inherited;
    let outcomes = [
        refusal(stream.flush()),
        refusal(stream.synchronize()),
        refusal(stream.synchronize_for(Duration::from_millis(1))),
        refusal(stream.query()),
        refusal(stream.point()),
        refusal(stream.add_callback(|_| ())),
        refusal(dispatch(&inherited, 9)),
        refusal(ctx.event().record(stream)),
        refusal(ctx.stream()),
        refusal(ctx.zeros::<u32>([4])),
        refusal(array.copy_to_host()),
        refusal(ctx.kernel(Source::wgsl(STEP)).build()),
        refusal(ctx.allocator().flush()),
        refusal(Device::open(ctx.device().physical())),
    ];
    // Dropping destroys no object and does not wait.
    drop(inherited);
    let wrong = outcomes.iter().position(|outcome| outcome.as_ref() != Some(&text));
    wrong.map_or(0, |position| i32::try_from(position + 1).unwrap_or(i32::MAX))
}

fn refusal<T, E: Error>(outcome: Result<T, E>) -> Option<String> {
    outcome.err().map(|error| error.to_string())
}

/// Forks. Returns the child's process id in the parent, and `None` in the child.
fn fork() -> Option<libc::pid_t> {
    // SAFETY: the child only allocates memory, which the C library allows after a fork, and ends with `exit`.
    match unsafe { libc::fork() } {
        -1 => panic!("cannot fork: {}", std::io::Error::last_os_error()),
        0 => None,
        child => Some(child),
    }
}

/// Ends the child at once, without exit handlers and buffered output inherited from the parent.
fn exit(code: i32) -> ! {
    // SAFETY: the process has no other thread, and no exit handler has to run.
    unsafe { libc::_exit(code) }
}

/// Waits for the child, for twenty seconds at most, and returns its exit code.
fn exit_code(child: libc::pid_t) -> Option<i32> {
    let begun = Instant::now();
    loop {
        let mut status = 0;
        // SAFETY: the child belongs to this process, and `status` is written once.
        if unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == child {
            return libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
        }
        if begun.elapsed() > Duration::from_secs(20) {
            // SAFETY: the child belongs to this process and was not waited for yet.
            unsafe { libc::kill(child, libc::SIGKILL) };
            panic!("the child hangs");
        }
        thread::sleep(Duration::from_millis(1));
    }
}
