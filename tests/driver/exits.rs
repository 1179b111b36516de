//! Ends of the process right after the last handle of a device is dropped: no code of the library may still use the
//! driver, which the loader unmaps and whose handlers `exit` runs.
//!
//! Each end is a child process. `VKARRAY_TEST_EXITS` sets the number of ends of each program.

use std::process;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use pollster::block_on;
use vkarray::{Context, Source, Stream};

use crate::fixture::child;

/// The exit code of a child that reached its end.
const ENDED: i32 = 42;

/// How many ends of each program are tried if the environment does not say.
const ENDS: u32 = 5;

/// The child processes that run at the same time, more than there are processors.
const AT_A_TIME: usize = 4;

const TEST: &str = "driver::exits::a_process_may_end_as_soon_as_its_last_handle_is_dropped";

/// A program with a callback, up to the drop of its last handle. The callback takes `longest` at most.
type Program = fn(Context, Duration);

const PROGRAMS: [(&str, Program); 6] = [
    ("a callback reports", |ctx, pause| {
        let reported = report(&ctx.default_stream().clone(), pause, ());
        reported.recv().unwrap();
    }),
    ("a callback is not waited for", |ctx, pause| {
        report(&ctx.default_stream().clone(), pause, ());
    }),
    ("a callback owns the context", |ctx, pause| {
        let reported = report(&ctx.default_stream().clone(), pause, ctx.clone());
        reported.recv().unwrap();
    }),
    ("a future is awaited", |ctx, _| {
        ctx.zeros::<u32>([1 << 16]).unwrap().fill(1).unwrap();
        block_on(ctx.default_stream().async_done().unwrap()).unwrap();
    }),
    ("a kernel is built in the background", |ctx, pause| {
        let text = format!("@compute @workgroup_size({}) fn nothing() {{}}", 1 + pause.as_micros() % 64);
        ctx.kernel(Source::wgsl(text)).prefetch().unwrap();
        spend(pause);
    }),
    ("a stream of another device is waited for", |ctx, pause| {
        let other = Context::open_default().unwrap();
        other.default_stream().wait_for(&ctx.default_stream().point().unwrap()).unwrap();
        report(&ctx.default_stream().clone(), pause, ());
        drop(ctx);
    }),
];

/// Adds a callback that owns `owned` and takes up to `pause` before and after it reports.
fn report<T: Send + 'static>(stream: &Stream, pause: Duration, owned: T) -> mpsc::Receiver<()> {
    let (sender, reported) = mpsc::channel();
    let callback = move |_| {
        spend(pause);
        sender.send(()).ok();
        spend(pause);
        drop(owned);
    };
    stream.add_callback(callback).unwrap();
    reported
}

fn spend(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        thread::yield_now();
    }
}

/// The argument of a child: the index of its program, and the microseconds that its callback takes.
fn run_child(argument: &str) -> ! {
    let (program, pause) = argument.split_once(' ').unwrap();
    let (_, run) = PROGRAMS[program.parse::<usize>().unwrap()];
    run(Context::open_default().unwrap(), Duration::from_micros(pause.parse().unwrap()));
    process::exit(ENDED)
}

#[test]
fn a_process_may_end_as_soon_as_its_last_handle_is_dropped() {
    if let Some(argument) = child::argument() {
        run_child(&argument);
    }
    let ends = std::env::var("VKARRAY_TEST_EXITS").map_or(ENDS, |number| number.parse().unwrap());
    let arguments: Vec<_> = (0..ends)
        .flat_map(|nth| (0..PROGRAMS.len()).map(move |program| (program, u64::from(nth) * 1500 / u64::from(ends))))
        .collect();
    let mut crashed = [0; PROGRAMS.len()];
    for some in arguments.chunks(AT_A_TIME) {
        let children: Vec<_> =
            some.iter().map(|(program, pause)| child::start(TEST, &format!("{program} {pause}"))).collect();
        for (&(program, pause), mut child) in some.iter().zip(children) {
            let status = child.wait().unwrap();
            if status.code() != Some(ENDED) {
                eprintln!("{}, for {pause} µs: {status}", PROGRAMS[program].0);
                crashed[program] += 1;
            }
        }
    }
    let crashed: Vec<_> = PROGRAMS.iter().zip(crashed).map(|((name, _), n)| (name, n)).collect();
    assert!(crashed.iter().all(|(_, n)| *n == 0), "of {ends} ends each: {crashed:?}");
}
