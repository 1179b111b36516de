//! Command buffers of small dispatches and of copies.
//!
//! Dispatches are recorded as in our runtime: the pipeline once, then descriptors and constants pushed for each. The
//! barrier is one from compute to compute. Read next: `launch.rs`.

use anyhow::Result;
use ash::vk;

use crate::gpu::{DESCRIPTORS, Gpu, Place};

/// Elements of the arrays of small dispatches.
const N: u64 = 1024;
/// The bytes of an array.
pub(crate) const BYTES: u64 = N * 4;

/// The two arrays of a small dispatch.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) buffers: [vk::Buffer; 2],
    pub(crate) bytes: u64,
    pub(crate) binding: Binding,
}

/// How the arrays reach the shader. A binding that was written before has the layout of its pipelines.
#[derive(Clone, Copy)]
pub(crate) enum Binding {
    /// Pushed with every dispatch.
    Pushed,
    Set(vk::DescriptorSet, vk::PipelineLayout),
    /// The address of a descriptor buffer, and a place in it.
    Place(vk::DeviceAddress, u64, vk::PipelineLayout),
}

/// A command buffer that is being recorded, or that was recorded.
pub(crate) struct Commands<'a> {
    gpu: &'a Gpu,
    pub(crate) buffer: vk::CommandBuffer,
}

impl Pair {
    pub(crate) fn new(gpu: &Gpu) -> Result<Self> {
        Ok(Self::of([gpu.buffer(BYTES, Place::Device)?, gpu.buffer(BYTES, Place::Device)?], BYTES))
    }

    /// Two buffers of `bytes` bytes.
    pub(crate) const fn of(buffers: [vk::Buffer; 2], bytes: u64) -> Self {
        Self { buffers, bytes, binding: Binding::Pushed }
    }

    pub(crate) fn infos(self) -> [[vk::DescriptorBufferInfo; 1]; 2] {
        self.buffers.map(|buffer| [vk::DescriptorBufferInfo::default().buffer(buffer).range(self.bytes)])
    }
}

impl<'a> Commands<'a> {
    /// Records commands that can be sent any number of times, also while they run.
    pub(crate) fn record(gpu: &'a Gpu, record: impl FnOnce(&Self)) -> Result<Self> {
        let commands = Self { gpu, buffer: gpu.command_buffer()? };
        commands.record_again(record)?;
        Ok(commands)
    }

