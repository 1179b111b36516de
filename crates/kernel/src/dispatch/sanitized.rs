//! Runs a kernel that was built with checks: binds the report, waits, and reads the first fault.
//!
//! The folder `sanitize` builds the checks and decodes the report; nothing there uses a device.

use std::sync::Arc;

use vkarray_allocator::{Block, MemoryKind};
use vkarray_driver::Stream;
use vkarray_shader::internal::{REPORT_BYTES, REPORT_WORDS, place_notes};
use vkarray_shader::{Limits, Param, ParamKind, Sanitized, SpirvError};

use crate::dispatch::launch::Launch;
use crate::error::{Error, Result};
use crate::pipeline::kernel::Kernel;
use crate::pipeline::sanitizer::Sanitizer;

/// The most bytes of a report. Beyond them the uses of buffers are not noted.
const MAX_BYTES: u64 = 1 << 30;

impl Sanitizer {
    /// Bytes of a report of so many workgroups, without notes of buffers, or `None` if a shader cannot number them.
    fn report_bytes(&self, counts: [u32; 3]) -> Option<u64> {
        let groups = counts.iter().try_fold(1_u64, |groups, count| groups.checked_mul(u64::from(*count)))?;
        let notes = groups.checked_mul(self.sanitized.shadow_bytes_per_group)?;
        notes.checked_add(self.sanitized.header_bytes()).filter(|bytes| *bytes <= u64::from(u32::MAX))
    }

    /// Where the notes of each buffer begin, in words behind the header, and the report's bytes with them.
    fn place_buffers(
        &self,
        launch: &Launch,
        report_bytes: u64,
        (params, limits): (&[Param], &Limits),
    ) -> (Vec<u32>, u64) {
        let Sanitized { buffers, buffer_granule, .. } = &self.sanitized;
        let header = self.sanitized.header_bytes();
        let limit = limits.max_storage_buffer_range.min(MAX_BYTES).saturating_sub(header) / 4;
        // Samplers are parameters without an access.
        let is_sampler = |param: &&Param| param.kind == ParamKind::Sampler;
        let n_samplers = |param: usize| params[..param].iter().filter(is_sampler).count();
        let bytes = buffers.iter().map(|&param| {
            let range = &launch.accesses[param - n_samplers(param)].range;
            range.end - range.start
        });
        let (first_notes, words) = place_notes((report_bytes - header) / 4, limit, *buffer_granule, bytes);
        // An array of no elements cannot be bound.
        (first_notes, header + 4 * if buffers.is_empty() { words } else { words.max(1) })
    }
}

/// What a launch with checks writes.
pub(crate) struct Report {
    kernel: Kernel,
    block: Arc<Block>,
}

impl Report {
    /// Waits for the launch, and returns the first fault as an error.
    pub(crate) fn read(&self, stream: &Stream) -> Result<()> {
        let Some(sanitizer) = &self.kernel.pipeline.sanitizer else { return Ok(()) };
        let mut words = [0_u32; REPORT_WORDS];
        self.block.copy_to_host(stream, 0, bytemuck::cast_slice_mut(&mut words))?;
        let found = sanitizer.sanitized.read(&self.kernel.signature().entry, &sanitizer.source_name, &words);
        found.map_or(Ok(()), |finding| Err(Error::Found(Box::new(finding))))
    }
}

impl Kernel {
    /// Runs a launch with checks, waits, and returns the first fault as an error.
    pub(crate) fn dispatch_sanitized(&self, stream: &Stream, launch: &mut Launch, sanitizer: &Sanitizer) -> Result<()> {
        let report = self.bind_report(stream, launch, sanitizer)?;
        self.submit(stream, launch)?;
        report.read(stream)
    }

    /// Gives a launch with checks a report, which the launch keeps alive.
    pub(crate) fn bind_report(&self, stream: &Stream, launch: &mut Launch, sanitizer: &Sanitizer) -> Result<Report> {
        let kernel = &self.signature().entry;
        let bytes = sanitizer.report_bytes(launch.counts).ok_or_else(|| SpirvError::Sanitize {
            kernel: kernel.clone(),
            reason: format!(
                "the notes of its shared memory, {} bytes for each workgroup, exceed 4 GiB for {:?} workgroups; \
                 dispatch fewer at once",
                sanitizer.sanitized.shadow_bytes_per_group, launch.counts
            ),
        })?;
        let (first_notes, bytes) =
            sanitizer.place_buffers(launch, bytes, (&self.signature().params, &self.pipeline.limits));
        let report = sanitizer.allocator.allocate(bytes, MemoryKind::Device)?;
        report.fill(stream, 0)?;
        if !first_notes.is_empty() {
            report.copy_from_host(stream, REPORT_BYTES, bytemuck::cast_slice(&first_notes))?;
        }
        launch.bind(&report, 0..bytes, ParamKind::Storage, true)?;
        launch.keep(Arc::clone(&report));
        Ok(Report { kernel: self.clone(), block: report })
    }

    /// Refuses a kernel with checks: the call that records a graph cannot return what later replays find.
    pub(crate) fn check_recordable(&self) -> Result<()> {
        if self.pipeline.sanitizer.is_none() {
            return Ok(());
        }
        let reason = "a graph cannot return what is found; build the kernel with `sanitize(false)`".to_owned();
        Err(SpirvError::Sanitize { kernel: self.signature().entry.clone(), reason }.into())
    }
}
