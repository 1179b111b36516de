//! A program that uses the whole library: memory, kernels, copies, streams, events, graphs, callbacks, futures.
//!
//! Each operation is one [`Run::attempt`], which checks how it fails. The operations do not commute and are not
//! idempotent, so that a lost operation, or one that ran although it was refused, changes the results.

use std::error::Error;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context as Poller, Poll, Wake};
use std::thread::{self, Thread};
use std::time::Duration;

use vkarray::device::{Device, Error as DriverError, Instance};
use vkarray::kernel::CacheSettings;
use vkarray::memory::Allocator;
use vkarray::{Context, DeviceNDArray, Error as ArrayError, Graph, Groups, Kernel, Source, Stream};
use vkarray_driver::Trace;

use crate::kernels::{STEP, mixed, stepped};

const N: usize = 70;

/// The kernel `mix` of `kernels.rs` with its arrays in two groups, whose descriptors are not pushed but allocated from
/// pools.
pub(crate) const MIX_IN_TWO_GROUPS: &str = "
    @group(0) @binding(0) var<storage, read> source: array<u32>;
    @group(1) @binding(0) var<storage, read_write> sum: array<u32>;
    var<immediate> add: u32;
    @compute @workgroup_size(64) fn mix(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < arrayLength(&sum) { sum[id.x] = source[id.x] * 3u + sum[id.x] * 5u + add; }
    }";

/// Adds to each number a texel of an image by a sampler, and one of a buffer of texels.
const ADD_TEXELS: &str = "#version 450
    layout(local_size_x = 1) in;
    layout(binding = 0) uniform sampler2D image;
    layout(binding = 1) uniform usamplerBuffer texels;
    layout(binding = 2) buffer Sums { uint sums[]; };
    void main() {
        uint i = gl_GlobalInvocationID.x;
        sums[i] += uint(texelFetch(image, ivec2(i, 0), 0).x) + texelFetch(texels, int(i)).x;
    }";

/// One run of the program.
pub(crate) struct Run {
    device: Option<Arc<Device>>,
    /// The errors, each with its causes.
    pub(crate) errors: Vec<String>,
    /// The device's permanent error, if it has one.
    pub(crate) sticky: Option<String>,
}

impl Run {
    /// Runs the program on the first device, to the end or until the device has a permanent error.
    pub(crate) fn new(instance: &Arc<Instance>) -> Self {
        let mut run = Self { device: None, errors: Vec::new(), sticky: None };
        run.program(instance);
        run
    }

    /// Closes the device, after everything made from it is dropped.
    pub(crate) fn close(&mut self) {
        if let Some(device) = self.device.take() {
            device.close(Duration::from_secs(20)).unwrap();
        }
    }

    /// Runs an operation. After an error the operation must succeed when it is repeated, unless the device has a
    /// permanent error, which ends the program.
    fn attempt<T, E: Error>(&mut self, what: &str, mut operation: impl FnMut() -> Result<T, E>) -> Option<T> {
        let error = match operation() {
            Ok(value) => return Some(value),
            Err(error) => chain(&error),
        };
        self.errors.push(error.clone());
        let stays = self.device.as_ref().and_then(|device| device.check_lost().err());
        match stays {
            None => Some(operation().unwrap_or_else(|again| panic!("{what}: {error}, and again: {}", chain(&again)))),
            Some(sticky) => {
                assert!(error.ends_with(&sticky.to_string()), "{what}: {error} is not {sticky}");
                let again = operation().err().unwrap_or_else(|| panic!("{what} succeeds after {sticky}"));
                assert_eq!(chain(&again), error, "{what}, again");
                self.sticky = Some(sticky.to_string());
                None
            }
        }
    }

    fn program(&mut self, instance: &Arc<Instance>) -> Option<()> {
        let physical = instance.devices().unwrap().swap_remove(0);
        let device = self.attempt("open a device", || Device::open(&physical))?;
        self.device = Some(Arc::clone(&device));
        let folder = tempfile::tempdir().expect("a folder for kernels");
        let ctx = self.attempt("make a context", || {
            let allocator = Allocator::new(&device).map_err(ArrayError::from)?;
            Context::with_kernel_cache(&allocator, CacheSettings::at(folder.path()))
        })?;
        let made = self.compute(&ctx);
        if self.sticky.is_some() {
            self.everything_fails(&ctx);
        }
        made
    }

