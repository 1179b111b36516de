//! Kernels that are built in the background: how they are asked for, the threads, and how the end of a context waits for
//! them.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use vkarray_driver::{contain_panic, mark_background_thread};
use vkarray_shader::{Error as ShaderError, Source};

use super::builder::KernelBuilder;
use super::cache::{KernelCache, KernelKey};
use super::kernel::Kernel;
use crate::error::{Error, Result};

/// Threads that build kernels in the background.
const MAX_BUILDERS: usize = 8;

/// How long the end of a context waits for builds in the background.
const BUILDS_TIMEOUT: Duration = Duration::from_secs(10);

impl KernelCache {
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

    /// Starts to build a kernel on another thread, which gives the result to `ended`.
    fn build_in_background(
        self: &Arc<Self>,
        key: KernelKey,
        ended: impl FnOnce(Result<Kernel>) + Send + 'static,
    ) -> Result<()> {
        self.device().check_process()?;
        let for_thread = Arc::clone(self);
        let builders = self.builders(&key.source)?;
        // The build counts until its sender is dropped.
        let (ends, ended_build) = mpsc::channel();
        let mut builds = self.builds.lock();
        builds.retain(|build| build.try_recv() == Err(TryRecvError::Empty));
        builds.push(ended_build);
        drop(builds);
        builders.spawn(move || {
            // An error is not kept: `build` compiles again and returns it. A panic here would end the process.
            contain_panic("a kernel's build", move || ended(for_thread.kernel_of(key)));
            drop(ends); // After the cache, so that the thread holds nothing of the device when the build has ended.
        });
        Ok(())
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
        let pool = pool.map_err(|error| {
            let (source_name, reason) = (source.name().to_owned(), std::io::Error::other(error));
            ShaderError::CompilerThread { source_name, reason }
        })?;
        Ok(self.builders.get_or_init(|| pool))
    }
}

impl KernelBuilder {
    /// Starts to build the kernel on another thread and returns. A later [`build`](KernelBuilder::build) of the same kernel
    /// finds it or waits for it, and returns its error.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::Source;
    ///
    /// let ctx = Context::open_default()?;
    /// let source = Source::wgsl("@compute @workgroup_size(1) fn later() {}");
    /// ctx.kernel(source.clone()).prefetch()?;
    /// assert_eq!(ctx.kernel(source).build()?.signature().entry, "later");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ShaderError::CompilerThread`](crate::ShaderError::CompilerThread) if no thread can be started;
    /// [`Forked`](vkarray_driver::Error::Forked).
    pub fn prefetch(self) -> Result<()> {
        let (cache, key) = self.into_key();
        cache.build_in_background(key, drop)
    }

    /// Builds the kernel as [`KernelBuilder::build`] does, on another thread, and waits for it no longer than `limit`. A
    /// driver's compiler cannot be stopped: the build goes on, for a later build of the same kernel. The end of the
    /// context waits for it ten seconds at most.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use std::time::Duration;
    ///
    /// use vkarray_kernel::{Error, Source};
    ///
    /// let ctx = Context::open_default()?;
    /// let builder = ctx.kernel(Source::wgsl("@compute @workgroup_size(1) fn slow() {}"));
    /// let error = builder.clone().build_within(Duration::ZERO).unwrap_err();
    /// assert!(matches!(error, Error::BuildLimit { .. }), "{error}");
    /// assert_eq!(builder.build_within(Duration::from_secs(60))?.signature().entry, "slow");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::BuildLimit`]; the errors of [`KernelBuilder::build`] and [`KernelBuilder::prefetch`].
    pub fn build_within(self, limit: Duration) -> Result<Kernel> {
        let (cache, key) = self.into_key();
        let source_name = key.source.name().to_owned();
        let kernel = key.entry.as_ref().map_or_else(|| "the kernel".to_owned(), |entry| format!("kernel `{entry}`"));
        let (built, result) = mpsc::sync_channel(1);
        // Nobody receives a kernel that is built after the limit.
        cache.build_in_background(key, move |kernel| drop(built.try_send(kernel)))?;
        match result.recv_timeout(limit) {
            Ok(kernel) => kernel.inspect_err(|error| cache.note_refused_checks(error)),
            Err(RecvTimeoutError::Timeout) => {
                Err(Error::BuildLimit { source_name, kernel, seconds: limit.as_secs_f64() })
            }
            Err(RecvTimeoutError::Disconnected) => {
                let reason = "its thread panicked".to_owned();
                Err(ShaderError::CompilerPanicked { source_name, reason }.into())
            }
        }
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
