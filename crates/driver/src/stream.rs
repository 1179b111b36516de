//! A stream: an ordered queue of work, recorded into batches that are sent to the device early when it is idle.
//!
//! [`Stream::record`] is the one way work enters. It asks the hazard table what must be ordered, records at most one
//! barrier, and lets the caller record its commands. Several streams share a queue; what one of them has to wait for
//! another is a wait on the device, never on the host. `lane.rs` holds the mechanics.

use std::sync::Arc;
use std::time::Duration;

use ash::vk;

use crate::batch::{Batch, Kept};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::hazard::Access;
pub(crate) use crate::lane::Lane;
use crate::point::Point;

/// An ordered queue of work on a device. Clones are handles to the same stream.
///
/// Its results are as if the work ran in the order given; independent work inside it may overlap. Work on different
/// streams is ordered only where it touches the same memory, or through [`Event`](crate::Event)s.
///
/// Dropping the last handle sends what is recorded and waits for it, for ten seconds at most; what is then still
/// running is leaked rather than freed under the device's feet.
#[derive(Debug, Clone)]
pub struct Stream {
    lane: Arc<Lane>,
}

impl Stream {
    /// Creates a stream.
    ///
    /// # Errors
    ///
    /// [`Error::Vulkan`](crate::Error::Vulkan) if the driver cannot make another semaphore.
    pub fn new(device: &Arc<Device>) -> Result<Self> {
        Ok(Self { lane: Lane::new(device)? })
    }

    /// The device it runs on.
    #[must_use]
    pub fn device(&self) -> &Arc<Device> {
        self.lane.device()
    }

    /// Records one operation.
    ///
    /// `accesses` lists every byte range the operation touches and how. `commands` records it. What the operation
    /// must wait for is recorded before it. Returns at once; the work is sent when the device is idle, when the batch
    /// is full, or when somebody waits for it.
    ///
    /// # Errors
    ///
    /// Those of `commands`, of the submission of an earlier batch, and [`Error::DeviceLost`](crate::Error::DeviceLost).
    ///
    /// # Safety
    ///
    /// The commands touch no memory that `accesses` does not list, in no other way, and leave the command buffer
    /// recording. Every object they refer to is kept with [`Recorder::keep`] or lives until its block's points of
    /// last use are reached.
    pub unsafe fn record<R, E: From<crate::Error>>(
        &self,
        accesses: &[Access],
        commands: impl FnOnce(&mut Recorder<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        self.lane.record(accesses, commands)
    }

    /// The point at which everything recorded so far is done.
    #[must_use]
    pub fn point(&self) -> Point {
        self.lane.point()
    }

    /// Makes later work of this stream start after `point`, on the device. Returns at once.
    ///
    /// # Errors
    ///
    /// [`Error::DifferentDevices`]; those of sending the work up to `point`, or this stream's open batch.
    pub fn wait_for(&self, point: &Point) -> Result<()> {
        if !Arc::ptr_eq(self.device(), point.timeline().device()) {
            return Err(Error::DifferentDevices);
        }
        self.lane.wait_for(point)
    }

    /// Sends what is recorded to the device. Does not wait.
    ///
    /// # Errors
    ///
    /// Those of the submission.
    pub fn flush(&self) -> Result<()> {
        self.lane.flush()
    }

    /// Blocks until everything recorded so far is done.
    ///
    /// # Errors
    ///
    /// Those of the submission, and [`Error::DeviceLost`](crate::Error::DeviceLost).
    pub fn synchronize(&self) -> Result<()> {
        self.point().wait(None)
    }

    /// Blocks until everything recorded so far is done, for `timeout` at most.
    ///
    /// # Errors
    ///
    /// [`Error::Timeout`](crate::Error::Timeout), and those of [`Stream::synchronize`].
    pub fn synchronize_for(&self, timeout: Duration) -> Result<()> {
        self.point().wait(Some(timeout))
    }

    /// Whether everything recorded so far is done. Never blocks, and submits nothing.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`](crate::Error::DeviceLost).
    pub fn query(&self) -> Result<bool> {
        self.point().is_complete()
    }
}

/// Where an operation's commands go.
#[derive(Debug)]
pub struct Recorder<'a> {
    device: &'a Arc<Device>,
    batch: &'a mut Batch,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(device: &'a Arc<Device>, batch: &'a mut Batch) -> Self {
        Self { device, batch }
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &'a Arc<Device> {
        self.device
    }

    /// The command buffer, recording.
    #[must_use]
    pub fn commands(&self) -> vk::CommandBuffer {
        self.batch.commands
    }

    /// Keeps something alive until the operation is done.
    pub fn keep(&mut self, kept: Kept) {
        self.batch.keep.push(kept);
    }

    /// Notes that the host will read what the operation writes, so that its writes are made visible there.
    pub fn host_will_read(&mut self) {
        self.batch.host_reads = true;
    }

    /// Binds a compute pipeline if it is not bound already, and keeps its owner alive.
    ///
    /// # Safety
    ///
    /// `pipeline` is a compute pipeline of this device that `owner` keeps alive.
    pub unsafe fn bind_pipeline(&mut self, pipeline: vk::Pipeline, owner: impl FnOnce() -> Kept) {
        if self.batch.bound == pipeline {
            return;
        }
        self.batch.keep.push(owner());
        self.batch.bound = pipeline;
        let bind_point = vk::PipelineBindPoint::COMPUTE;
        // SAFETY: the buffer is recording; the caller vouches for the pipeline, and the batch now keeps its owner.
        unsafe { self.device.raw().cmd_bind_pipeline(self.batch.commands, bind_point, pipeline) };
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
