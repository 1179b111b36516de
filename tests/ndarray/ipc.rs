//! Arrays that two processes share. The second process is this program, with the same test.

use std::env;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Child;
use std::sync::Arc;

use vkarray::device::Error as DriverError;
use vkarray::interop::{IpcArrayHandle, IpcError, IpcOptions};
use vkarray::memory::{Allocator, Error as MemoryError};
use vkarray::primitives::Evaluate;
use vkarray::vulkan::{ExternalSemaphore, SemaphoreKind};
use vkarray::{Context, DeviceNDArray, Error, Groups, Kernel, s};

use crate::fixture::kernels::{keep_busy, spin, step, stepped};
use crate::fixture::shares::{CHUNK, Shares};
use crate::fixture::{Fixture, child, contents};

/// Elements: a prime, so that the last workgroup is not full.
const LEN: usize = 257;

/// The number that a variable sets, or the default.
fn count(variable: &str, default: u32) -> u32 {
    env::var(variable).map_or(default, |text| text.parse().unwrap())
}

/// Whether arrays of this device go to other processes; if not, they are refused.
fn is_shared(ctx: &Context) -> bool {
    let external = ctx.device().external();
    let is_shared = external.memory_fd.exportable && external.memory_fd.importable;
    if !is_shared {
        let refused = ctx.exportable_array::<u32>(LEN).unwrap_err();
        assert!(matches!(refused, Error::Memory(MemoryError::Unsupported { .. })), "{refused}");
    }
    is_shared
}

/// The second process of a test, and the socket to it.
struct Second {
    process: Child,
    socket: UnixStream,
}

impl Second {
    fn start(test: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let process = child::start(test, path.to_str().unwrap());
        let (socket, _) = listener.accept().unwrap();
        Self { process, socket }
    }

    fn kill(&mut self) -> &UnixStream {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        &self.socket
    }
}

