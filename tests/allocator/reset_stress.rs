//! Threads that copy, fill, dispatch, register and open guards against a thread that resets, for a bounded number of
//! rounds: each call succeeds, with the right bytes, or is refused with `DeadMemory`.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use ndarray::Array1;
use vkarray::kernel::ConstArray;
use vkarray::memory::usm::{DeviceMemory, HostMemory};
use vkarray::{Context, Error, Graph, Groups, Index, Kernel, Source, Stream};

use super::contexts;
use super::reset_meanwhile::{Refusal, values};
use crate::fixture::Fixture;
use crate::fixture::kernels::{step, stepped};
use crate::fixture::watchdog::watched;

const N: usize = 1003;

/// A round of one thread. It returns an error if a reset refused one of its calls.
type Round<'a> = Box<dyn Fn(u32) -> Result<(), Error> + Send + 'a>;

fn uploads_and_downloads(ctx: &Context, stream: &Stream, first: u32, n: usize) -> Result<(), Error> {
    let host: Array1<u32> = (first..).take(n).collect();
    let array = ctx.to_device_on(stream, &host)?;
    assert_eq!(array.on(stream).copy_to_host()?, host.clone().into_dyn());
    array.slice([Index::stepped(.., -1)])?.on(stream).copy_from_host(&host)?;
    let turned: Array1<u32> = host.to_vec().into_iter().rev().collect();
    assert_eq!(array.on(stream).copy_to_host()?, turned.into_dyn());
    Ok(())
}

fn fills_and_copies(ctx: &Context, stream: &Stream, first: u32) -> Result<(), Error> {
    let array = ctx.full([N], first)?;
    let even = array.slice([Index::stepped(.., 2)])?;
    even.on(stream).fill(first + 1)?;
    array.block().fill_range(stream, 4..7, &[1])?;
    let copy = array.slice([Index::stepped(.., -1)])?.on(stream).astype::<f64>()?;
    let mut expected: Vec<u32> = (0..N).map(|at| first + u32::from(at % 2 == 0)).collect();
    bytemuck::cast_slice_mut::<u32, u8>(&mut expected)[4..7].fill(1);
    let seen = copy.on(stream).copy_to_host()?;
    assert!(seen.iter().copied().eq(expected.iter().rev().copied().map(f64::from)));
    assert_eq!(array.get([1])?, expected[1]);
    array.set([0], 77)?;
    assert_eq!(array.on(stream).copy_to_host_async()?.wait()?[[0]], 77);
    Ok(())
}

fn dispatches(ctx: &Context, stream: &Stream, step: &Kernel, first: u32) -> Result<(), Error> {
    let (array, groups) = (ctx.to_device(&values(first))?, Groups::covering(N));
    step.dispatch(stream, groups, (&array, 3_u32))?;
    // The view starts where the device cannot bind it, so it is copied there and back.
    step.dispatch(stream, groups, (&array.slice([Index::from(1..)])?, 4_u32))?;
    let (graph, _) = Graph::record(stream, |graph| step.record(graph, groups, (&array, 5_u32)))?;
    graph.replay(stream)?;
    let expected = values(first).into_iter().enumerate().map(|(at, x)| {
        let x = stepped(x, 3);
        stepped(if at > 0 { stepped(x, 4) } else { x }, 5)
    });
    assert!(array.copy_to_host()?.into_iter().eq(expected));
    Ok(())
}

fn registers(ctx: &Context, stream: &Stream, first: u32, n: usize) -> Result<(), Error> {
    let host: Vec<u32> = (first..).take(n).collect();
    let mut lent = host.clone();
    let array = ctx.device_array::<u32>([n])?;
    let mut sums = vec![0_u32; n];
    ctx.register(&mut lent, |mut registered| {
        registered.on(stream).copy_to(0, &array)?;
        ctx.register(&mut sums, |mut sums| {
            sums.on(stream).copy_from(0, &array)?;
            assert_eq!(sums.read()?, host);
            sums.write()?.fill(5);
            sums.on(stream).copy_from(0, &array)
        })?
    })??;
    assert!(lent == host && sums == host);
    Ok(())
}

fn guards(ctx: &Context, stream: &Stream, first: u32) -> Result<(), Error> {
    let array = ctx.pinned_array::<u32>([N])?;
    array.write_on_host()?.view_mut().assign(&values(first).into_dyn());
    let copy = ctx.device_array::<u32>([N])?;
    copy.on(stream).copy_from_device(&array)?;
    array.on(stream).copy_from_device(&copy)?;
    let guard = array.read_on_host()?;
    assert!(guard.view().iter().eq(values(first).iter()));
    assert!(copy.copy_to_host()?.iter().eq(guard.view().iter()));
    Ok(())
}

