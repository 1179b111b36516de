//! Kernels that are built in the background: the threads, and how the end of a context waits for them.

use std::convert::Infallible;
use std::sync::mpsc::{self, Sender, TryRecvError};
use std::time::{Duration, Instant};

use vkarray_driver::mark_background_thread;
use vkarray_shader::Source;

use super::cache::KernelCache;
use crate::error::Result;

/// Threads that build kernels in the background.
const MAX_BUILDERS: usize = 8;

/// How long the end of a context waits for builds in the background.
const BUILDS_TIMEOUT: Duration = Duration::from_secs(10);

impl KernelCache {
    /// Counts a build in the background, until what is returned is dropped.
    pub(super) fn begin_build(&self) -> Sender<Infallible> {
        let (ends, ended) = mpsc::channel();
        let mut builds = self.builds.lock();
        builds.retain(|build| build.try_recv() == Err(TryRecvError::Empty));
        builds.push(ended);
        ends
    }

    /// Blocks until the builds in the background have ended, for ten seconds at most. A context calls it at its end: a process that
    /// exits while a driver compiles may crash.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::Source;
    ///
    /// let ctx = Context::open_default()?;
    /// ctx.kernel(Source::wgsl("@compute @workgroup_size(1) fn later() {}")).prefetch()?;
    /// ctx.kernel_cache().wait_for_builds();
    /// assert_eq!(ctx.kernel_cache().len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn wait_for_builds(&self) {
        if self.device().is_forked() {
            return; // The threads are the parent's.
        }
        let (builds, begun) = (std::mem::take(&mut *self.builds.lock()), Instant::now());
        for build in builds {
            let _: Result<Infallible, _> = build.recv_timeout(BUILDS_TIMEOUT.saturating_sub(begun.elapsed()));
        }
    }

    /// The threads that build in the background.
    pub(super) fn builders(&self, source: &Source) -> Result<&rayon_core::ThreadPool> {
        if let Some(pool) = self.builders.get() {
            return Ok(pool);
        }
        let n_threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(MAX_BUILDERS);
        let name = |i| format!("vkarray-build-{i}");
        let pool = rayon_core::ThreadPoolBuilder::new().num_threads(n_threads).thread_name(name);
        let pool = pool.start_handler(|_| mark_background_thread()).build();
        let source_name = || source.name().to_owned();
        let pool = pool.map_err(|error| vkarray_shader::Error::CompilerThread {
            source_name: source_name(),
            reason: std::io::Error::other(error),
        })?;
        Ok(self.builders.get_or_init(|| pool))
    }
}

/// In a forked process the threads do not exist and cannot be joined.
impl Drop for KernelCache {
    fn drop(&mut self) {
        let builders = self.builders.take();
        if self.device().is_forked() {
            std::mem::forget(builders);
        }
    }
}
