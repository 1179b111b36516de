//! wgpu on Vulkan, opened on the device that our side used, and what its users write to measure it.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::Value;
use wgpu::{
    Adapter, Backends, BindGroup, BindGroupDescriptor, BindGroupEntry, Buffer, BufferDescriptor, BufferUsages,
    CommandEncoder, ComputePass, ComputePipeline, ComputePipelineDescriptor, Device, DeviceDescriptor, Instance,
    InstanceDescriptor, Limits, PollType, Queue, ShaderModuleDescriptor, ShaderSource,
};

/// Runs of which a figure is the median.
const RUNS: u32 = 9;

/// A device of wgpu's.
#[derive(Debug)]
pub struct Peer {
    /// The device.
    pub device: Device,
    /// Its queue.
    pub queue: Queue,
    /// What it was opened with: all that the adapter has.
    pub limits: Limits,
}

impl Peer {
    /// Opens the device that a header of ours names.
    ///
    /// # Errors
    ///
    /// If wgpu does not list it, or cannot open it.
    pub fn open(header: &Value) -> Result<Self> {
        let name = header["device"].as_str().context("the header names no device")?;
        let descriptor =
            InstanceDescriptor { backends: Backends::VULKAN, ..InstanceDescriptor::new_without_display_handle() };
        let adapters: Vec<Adapter> = pollster::block_on(Instance::new(descriptor).enumerate_adapters(Backends::VULKAN));
        let adapter = adapters.into_iter().find(|adapter| adapter.get_info().name == name);
        let adapter = adapter.with_context(|| format!("wgpu has no device {name}"))?;
        let limits = adapter.limits();
        let descriptor = DeviceDescriptor { required_limits: limits.clone(), ..Default::default() };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor)).context("opening the device")?;
        Ok(Self { device, queue, limits })
    }

    /// Makes a pipeline of a shader's entry point.
    #[must_use]
    pub fn pipeline(&self, source: &str, entry: &str) -> ComputePipeline {
        let source = ShaderSource::Wgsl(source.into());
        let module = self.device.create_shader_module(ShaderModuleDescriptor { label: None, source });
        self.device.create_compute_pipeline(&ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: Some(entry),
            compilation_options: Default::default(),
            cache: None,
        })
    }

    /// Makes a buffer for kernels and copies.
    #[must_use]
    pub fn buffer(&self, size: u64) -> Buffer {
        self.buffer_for(size, BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC)
    }

    /// Makes a buffer for something else.
    #[must_use]
    pub fn buffer_for(&self, size: u64, usage: BufferUsages) -> Buffer {
        self.device.create_buffer(&BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
    }

    /// Binds two buffers as a pipeline's first group.
    #[must_use]
    pub fn bind(&self, pipeline: &ComputePipeline, first: &Buffer, second: &Buffer) -> BindGroup {
        let entries = [(0, first), (1, second)]
            .map(|(binding, buffer)| BindGroupEntry { binding, resource: buffer.as_entire_binding() });
        let layout = &pipeline.get_bind_group_layout(0);
        self.device.create_bind_group(&BindGroupDescriptor { label: None, layout, entries: &entries })
    }

    /// Records a compute pass and submits it.
    pub fn submit_pass(&self, record: impl FnOnce(&mut ComputePass<'_>)) {
        self.submit(|encoder| record(&mut encoder.begin_compute_pass(&Default::default())));
    }

    /// Records and submits.
    pub fn submit(&self, record: impl FnOnce(&mut CommandEncoder)) {
        let mut encoder = self.device.create_command_encoder(&Default::default());
        record(&mut encoder);
        self.queue.submit([encoder.finish()]);
    }

    /// Blocks until all work is done.
    ///
    /// # Errors
    ///
    /// If the device is lost.
    pub fn wait(&self) -> Result<()> {
        self.device.poll(PollType::wait_indefinitely()).context("waiting for the device")?;
        Ok(())
    }

    /// Times `run` and the wait for its end, once to warm up and then for the figure.
    ///
    /// # Errors
    ///
    /// Those of `run` and of the wait.
    pub fn runs(&self, run: impl FnMut() -> Result<()>) -> Result<Vec<Duration>> {
        self.samples(RUNS, run)
    }

    /// As [`Peer::runs`], `n` times.
    ///
    /// # Errors
    ///
    /// As [`Peer::runs`].
    pub fn samples(&self, n: u32, mut run: impl FnMut() -> Result<()>) -> Result<Vec<Duration>> {
        let mut once = || {
            self.wait()?;
            timed(|| run().and_then(|()| self.wait()))
        };
        once()?;
        (0..n).map(|_| once()).collect()
    }
}

/// The time that `work` takes.
///
/// # Errors
///
/// Those of `work`.
pub fn timed(work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}