    fn compute(&mut self, ctx: &Context) -> Option<()> {
        let groups = Groups::covering(N);
        let step = self.attempt("build a kernel", || ctx.kernel(Source::wgsl(STEP)).build())?;
        let mix = self.attempt("build another", || ctx.kernel(Source::wgsl(MIX_IN_TWO_GROUPS)).build())?;
        let stream = self.attempt("make a stream", || ctx.stream())?;
        let x = self.attempt("send an array", || ctx.slice_to_device(&[3_u32; N]))?;
        let y = self.attempt("fill an array", || ctx.full([N], 4_u32))?;
        let (start, end) = (ctx.timed_event().ok(), ctx.timed_event().ok());
        if let Some(start) = &start {
            self.attempt("record an event", || start.record(&stream))?;
        }
        let (mut in_x, mut in_y) = (3, 4);
        for round in 0..3 {
            self.attempt("dispatch", || step.dispatch(&stream, groups, (&x, round)))?;
            self.attempt("dispatch elsewhere", || mix.dispatch(ctx.default_stream(), groups, (&x, &y, round)))?;
            in_x = stepped(in_x, round);
            in_y = mixed(in_x, in_y, round);
        }
        if let Some(end) = &end {
            self.attempt("record the end", || end.record(&stream))?;
        }
        self.attempt("copy", || x.block().copy_from_block(&stream, 0, y.block(), 0..64))?;
        self.replays(&stream, &step, &x)?;
        self.callbacks(&stream)?;
        if let (Some(start), Some(end)) = (&start, &end) {
            self.attempt("wait for an event", || end.synchronize())?;
            self.attempt("ask for a time", || start.elapsed(end))?;
        }
        let back = self.attempt("read x", || x.on(&stream).copy_to_host())?;
        let replayed = |x| stepped(stepped(x, 7), 7);
        let expected: Vec<u32> = (0..N).map(|i| replayed(if i < 16 { in_y } else { in_x })).collect();
        assert_eq!(back.as_slice(), Some(expected.as_slice()), "x, after {:?}", self.errors);
        let back = self.attempt("read y", || y.copy_to_host())?;
        assert_eq!(back.as_slice(), Some([in_y; N].as_slice()), "y, after {:?}", self.errors);
        // Whole pages, and the bytes before and after them; a short slice is staged.
        let mut lent = vec![0_u32; 40 << 10];
        self.attempt("copy to registered memory", || copy_to_registered(ctx, &y, &mut lent))?;
        assert_eq!(lent[..N], [in_y; N], "registered, after {:?}", self.errors);
        assert_eq!(lent[2000..2000 + N], [in_y; N], "registered, after {:?}", self.errors);
        self.with_defaults(ctx, &step)?;
        self.with_images(ctx)?;
        self.attempt("wait for the end", || stream.synchronize())
    }

    /// Work on the default streams, with waits in between, so that batches are reused.
    fn with_defaults(&mut self, ctx: &Context, step: &Kernel) -> Option<()> {
        let groups = Groups::covering(N);
        let mix = self.attempt("build it again", || ctx.kernel(Source::wgsl(MIX_IN_TWO_GROUPS)).build())?;
        let legacy = self.attempt("take the legacy stream", || ctx.legacy_default_stream())?;
        let blocking = self.attempt("make a blocking stream", || ctx.blocking_stream())?;
        let x = self.attempt("send another array", || ctx.slice_to_device(&[5_u32; N]))?;
        let y = self.attempt("make another", || ctx.zeros::<u32>([N]))?;
        let (mut in_x, mut in_y) = (5, 0);
        for round in 0..4 {
            self.attempt("dispatch on the legacy stream", || step.dispatch(&legacy, groups, (&x, round)))?;
            self.attempt("dispatch on the blocking stream", || mix.dispatch(&blocking, groups, (&x, &y, round)))?;
            self.attempt("wait for the legacy stream", || legacy.synchronize())?;
            in_x = stepped(in_x, round);
            in_y = mixed(in_x, in_y, round);
        }
        let back = self.attempt("read the sum", || y.on(&blocking).copy_to_host())?;
        assert_eq!(back.as_slice(), Some([in_y; N].as_slice()), "the sum, after {:?}", self.errors);
        Some(())
    }