/// The second process is ended also when the test fails, since it may wait or work for ever.
impl Drop for Second {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// One update of an array by this process, complete when it returns.
fn update(ctx: &Context, step: &Kernel, array: &DeviceNDArray<u32>, add: u32) {
    step.dispatch(ctx.default_stream(), Groups::covering([LEN]), (array, add)).unwrap();
    ctx.synchronize().unwrap();
}

/// Lets the other process continue, and waits for its turn to end.
fn hand_over(socket: &mut UnixStream) {
    socket.write_all(&[1]).unwrap();
    wait_for_turn(socket);
}

fn wait_for_turn(socket: &mut UnixStream) {
    socket.read_exact(&mut [0]).unwrap();
}

#[test]
fn two_processes_update_an_array_in_turns_without_losing_an_update() {
    const TEST: &str = "ndarray::ipc::two_processes_update_an_array_in_turns_without_losing_an_update";
    let rounds = count("VKARRAY_TEST_IPC_ROUNDS", 300);
    let fixture = Fixture::open();
    if !is_shared(&fixture) {
        return;
    }
    let step = step(&fixture);
    if let Some(path) = child::argument() {
        let mut socket = UnixStream::connect(path).unwrap();
        let x = fixture.open_ipc_array::<u32>(&IpcArrayHandle::receive(&socket).unwrap()).unwrap();
        for round in 0..rounds {
            wait_for_turn(&mut socket);
            update(&fixture, &step, &x, 2 * round + 1);
            socket.write_all(&[1]).unwrap();
        }
        return;
    }
    let mut second = Second::start(TEST);
    let x = fixture.exportable_array::<u32>(LEN).unwrap();
    let mut expected: Vec<u32> = (1..).take(LEN).collect();
    x.copy_from_slice(&expected).unwrap();
    x.get_ipc_handle().unwrap().send(&second.socket).unwrap();
    for round in 0..rounds {
        update(&fixture, &step, &x, 2 * round);
        hand_over(&mut second.socket);
        expected.iter_mut().for_each(|value| *value = stepped(stepped(*value, 2 * round), 2 * round + 1));
        if round % 50 == 0 {
            assert_eq!(contents(&x), expected, "after round {round}");
        }
    }
    assert_eq!(contents(&x), expected);
    assert!(second.process.wait().unwrap().success());
}

/// Kernels of the exporter and of the second process run in turns, for which the devices wait.
#[test]
fn a_timeline_in_the_handle_orders_two_processes_without_their_hosts() {
    const TEST: &str = "ndarray::ipc::a_timeline_in_the_handle_orders_two_processes_without_their_hosts";
    const ROUNDS: u32 = 50;
    let fixture = Fixture::open();
    let kind = SemaphoreKind::Timeline;
    if !fixture.device().external().timeline_fd.exportable || !is_shared(&fixture) {
        let refused = ExternalSemaphore::new(fixture.device().logical(), kind).map(drop).unwrap_err();
        return assert!(matches!(refused, DriverError::Unsuitable { .. }), "{refused}");
    }
    let (step, spin, stream) = (step(&fixture), spin(&fixture), fixture.default_stream());
    // Round `i` of the exporter signals 2i + 1, and round `i` of the second process signals 2i + 2.
    let turns = |x: &DeviceNDArray<u32>, timeline: &ExternalSemaphore, first: u32| {
        for value in (first..2 * ROUNDS).step_by(2) {
            // SAFETY: the other process signals this value after its work, which waits for smaller values alone.
            unsafe { stream.wait_external(timeline, value.into()) }.unwrap();
            step.dispatch(stream, Groups::covering([LEN]), (x, value)).unwrap();
            // SAFETY: each value is signalled once, after the wait for the one before.
            unsafe { stream.signal_external(timeline, u64::from(value) + 1) }.unwrap();
        }
    };
    if let Some(path) = child::argument() {
        let mut socket = UnixStream::connect(path).unwrap();
        let handle = IpcArrayHandle::receive(&socket).unwrap();
        let x = fixture.open_ipc_array::<u32>(&handle).unwrap();
        let timeline = fixture.open_ipc_timeline(&handle).unwrap().unwrap();
        turns(&x, &timeline, 1);
        fixture.synchronize().unwrap();
        return hand_over(&mut socket);
    }
    let mut second = Second::start(TEST);
    let timeline = ExternalSemaphore::new(fixture.device().logical(), kind).unwrap();
    let x = fixture.exportable_array::<u32>(LEN).unwrap();
    x.fill(1).unwrap();
    let busy = fixture.zeros::<u32>(1).unwrap();
    keep_busy(stream, &spin, &busy);
    let handle = x.get_ipc_handle_with(IpcOptions::default().unfinished(true)).unwrap();
    handle.with_timeline(&timeline).unwrap().send(&second.socket).unwrap();
    turns(&x, &timeline, 0);
    fixture.synchronize().unwrap();
    wait_for_turn(&mut second.socket);
    assert_eq!(contents(&x), [(0..2 * ROUNDS).fold(1, stepped); LEN]);
    second.socket.write_all(&[1]).unwrap();
    assert!(second.process.wait().unwrap().success());
}

/// How far the exporter gets before it is killed.
const MOMENTS: [&str; 4] = ["connected", "half a handle", "idle", "at work"];

#[test]
fn a_killed_exporter_leaves_a_typed_error_or_valid_memory() {
    const TEST: &str = "ndarray::ipc::a_killed_exporter_leaves_a_typed_error_or_valid_memory";
    let fixture = Fixture::open();
    if !is_shared(&fixture) {
        return;
    }
    let step = step(&fixture);
    if let Some(path) = child::argument() {
        export_until_killed(&fixture, &step, UnixStream::connect(path).unwrap());
    }
    for i in 0..count("VKARRAY_TEST_IPC_KILLS", 4) {
        let moment = MOMENTS[i as usize % MOMENTS.len()];
        let mut second = Second::start(TEST);
        second.socket.write_all(&[u8::try_from(i as usize % MOMENTS.len()).unwrap()]).unwrap();
        if i as usize % MOMENTS.len() < 2 {
            wait_for_turn(&mut second.socket);
            let refused = IpcArrayHandle::receive(second.kill()).unwrap_err();
            assert!(matches!(refused, Error::Memory(MemoryError::Ipc(IpcError::Truncated))), "{moment}: {refused}");
            continue;
        }
        let handle = IpcArrayHandle::receive(&second.socket).unwrap();
        let x = fixture.open_ipc_array::<u32>(&handle).unwrap();
        wait_for_turn(&mut second.socket);
        update(&fixture, &step, &x, 1); // While the exporter may work on it too.
        second.kill();
        if moment == "idle" {
            assert_eq!(contents(&x), [stepped(7, 1); LEN], "{moment}");
        }
        x.fill(3).unwrap();
        update(&fixture, &step, &x, 5);
        assert_eq!(contents(&x), [stepped(3, 5); LEN], "{moment}");
        // The handle also outlives the process that made it.
        let again = fixture.open_ipc_array::<u32>(&handle).unwrap();
        assert_eq!(contents(&again), [stepped(3, 5); LEN], "{moment}");
    }
}

/// The process that is killed. It never returns.
fn export_until_killed(ctx: &Context, step: &Kernel, mut socket: UnixStream) -> ! {
    let mut moment = [0];
    socket.read_exact(&mut moment).unwrap();
    let x = ctx.exportable_array::<u32>(LEN).unwrap();
    x.fill(7).unwrap();
    match moment[0] {
        0 | 1 => {}
        _ => x.get_ipc_handle().unwrap().send(&socket).unwrap(),
    }
    socket.write_all(if moment[0] == 1 { b"\x01vkarray" } else { b"\x01" }).unwrap();
    for add in 0.. {
        if moment[0] == 3 {
            update(ctx, step, &x, add);
        } else {
            std::thread::park();
        }
    }
    unreachable!("the parent kills this process")
}

#[test]
fn an_array_is_not_opened_by_its_own_process_nor_as_another_type() {
    let fixture = Fixture::open();
    let plain = fixture.zeros::<u32>(LEN).unwrap().get_ipc_handle().unwrap_err();
    assert!(matches!(plain, Error::Memory(MemoryError::NotExportable { .. })), "{plain}");
    if !is_shared(&fixture) {
        return;
    }
    let (sender, receiver) = UnixStream::pair().unwrap();
    let x = fixture.exportable_array::<u32>([3, 5]).unwrap();
    let sent = x.get_ipc_handle().unwrap();
    sent.send(&sender).unwrap();
    let handle = IpcArrayHandle::receive(&receiver).unwrap();
    for handle in [&sent, &handle] {
        assert_eq!((handle.shape(), handle.typestr(), handle.memory().size()), (&[3, 5][..], "<u4", 60));
        let refused = fixture.open_ipc_array::<u32>(handle).unwrap_err();
        let process = std::process::id();
        assert!(
            matches!(refused, Error::Memory(MemoryError::Ipc(IpcError::SameProcess { process: p })) if p == process)
        );
        let refused = fixture.open_ipc_array::<f32>(handle).unwrap_err();
        assert!(matches!(refused, Error::Interface(_)), "{refused}");
    }
}

#[test]
fn a_view_shares_its_whole_block_only_if_the_caller_says_so() {
    const TEST: &str = "ndarray::ipc::a_view_shares_its_whole_block_only_if_the_caller_says_so";
    let fixture = Fixture::open();
    if !is_shared(&fixture) {
        return;
    }
    if let Some(path) = child::argument() {
        let mut socket = UnixStream::connect(path).unwrap();
        for (writable, expected) in [(true, [11, 8, 10, 7]), (false, [7, 10, 8, 11])] {
            let handle = IpcArrayHandle::receive(&socket).unwrap();
            let x = fixture.open_ipc_array::<u32>(&handle).unwrap();
            assert_eq!(
                (contents(&x), x.is_writable(), handle.is_read_only()),
                (expected.to_vec(), writable, !writable)
            );
            assert_eq!(x.fill(0).is_ok(), writable);
            fixture.synchronize().unwrap();
            socket.write_all(&[1]).unwrap();
            wait_for_turn(&mut socket);
        }
        return;
    }
    let x = fixture.exportable_array::<u32>([4, 3]).unwrap();
    let fill = || x.copy_from_slice(&(0..12).collect::<Vec<u32>>());
    fill().unwrap();
    let view = x.slice(s![2.., 1..]).unwrap(); // 7, 8, 10, 11.
    let refused = view.get_ipc_handle().unwrap_err();
    assert!(matches!(&refused, Error::SharesMore { bytes, block: 48 } if *bytes == (28..48)), "{refused}");
    let whole = IpcOptions::default().whole_block(true);
    let mut second = Second::start(TEST);
    let backwards = view.t().slice(s![..;-1, ..;-1]).unwrap(); // Negative strides.
    backwards.get_ipc_handle_with(whole).unwrap().send(&second.socket).unwrap();
    wait_for_turn(&mut second.socket);
    assert_eq!(contents(&x), [0, 1, 2, 3, 4, 5, 6, 0, 0, 9, 0, 0]);
    fill().unwrap();
    let handle = view.t().get_ipc_handle_with(whole.read_only(true)).unwrap();
    second.socket.write_all(&[1]).unwrap();
    handle.send(&second.socket).unwrap();
    hand_over(&mut second.socket);
    drop(view);
    assert!(second.process.wait().unwrap().success());
}

/// The second process of a test: doubles each array that it receives, and answers.
fn double_what_comes(fixture: &Fixture, path: &str, n_arrays: usize) {
    let mut socket = UnixStream::connect(path).unwrap();
    for _ in 0..n_arrays {
        let x = fixture.open_ipc_array::<u32>(&IpcArrayHandle::receive(&socket).unwrap()).unwrap();
        (&x * 2).assign_to(&x).unwrap();
        fixture.synchronize().unwrap();
        socket.write_all(&[1]).unwrap();
    }
}

fn doubled(values: &[u32]) -> Vec<u32> {
    values.iter().map(|value| value * 2).collect()
}

#[test]
fn the_manager_of_an_array_names_its_memory() {
    const TEST: &str = "ndarray::ipc::the_manager_of_an_array_names_its_memory";
    let fixture = Fixture::open();
    if !is_shared(&fixture) {
        return;
    }
    if let Some(path) = child::argument() {
        return double_what_comes(&fixture, &path, 2);
    }
    let allocator = Allocator::with_manager(fixture.device(), Box::new(Shares::default())).unwrap();
    let ctx = Context::with_allocator(&allocator).unwrap();
    let (before, x) = (ctx.full(100, 9_u32).unwrap(), ctx.slice_to_device(&(0..12).collect::<Vec<u32>>()).unwrap());
    let after = ctx.full(100, 9_u32).unwrap();
    // The array is the second part of the chunk, and its neighbours would be shared too.
    let refused = x.get_ipc_handle().unwrap_err();
    assert!(matches!(&refused, Error::SharesMore { bytes, block: CHUNK } if *bytes == (512..560)), "{refused}");
    let whole = IpcOptions::default().whole_block(true);
    let mut second = Second::start(TEST);
    let view = x.reshape([3, 4]).unwrap().slice(s![..;-2, 1..3]).unwrap();
    for (array, expected) in [(&x, doubled(&(0..12).collect::<Vec<u32>>())), (&view, vec![36, 40, 4, 8])] {
        array.get_ipc_handle_with(whole).unwrap().send(&second.socket).unwrap();
        wait_for_turn(&mut second.socket);
        assert_eq!(contents(array), expected);
    }
    assert_eq!(contents(&x), [0, 4, 8, 6, 8, 10, 12, 14, 16, 36, 40, 22]);
    for neighbour in [&before, &after] {
        assert_eq!(contents(neighbour), [9; 100]);
    }
    assert!(second.process.wait().unwrap().success());
}

#[test]
fn any_array_is_shared_from_exportable_memory() {
    const TEST: &str = "ndarray::ipc::any_array_is_shared_from_exportable_memory";
    let fixture = Fixture::open();
    if !is_shared(&fixture) {
        return;
    }
    if let Some(path) = child::argument() {
        return double_what_comes(&fixture, &path, 7);
    }
    let exportable = fixture.exportable_array::<u32>([2, 3]).unwrap();
    exportable.copy_from_slice(&[1, 2, 3, 4, 5, 6]).unwrap();
    let values = fixture.slice_to_device(&(0..24).collect::<Vec<u32>>()).unwrap().reshape([4, 6]).unwrap();
    let arrays: [_; 7] = [
        values.clone(),
        values.t(),
        values.slice(s![1.., ..;-2]).unwrap(),
        values.slice(s![2, ..]).unwrap().broadcast_to([3, 6]).unwrap().read_only(),
        values.slice(s![..0, ..]).unwrap(),
        exportable.slice(s![.., 1..]).unwrap(),
        fixture.shared_array::<u32>(5).unwrap(),
    ];
    arrays[6].fill(4).unwrap();
    let mut second = Second::start(TEST);
    for array in arrays {
        let (before, shared) = (contents(&array), array.to_exportable().unwrap());
        assert!(shared.is_writable() && !Arc::ptr_eq(shared.block(), array.block()));
        shared.get_ipc_handle().unwrap().send(&second.socket).unwrap();
        wait_for_turn(&mut second.socket);
        assert_eq!(contents(&shared), doubled(&before), "{:?}", array.layout());
        assert_eq!(contents(&array), before); // A copy was shared.
        assert!(Arc::ptr_eq(shared.to_exportable().unwrap().block(), shared.block()));
    }
    assert!(second.process.wait().unwrap().success());
}
