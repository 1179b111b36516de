//! A forked process: every call is refused, none hangs, nothing of the parent's is destroyed.
//!
//! A binary of its own with one test, so that no other test's thread holds a lock at the fork.
#![cfg(all(unix, test))]

use std::error::Error;
use std::process;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use vkarray::{Context, Device, DeviceNDArray, Groups, Kernel, Source, Stream};

use crate::table::{N_DESTROYED, Table};

#[expect(dead_code, reason = "made for the tests of failing calls; here it counts what is destroyed")]
#[path = "faults/table.rs"]
mod table;

const STEP: &str = "
    @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    var<immediate> add: u32;
    @compute @workgroup_size(64) fn step(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < arrayLength(&x) { x[id.x] = x[id.x] * 5u + add; }
    }";

/// What the child ends with if it destroyed anything.
const DESTROYED: i32 = 99;

/// What the parent made.
struct Inherited {
    ctx: Context,
    stream: Stream,
    kernel: Kernel,
    array: DeviceNDArray<u32>,
}

#[test]
fn a_forked_process_is_refused_and_its_parent_goes_on() {
    let table = Table::take();
    let instance = table.instance();
    let device = Device::open_selected(&instance, None).unwrap();
    let ctx = Context::on(&device).unwrap();
    let (stream, kernel) = (ctx.stream().unwrap(), ctx.kernel(Source::wgsl(STEP)).build().unwrap());
    let array = ctx.slice_to_device(&[1_u32; 64]).unwrap();
    let inherited = Inherited { ctx, stream, kernel, array };
    dispatch(&inherited, 1).unwrap();
    inherited.stream.synchronize().unwrap();
    // Some of this is sent and some is still being recorded.
    (2..5).for_each(|add| dispatch(&inherited, add).unwrap());
    let parent = process::id();
    // SAFETY: the child calls what follows, which allocates at most, as the C library allows, and ends with `_exit`.
    match unsafe { libc::fork() } {
        -1 => panic!("cannot fork: {}", std::io::Error::last_os_error()),
        0 => {
            let n_destroyed = N_DESTROYED.load(Ordering::Relaxed);
            let code = refused_calls(inherited, parent);
            drop((device, instance));
            let code = if N_DESTROYED.load(Ordering::Relaxed) == n_destroyed { code } else { DESTROYED };
            // SAFETY: ends the child at once, without what the parent has left to do at its end.
            unsafe { libc::_exit(code) };
        }
        child => assert_eq!(exit_code(child), Some(0), "the number of the first call not refused, or {DESTROYED}"),
    }
    dispatch(&inherited, 5).unwrap();
    let expected = (1..=5).fold(1_u32, |x, add| x * 5 + add);
    assert_eq!(inherited.array.copy_to_host().unwrap().as_slice(), Some([expected; 64].as_slice()));
    drop(inherited);
    device.close(Duration::from_secs(20)).unwrap();
    assert_eq!(table.live(), []);
    assert_eq!(instance.take_messages(), []);
}

fn dispatch(inherited: &Inherited, add: u32) -> Result<(), vkarray::KernelError> {
    inherited.kernel.dispatch(&inherited.stream, Groups::covering([64]), (&inherited.array, add))
}

/// In the child. Returns 0, or the number of the first call that was not refused as it should be.
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
    // Dropping is quick and touches nothing.
    drop(inherited);
    let wrong = outcomes.iter().position(|outcome| outcome.as_ref() != Some(&text));
    wrong.map_or(0, |position| i32::try_from(position + 1).unwrap_or(i32::MAX))
}

fn refusal<T, E: Error>(outcome: Result<T, E>) -> Option<String> {
    outcome.err().map(|error| error.to_string())
}

/// Waits for the child, for a minute at most, and returns the code it ended with.
fn exit_code(child: libc::pid_t) -> Option<i32> {
    let begun = Instant::now();
    loop {
        let mut status = 0;
        // SAFETY: the child is ours, and `status` is written once.
        if unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == child {
            return libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
        }
        if begun.elapsed() > Duration::from_secs(60) {
            // SAFETY: the child is ours and was not waited for yet.
            unsafe { libc::kill(child, libc::SIGKILL) };
            panic!("the child hangs");
        }
        thread::sleep(Duration::from_millis(1));
    }
}
