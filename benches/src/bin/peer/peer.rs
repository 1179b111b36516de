//! wgpu on Vulkan, opened on the device that vkarray used, and the calls that wgpu's users write.

use std::time::Duration;

use anyhow::{Context as _, Result};
use vkarray_benches::{Report, timed};
use wgpu::{
    Adapter, Backends, BindGroup, BindGroupDescriptor, BindGroupEntry, Buffer, BufferDescriptor, BufferUsages,
    CommandEncoder, ComputePass, ComputePipeline, ComputePipelineDescriptor, Device, DeviceDescriptor, Instance,
    InstanceDescriptor, Limits, PollType, Queue, ShaderModule, ShaderModuleDescriptor, ShaderSource,
};

/// A device of wgpu.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// The device.
    pub(crate) device: Device,
    /// The queue of the device.
    pub(crate) queue: Queue,
    /// The limits that the device was opened with: all limits of the adapter.
    pub(crate) limits: Limits,
    /// The name of the device.
    pub(crate) name: String,
    /// The report to which the figures go.
    pub(crate) report: Report,
    /// Whether a wait sleeps, as wgpu's own does. Else it polls, which is faster and takes processor time.
    sleeps: bool,
}

impl Peer {
    /// Opens the device of that name, or without a name the first device.
    pub(crate) fn open(name: Option<&str>, report: Report) -> Result<Self> {
        let descriptor =
            InstanceDescriptor { backends: Backends::VULKAN, ..InstanceDescriptor::new_without_display_handle() };
        let adapters: Vec<Adapter> = pollster::block_on(Instance::new(descriptor).enumerate_adapters(Backends::VULKAN));
        let is_wanted = |adapter: &Adapter| name.is_none_or(|name| adapter.get_info().name == name);
        let adapter = adapters.into_iter().find(is_wanted).with_context(|| format!("wgpu has no device {name:?}"))?;
        let limits = adapter.limits();
        let descriptor = DeviceDescriptor { required_limits: limits.clone(), ..Default::default() };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor)).context("opening the device")?;
        Ok(Self { device, queue, limits, name: adapter.get_info().name, report, sleeps: false })
    }

    /// Returns the same device with waits that sleep.
    pub(crate) fn sleeping(&self) -> Self {
        Self { sleeps: true, ..self.clone() }
    }

    /// Makes a pipeline of a shader's entry point.
    pub(crate) fn pipeline(&self, source: &str, entry: &str) -> ComputePipeline {
        self.pipeline_of(&self.module(source), entry)
    }

    /// Makes a module of a shader.
    pub(crate) fn module(&self, source: &str) -> ShaderModule {
        let source = ShaderSource::Wgsl(source.into());
        self.device.create_shader_module(ShaderModuleDescriptor { label: None, source })
    }

    /// Makes a pipeline of a module's entry point.
    pub(crate) fn pipeline_of(&self, module: &ShaderModule, entry: &str) -> ComputePipeline {
        self.device.create_compute_pipeline(&ComputePipelineDescriptor {
            label: None,
            layout: None,
            module,
            entry_point: Some(entry),
            compilation_options: Default::default(),
            cache: None,
        })
    }

    /// Makes a buffer for kernels and copies.
    pub(crate) fn buffer(&self, size: u64) -> Buffer {
        self.buffer_for(size, BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC)
    }

    /// Makes a buffer with these usages.
    pub(crate) fn buffer_for(&self, size: u64, usage: BufferUsages) -> Buffer {
        self.device.create_buffer(&BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
    }

    /// Binds two buffers as a pipeline's first group.
    pub(crate) fn bind(&self, pipeline: &ComputePipeline, first: &Buffer, second: &Buffer) -> BindGroup {
        let entries = [(0, first), (1, second)]
            .map(|(binding, buffer)| BindGroupEntry { binding, resource: buffer.as_entire_binding() });
        let layout = &pipeline.get_bind_group_layout(0);
        self.device.create_bind_group(&BindGroupDescriptor { label: None, layout, entries: &entries })
    }

    /// Records a compute pass and submits it.
    pub(crate) fn submit_pass(&self, record: impl FnOnce(&mut ComputePass<'_>)) {
        self.submit(|encoder| record(&mut encoder.begin_compute_pass(&Default::default())));
    }

    /// Records commands and submits them.
    pub(crate) fn submit(&self, record: impl FnOnce(&mut CommandEncoder)) {
        let mut encoder = self.device.create_command_encoder(&Default::default());
        record(&mut encoder);
        self.queue.submit([encoder.finish()]);
    }

    /// Blocks until all work is complete.
    pub(crate) fn wait(&self) -> Result<()> {
        let kind = || if self.sleeps { PollType::wait_indefinitely() } else { PollType::Poll };
        while !self.device.poll(kind()).context("waiting for the device")?.wait_finished() {
            std::hint::spin_loop();
        }
        Ok(())
    }

    /// Times `run` and the wait for its end.
    pub(crate) fn runs(&self, mut run: impl FnMut() -> Result<()>) -> Result<Vec<Duration>> {
        self.report.runs(|| {
            self.wait()?;
            timed(|| run().and_then(|()| self.wait()))
        })
    }

    /// Times `run` alone; its work is waited for outside the timed part.
    pub(crate) fn host_runs(&self, mut run: impl FnMut() -> Result<()>) -> Result<Vec<Duration>> {
        self.report.runs(|| {
            self.wait()?;
            timed(&mut run)
        })
    }
}