    /// Records other commands in place of the recorded ones. No submission may still use the buffer.
    pub(crate) fn record_again(&self, record: impl FnOnce(&Self)) -> Result<()> {
        let begin = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::SIMULTANEOUS_USE);
        // SAFETY: the pool allows a reset, and by this function's contract the buffer is not pending.
        unsafe { self.gpu.device.begin_command_buffer(self.buffer, &begin) }?;
        record(self);
        // SAFETY: the buffer is being recorded.
        Ok(unsafe { self.gpu.device.end_command_buffer(self.buffer) }?)
    }

    /// Records `n` dispatches that use some pairs of one kind in turn, with a barrier only where the pairs begin anew.
    pub(crate) fn dispatches(&self, pipeline: vk::Pipeline, pairs: &[Pair], n: u32, n_groups: u32) {
        self.bind(pipeline);
        if let (Binding::Place(address, ..), Some(device)) = (pairs[0].binding, &self.gpu.descriptor_buffer) {
            let buffers = [vk::DescriptorBufferBindingInfoEXT::default().address(address).usage(DESCRIPTORS)];
            // SAFETY: the buffer is being recorded; the address is the one of a buffer with this usage.
            unsafe { device.cmd_bind_descriptor_buffers(self.buffer, &buffers) };
        }
        for (i, &pair) in pairs.iter().cycle().take(n as usize).enumerate() {
            if i.is_multiple_of(pairs.len()) {
                self.barrier(Between::Dispatches);
            }
            self.dispatch(pair, n_groups);
        }
    }

    pub(crate) fn bind(&self, pipeline: vk::Pipeline) {
        // SAFETY: the buffer is being recorded; the pipeline belongs to the device.
        unsafe { self.gpu.device.cmd_bind_pipeline(self.buffer, vk::PipelineBindPoint::COMPUTE, pipeline) };
    }

    /// Orders the dispatches and copies before the barrier and after it.
    pub(crate) fn barrier(&self, between: Between) {
        let dispatches = (
            vk::PipelineStageFlags2::COMPUTE_SHADER,
            vk::AccessFlags2::SHADER_STORAGE_READ | vk::AccessFlags2::SHADER_STORAGE_WRITE,
        );
        let copies =
            (vk::PipelineStageFlags2::COPY, vk::AccessFlags2::TRANSFER_READ | vk::AccessFlags2::TRANSFER_WRITE);
        let (stage, access) = match between {
            Between::Dispatches => dispatches,
            Between::Copies => copies,
            Between::Both => (dispatches.0 | copies.0, dispatches.1 | copies.1),
        };
        let barrier = [vk::MemoryBarrier2::default()
            .src_stage_mask(stage)
            .src_access_mask(access & (vk::AccessFlags2::SHADER_STORAGE_WRITE | vk::AccessFlags2::TRANSFER_WRITE))
            .dst_stage_mask(stage)
            .dst_access_mask(access)];
        let dependency = vk::DependencyInfo::default().memory_barriers(&barrier);
        // SAFETY: the buffer is being recorded; synchronization2 was enabled.
        unsafe { self.gpu.device.cmd_pipeline_barrier2(self.buffer, &dependency) };
    }

    /// Makes what shaders and copies wrote visible to the host.
    pub(crate) fn show_host(&self) {
        let barrier = [vk::MemoryBarrier2::default()
            .src_stage_mask(vk::PipelineStageFlags2::COMPUTE_SHADER | vk::PipelineStageFlags2::COPY)
            .src_access_mask(vk::AccessFlags2::SHADER_STORAGE_WRITE | vk::AccessFlags2::TRANSFER_WRITE)
            .dst_stage_mask(vk::PipelineStageFlags2::HOST)
            .dst_access_mask(vk::AccessFlags2::HOST_READ)];
        let dependency = vk::DependencyInfo::default().memory_barriers(&barrier);
        // SAFETY: the buffer is being recorded; synchronization2 was enabled.
        unsafe { self.gpu.device.cmd_pipeline_barrier2(self.buffer, &dependency) };
    }

    /// Binds the two arrays, and returns the layout for which they are bound.
    fn bind_arrays(&self, pair: Pair) -> vk::PipelineLayout {
        let point = vk::PipelineBindPoint::COMPUTE;
        match (pair.binding, &self.gpu.descriptor_buffer) {
            (Binding::Set(set, layout), _) => {
                // SAFETY: the buffer is being recorded; the set is of the layout, and was written before.
                unsafe { self.gpu.device.cmd_bind_descriptor_sets(self.buffer, point, layout, 0, &[set], &[]) };
                layout
            }
            (Binding::Place(_, place, layout), Some(device)) => {
                // SAFETY: `dispatches` has bound the buffer, which has descriptors of the layout at this place.
                unsafe { device.cmd_set_descriptor_buffer_offsets(self.buffer, point, layout, 0, &[0], &[place]) };
                layout
            }
            _ => {
                let (layout, infos) = (self.gpu.layout, pair.infos());
                let writes = writes(vk::DescriptorSet::null(), &infos);
                // SAFETY: the buffer is being recorded; the layout has the two bindings; the buffers live as long as the
                // device.
                unsafe { self.gpu.push_descriptor.cmd_push_descriptor_set(self.buffer, point, layout, 0, &writes) };
                layout
            }
        }
    }

    /// Binds the two arrays, pushes the two constants, and dispatches.
    pub(crate) fn dispatch(&self, pair: Pair, n_groups: u32) {
        let layout = self.bind_arrays(pair);
        let mut constants = [0; 8];
        constants[..4].copy_from_slice(&((pair.bytes / 4) as u32).to_ne_bytes());
        constants[4..].copy_from_slice(&0.5_f32.to_ne_bytes());
        let stage = vk::ShaderStageFlags::COMPUTE;
        // SAFETY: the buffer is being recorded; the layout has a range of eight bytes.
        unsafe { self.gpu.device.cmd_push_constants(self.buffer, layout, stage, 0, &constants) };
        // SAFETY: the caller has bound a pipeline of the layout, and everything that it uses was bound just above.
        unsafe { self.gpu.device.cmd_dispatch(self.buffer, n_groups, 1, 1) };
    }

    /// Copies `bytes` bytes from the start of one buffer to the start of another.
    pub(crate) fn copy(&self, to: vk::Buffer, from: vk::Buffer, bytes: u64) {
        let regions = [vk::BufferCopy::default().size(bytes)];
        // SAFETY: the buffer is being recorded; both buffers have at least `bytes` bytes, and do not overlap.
        unsafe { self.gpu.device.cmd_copy_buffer(self.buffer, from, to, &regions) };
    }
}

/// The descriptors of two arrays, for a set or to be pushed.
pub(crate) fn writes(
    set: vk::DescriptorSet,
    infos: &[[vk::DescriptorBufferInfo; 1]; 2],
) -> [vk::WriteDescriptorSet<'_>; 2] {
    [0, 1].map(|binding| {
        vk::WriteDescriptorSet::default()
            .dst_set(set)
            .dst_binding(binding as u32)
            .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
            .buffer_info(&infos[binding])
    })
}

/// The commands before and after a barrier.
#[derive(Clone, Copy)]
pub(crate) enum Between {
    Dispatches,
    Copies,
    Both,
}
