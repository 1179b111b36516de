//! [`Recorder`]: what the closure that records an operation may do with the open batch.
//!
//! Every binding goes through the recorder, so that nothing is bound twice; `bind_cache.rs` remembers what is bound.
//! `order.rs` has chosen the batch and recorded the barrier before the closure runs.

use std::sync::Arc;

use ash::vk;

use super::batch::Batch;
use crate::error::Result;
use crate::sync::KeepAlive;
use crate::vulkan::{Label, LogicalDevice};

/// Records the commands of an operation into the open batch.
#[derive(Debug)]
pub struct Recorder<'a> {
    pub(super) device: &'a Arc<LogicalDevice>,
    pub(super) batch: &'a mut Batch,
}

impl<'a> Recorder<'a> {
    /// The device that the commands are recorded for.
    #[must_use]
    pub fn device(&self) -> &'a Arc<LogicalDevice> {
        self.device
    }

    /// The command buffer, which is recording.
    #[must_use]
    pub fn commands(&self) -> vk::CommandBuffer {
        self.batch.commands
    }

    /// Names the operation, for the report of a lost device and for a trace. A name that is repeated within a batch is
    /// reported once, since threads that dispatch at the same time contend for the report.
    #[inline]
    pub fn label(&mut self, label: Label) {
        let labels = &self.device.loss.labels;
        if self.batch.label.replace(label) != Some(label) {
            labels.note(label);
        }
        if let Some(trace) = &mut self.batch.trace {
            trace.name_op(labels.text(label));
        }
    }

    /// Keeps an object alive until the operation is done. A thread that uses the stream or waits for it drops the
    /// object, while it holds no lock of this library, so the drop may use the stream too.
    pub fn keep(&mut self, kept: KeepAlive) {
        self.batch.keep(kept);
    }

    /// Notes that the host will read what the operation writes. The writes are then made visible to the host.
    pub fn host_will_read(&mut self) {
        self.batch.host_reads = true;
    }

    /// Binds a compute pipeline if it is not bound already, and keeps its owner alive. The buffers and push constants
    /// that were bound for another pipeline are forgotten.
    ///
    /// # Safety
    ///
    /// `pipeline` is a compute pipeline of this device that `owner` keeps alive.
    #[inline]
    pub unsafe fn bind_pipeline(&mut self, pipeline: vk::Pipeline, owner: impl FnOnce() -> KeepAlive) {
        if !self.batch.bind_cache.bind_pipeline(pipeline) {
            return;
        }
        self.batch.keep(owner());
        let bind_point = vk::PipelineBindPoint::COMPUTE;
        // SAFETY: the buffer is recording; the caller vouches for the pipeline, and the batch now keeps its owner.
        unsafe { self.device.raw().cmd_bind_pipeline(self.batch.commands, bind_point, pipeline) };
    }

    /// Whether [`Recorder::note_buffers`] was called with exactly these buffers since the current pipeline was bound.
    #[inline]
    #[must_use]
    pub fn has_buffers(&self, buffers: &[vk::DescriptorBufferInfo]) -> bool {
        self.batch.bind_cache.has_buffers(buffers)
    }

    /// Notes that these buffers are bound to the bindings of the current pipeline, in the order of the bindings.
    #[inline]
    pub fn note_buffers(&mut self, buffers: &[vk::DescriptorBufferInfo]) {
        self.batch.bind_cache.set_buffers(buffers);
    }

    /// Sets the whole block of push constants of the current pipeline, if the block does not hold these bytes already.
    ///
    /// # Safety
    ///
    /// `layout` is the layout of the current pipeline, and declares `bytes.len()` bytes of push constants for compute
    /// shaders.
    #[inline]
    pub unsafe fn push_constants(&mut self, layout: vk::PipelineLayout, bytes: &[u8]) {
        if bytes.is_empty() || !self.batch.bind_cache.set_push_constants(bytes) {
            return;
        }
        let (commands, stages) = (self.batch.commands, vk::ShaderStageFlags::COMPUTE);
        // SAFETY: the buffer is recording; the caller vouches for the layout.
        unsafe { self.device.raw().cmd_push_constants(commands, layout, stages, 0, bytes) };
    }

    /// Allocates a descriptor set that is valid until the operation's batch is done.
    ///
    /// # Errors
    ///
    /// [`Error::Vulkan`](crate::Error::Vulkan) if the driver is out of memory.
    pub fn descriptor_set(&mut self, layout: vk::DescriptorSetLayout, n_buffers: u32) -> Result<vk::DescriptorSet> {
        self.batch.descriptors.allocate(self.device, layout, n_buffers)
    }
}
