//! Indirect dispatches: launches whose number of workgroups is read from an array on the device.
//!
//! The host cannot check those numbers, and a number above the device's limit is undefined behaviour. So a kernel of one
//! invocation (`pipeline/indirect.wgsl`) copies the three numbers to memory of their own, and the launch reads the copy. It writes
//! zeros if a number is too large for the device or stands for more invocations than 32 bits number; `docs/decisions/028`
//! says why zeros.

use std::sync::Arc;

use vkarray_allocator::{Block, MemoryKind};
use vkarray_driver::Stream;
use vkarray_driver::hazard::Stage;
use vkarray_shader::internal::AXES;
use vkarray_shader::{DType, Limits, ParamKind};

use crate::call::args::{Arg, ArrayArg, AsArg};
use crate::call::groups::{Groups, Indirect, most_workgroups};
use crate::dispatch::launch::Launch;
use crate::dispatch::preparation::Preparation;
use crate::error::{Error, Result};
use crate::pipeline::kernel::Kernel;

/// Bytes of three numbers.
const BYTES: u64 = 12;

/// The place of three numbers in a block, which was checked.
#[derive(Clone, Copy)]
pub(crate) struct Counts<'a> {
    pub(crate) block: &'a Arc<Block>,
    /// Bytes from the block's start.
    offset: u64,
}

impl<'a> Indirect<&'a (dyn AsArg + Sync)> {
    /// Checks the array and finds the three numbers.
    pub(crate) fn counts(&self, kernel: &Kernel) -> Result<Counts<'a>> {
        let entry = || kernel.signature().entry.clone();
        let wrong_type = |given| Err(Error::CountsType { kernel: entry(), given });
        let Arg::Array(ArrayArg { block, shape }) = self.array.as_arg() else {
            return wrong_type(self.array.as_arg().shape().to_string());
        };
        if shape.dtype != DType::U32 {
            return wrong_type(shape.to_string());
        }
        if !shape.is_contiguous {
            return wrong_type(format!("{shape} that is not contiguous"));
        }
        let start = self.first.checked_mul(4).filter(|start| start.saturating_add(BYTES) <= shape.nbytes);
        let outside = || Error::CountsRange { kernel: entry(), first: self.first, given: shape.to_string() };
        let start = start.ok_or_else(outside)?;
        let offset = shape.offset.saturating_add(start);
        if !offset.is_multiple_of(4) {
            return Err(Error::CountsMisaligned { kernel: entry(), offset });
        }
        kernel.check_device(block.device(), "the array with its number of workgroups")?;
        block.check_range(offset, BYTES)?;
        Ok(Counts { block, offset })
    }
}

impl Counts<'_> {
    /// Makes a launch read the numbers where they are, and keep their memory alive.
    pub(crate) fn launch(self, launch: &mut Launch) {
        launch.accesses.push(self.block.read(self.offset..self.offset + BYTES, Stage::Indirect));
        launch.indirect = Some((self.block.buffer(), self.block.buffer_offset() + self.offset));
        launch.keep(Arc::clone(self.block));
    }

    /// Makes a launch read a copy of the numbers that the gate has checked.
    pub(crate) fn launch_gated(self, kernel: &Kernel, launch: &mut Launch, before: &mut Preparation<'_>) -> Result<()> {
        let admitted = self.block.allocator().allocate(BYTES, MemoryKind::Device)?;
        let gate = kernel.cache()?.gate()?;
        before.run(&gate, self.admission(kernel, &gate, &admitted)?)?;
        Counts { block: &admitted, offset: 0 }.launch(launch);
        Ok(())
    }

    /// The launch of the gate: from these numbers to `admitted`.
    fn admission(self, kernel: &Kernel, gate: &Kernel, admitted: &Arc<Block>) -> Result<Launch> {
        let limits = &gate.pipeline.limits;
        let aligned = self.offset - self.offset % limits.min_storage_buffer_offset_alignment.max(4);
        let at = u32::try_from((self.offset - aligned) / 4).expect("less than an alignment");
        let mut launch = Launch::new(&gate.pipeline);
        launch.bind(self.block, aligned..self.offset + BYTES, ParamKind::Storage, false)?;
        launch.accesses[0].range.start = self.offset; // The bytes before are not read.
        launch.bind(admitted, 0..BYTES, ParamKind::Storage, true)?;
        let [x, y, z] = most_workgroups(kernel.signature().workgroup_size, &kernel.pipeline.limits);
        launch.push_constants.copy_from_slice(bytemuck::bytes_of(&[x, y, z, at]));
        launch.counts = [1; 3];
        // A graph runs after the call has returned.
        launch.keep(Arc::clone(self.block));
        launch.keep(Arc::clone(admitted));
        Ok(launch)
    }

    /// Waits for the numbers and reads them on the host.
    pub(crate) fn read(self, stream: &Stream, limits: &Limits) -> Result<Groups<'static>> {
        let mut counts = [0_u32; 3];
        self.block.copy_to_host(stream, self.offset, bytemuck::cast_slice_mut(&mut counts))?;
        for ((axis, wanted), limit) in AXES.into_iter().zip(counts).zip(limits.max_workgroup_count) {
            if wanted > limit {
                return Err(Error::GroupCount { axis, wanted: wanted.into(), limit, advice: "" });
            }
        }
        Ok(Groups::exact(counts))
    }
}