    fn with_images(&mut self, ctx: &Context) -> Option<()> {
        let add = self.attempt("build a kernel of texels", || ctx.kernel(Source::glsl(ADD_TEXELS)).build())?;
        let image = self.attempt("fill an image", || ctx.full([1, 4], 5_f32))?;
        let texels = self.attempt("fill texels", || ctx.full([4], 7_u32))?;
        let sums = self.attempt("make sums", || ctx.zeros::<u32>([4]))?;
        self.attempt("add texels", || add.launch(Groups::covering(4), (&image, &texels, &sums)))?;
        let back = self.attempt("read the sums of texels", || sums.copy_to_host())?;
        assert_eq!(back.as_slice(), Some([12; 4].as_slice()), "texels, after {:?}", self.errors);
        Some(())
    }

    fn replays(&mut self, stream: &Stream, step: &Kernel, x: &DeviceNDArray<u32>) -> Option<()> {
        let groups = Groups::covering(N);
        let (graph, _) =
            self.attempt("record a graph", || Graph::record(stream, |graph| step.record(graph, groups, (x, 7_u32))))?;
        let trace = self.attempt("start a trace", || Trace::start(stream.device()))?;
        self.attempt("replay", || graph.replay(stream))?;
        let finished = trace.finish(std::io::sink());
        self.once(finished)?;
        self.attempt("replay again", || graph.replay(stream))
    }

    fn callbacks(&mut self, stream: &Stream) -> Option<()> {
        let (sender, outcome) = mpsc::channel();
        let n_calls = Arc::new(AtomicU32::new(0));
        self.attempt("add a callback", || {
            let (sender, n_calls) = (sender.clone(), Arc::clone(&n_calls));
            stream.add_callback(move |outcome| {
                n_calls.fetch_add(1, Ordering::SeqCst);
                sender.send(outcome).unwrap();
            })
        })?;
        // The callback is called with an error if there is one; if it is not called, the time limit ends the test.
        self.once(outcome.recv().unwrap())?;
        assert_eq!(n_calls.load(Ordering::SeqCst), 1);
        let done = self.attempt("make a future", || stream.async_done())?;
        self.once(block_on(done))
    }

    /// Checks a result of an operation that cannot be repeated.
    fn once(&mut self, outcome: Result<(), DriverError>) -> Option<()> {
        let Err(error) = outcome else { return Some(()) };
        self.errors.push(chain(&error));
        let device = self.device.as_ref().unwrap();
        let Err(sticky) = device.check_lost() else { return Some(()) };
        assert_eq!(error.to_string(), sticky.to_string());
        self.sticky = Some(sticky.to_string());
        None
    }

    /// Checks that every later call returns the permanent error.
    fn everything_fails(&mut self, ctx: &Context) {
        let sticky = self.sticky.clone().unwrap();
        let stream = ctx.default_stream();
        let outcomes: [(&str, Option<String>); 10] = [
            ("flush", failure(stream.flush())),
            ("synchronize", failure(stream.synchronize())),
            ("query", failure(stream.query())),
            ("point", failure(stream.point())),
            ("callback", failure(stream.add_callback(|_| panic!("called after the end")))),
            ("record", failure(ctx.event().record(stream))),
            ("stream", failure(ctx.stream())),
            ("zeros", failure(ctx.zeros::<u32>([1]))),
            ("send", failure(ctx.slice_to_device(&[1_u32]))),
            ("kernel", failure(ctx.kernel(Source::wgsl(STEP)).build())),
        ];
        for (what, outcome) in outcomes {
            assert_eq!(outcome.as_ref(), Some(&sticky), "{what}");
        }
    }
}

/// An error and its causes.
fn chain(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Copies the array to the beginning of a slice, and to its middle.
fn copy_to_registered(ctx: &Context, array: &DeviceNDArray<u32>, lent: &mut [u32]) -> Result<(), vkarray::Error> {
    ctx.register(lent, |mut registered| {
        registered.copy_from(0, array)?;
        registered.copy_from(2000, array)
    })?
}

fn failure<T, E: Error>(outcome: Result<T, E>) -> Option<String> {
    outcome.err().map(|error| chain(&error))
}

/// Runs a future on this thread, which sleeps until it is woken.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(thread::current())).into();
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Poller::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
