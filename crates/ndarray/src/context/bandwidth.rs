//! How fast bytes are copied from one context to another: measured once for each pair of contexts, and kept.

use std::time::Instant;

use vkarray_allocator::{BlockRange, MemoryKind};

use super::Context;
use crate::error::Result;

/// Bytes of the copy that is measured: several chunks, so that the chunks overlap as in large copies.
const SAMPLE: u64 = 8 << 20;

impl Context {
    /// How fast bytes of another context's device memory are copied to this context's, in GB/s (10⁹ bytes each second).
    ///
    /// The first call for a source device copies 16 MiB and blocks until the copies are complete; later calls return
    /// its result.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let (here, there) = (Context::open_default()?, Context::open_default()?);
    /// assert!(there.copy_bandwidth(&here)? > 0.0);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Memory`](crate::Error::Memory) or [`Error::Driver`](crate::Error::Driver) if allocating, copying or waiting
    /// fails. The next call measures again.
    pub fn copy_bandwidth(&self, source: &Self) -> Result<f64> {
        let bandwidths = &self.shard.shared.copy_bandwidths;
        let device = &source.info().uuid;
        if let Some(measured) = bandwidths.lock().get(device) {
            return Ok(*measured);
        }
        let (from, to) = (source.stream()?, self.stream()?);
        let blocks = [source.allocator(), self.allocator()].map(|memory| memory.allocate(SAMPLE, MemoryKind::Device));
        let [there, here] = blocks;
        let (there, here) = (there?, here?);
        let copy = || -> Result<f64> {
            let begun = Instant::now();
            let target = BlockRange { block: &here, range: 0..SAMPLE, stream: &to };
            BlockRange { block: &there, range: 0..SAMPLE, stream: &from }.copy_to(&target)?;
            to.synchronize()?;
            #[expect(clippy::cast_precision_loss, reason = "the sample is smaller than 2^53 bytes")]
            Ok(SAMPLE as f64 / begun.elapsed().as_secs_f64() / 1e9)
        };
        copy()?; // The first copy allocates the staging memory and is not measured.
        let measured = copy()?;
        bandwidths.lock().insert(device.clone(), measured);
        Ok(measured)
    }
}