fn memory_objects(ctx: &Context, first: u32) -> Result<(), Error> {
    let fill = u8::try_from(first % 251).unwrap();
    let (device, host) = (DeviceMemory::new(ctx, 301)?, HostMemory::new(ctx, 301)?);
    device.memset(fill)?;
    device.view(1..299)?.copy_from_host([fill + 1; 298])?;
    host.copy_from_device(&device)?;
    let mut expected = [fill; 301];
    expected[1..299].fill(fill + 1);
    assert_eq!(*host.read_on_host::<u8>()?, expected);
    assert_eq!(device.to_bytes()?, expected);
    Ok(())
}

fn reader(ctx: &Context) -> Kernel {
    let source = Source::wgsl(
        "@group(0) @binding(0) var<uniform> table: vec4<u32>;
         @group(0) @binding(1) var<storage, read_write> out: array<u32>;
         @compute @workgroup_size(4) fn take(@builtin(global_invocation_id) id: vec3<u32>) { out[id.x] = table[id.x]; }",
    );
    ctx.kernel(source).build().unwrap()
}

fn constants(ctx: &Context, stream: &Stream, (reader, table): (&Kernel, &ConstArray), first: u32) -> Result<(), Error> {
    let fresh = [1, 2, 3, 4].map(|i| first * i);
    let out = ctx.device_array::<u32>([4])?;
    table.update(stream, &fresh)?;
    reader.dispatch(stream, Groups::exact([1, 1, 1]), (table, &out))?;
    assert!(out.copy_to_host()?.into_iter().eq(fresh));
    Ok(())
}

/// Runs all kinds of calls at once. Which of the two allowed outcomes a call has depends on timing.
#[test]
fn concurrent_calls_succeed_or_are_refused_by_a_reset() {
    const ROUNDS: u32 = 60;
    let fixture = Fixture::open();
    let contexts = contexts(&fixture);
    let steps = contexts.each_ref().map(|(_, ctx)| step(ctx));
    let readers = contexts.each_ref().map(|(_, ctx)| (reader(ctx), ctx.const_array(&[0_u32; 4], [4]).unwrap()));
    let streams: Vec<Stream> = (0..14).map(|_| fixture.stream().unwrap()).collect();
    let mut jobs: Vec<Round<'_>> = Vec::new();
    for (which, ((_, ctx), streams)) in contexts.iter().zip(streams.chunks(7)).enumerate() {
        let (step, (reader, table)) = (&steps[which], &readers[which]);
        let [a, b, c, d, e, f, g] = streams else { unreachable!() };
        jobs.push(Box::new(move |i| uploads_and_downloads(ctx, a, i, N)));
        jobs.push(Box::new(move |i| uploads_and_downloads(ctx, b, i, 200_003)));
        jobs.push(Box::new(move |i| fills_and_copies(ctx, c, i)));
        jobs.push(Box::new(move |i| dispatches(ctx, d, step, i)));
        jobs.push(Box::new(move |i| registers(ctx, e, i, if i % 2 == 0 { N } else { 30_001 })));
        jobs.push(Box::new(move |i| guards(ctx, f, i).and_then(|()| memory_objects(ctx, i))));
        jobs.push(Box::new(move |i| constants(ctx, g, (reader, table), i)));
    }
    let (n_left, n_refused) = (AtomicUsize::new(jobs.len()), AtomicUsize::new(0));
    let failed = AtomicBool::new(false);
    watched("work against a thread that resets", || {
        thread::scope(|scope| {
            for job in jobs {
                let (n_left, n_refused, failed) = (&n_left, &n_refused, &failed);
                scope.spawn(move || {
                    let _ends = Ends(n_left);
                    for round in 1..=ROUNDS {
                        if failed.load(Ordering::Relaxed) {
                            return;
                        }
                        let Err(error) = job(round) else { continue };
                        n_refused.fetch_add(1, Ordering::Relaxed);
                        failed.fetch_or(!error.is_dead(), Ordering::Relaxed);
                        assert!(error.is_dead(), "{error:?}");
                    }
                });
            }
            let mut n_resets = 0;
            while n_left.load(Ordering::Relaxed) > 0 {
                contexts.iter().for_each(|(_, ctx)| ctx.reset().unwrap());
                n_resets += 1;
                thread::yield_now();
            }
            eprintln!("{n_resets} resets, {} of {} rounds refused", n_refused.load(Ordering::Relaxed), 14 * ROUNDS);
        });
    });
    drop(readers);
    for (name, ctx) in &contexts {
        ctx.reset().unwrap();
        assert_eq!(ctx.allocator().usage().in_use, 0, "{name}");
        uploads_and_downloads(ctx, ctx.default_stream(), 5, N).unwrap();
    }
}

/// Counts a thread as done, also when it panics.
struct Ends<'a>(&'a AtomicUsize);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
