//! The cost of small jobs in raw Vulkan: bytes up, a kernel, bytes down, in one submission that is polled.
//!
//! A job is recorded while it is timed, since a runtime does not have it before. The bytes take several routes: each
//! route is a figure of its own, and the best of them is the floor of the job.

use std::ptr;

use anyhow::Result;
use ash::vk;
use vkarray_benches::{Report, print_best};

use crate::commands::{Between, Commands, Pair};
use crate::gpu::{Gpu, Place, Timeline};
use crate::shader;

const SIZES: [(u64, &str); 3] = [(4 << 10, "4KiB"), (64 << 10, "64KiB"), (1 << 20, "1MiB")];
/// Jobs, timed one by one.
const JOBS: u32 = 301;

pub(crate) fn measure(gpu: &Gpu, report: Report) -> Result<()> {
    let (axpy, copy) = (gpu.pipeline(&shader::small()?, c"axpy")?, gpu.pipeline(&shader::copy()?, c"copy")?);
    for (bytes, size) in SIZES {
        let job = Job::new(gpu, bytes, [axpy, copy])?;
        let mut timeline = gpu.timeline()?;
        for (name, ways) in JOBS_AND_WAYS {
            let mut waits = |way: &Way| {
                let waits = report.waits(JOBS, || job.run(*way, &mut timeline))?;
                Ok((format!("job_{name}_{size}_{}", way.name()), waits))
            };
            let ways = ways.iter().map(&mut waits).collect::<Result<Vec<_>>>()?;
            print_best(&format!("job_{name}_{size}"), &ways, |name, waits| report.wait(name, waits));
        }
    }
    Ok(())
}

/// The route of the bytes to the device and back.
#[derive(Clone, Copy)]
struct Way {
    up: Up,
    down: Down,
    /// Whether the bytes come from and go to plain memory, so that the host copies them too.
    is_plain: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Up {
    /// The host writes device memory.
    Bar,
    /// `vkCmdCopyBuffer` from pinned memory.
    Command,
    /// A shader, from pinned memory.
    Shader,
    /// The kernel reads pinned memory.
    Direct,
    /// No bytes are copied to the device.
    None,
}

#[derive(Clone, Copy, PartialEq)]
enum Down {
    /// `vkCmdCopyBuffer` to pinned memory.
    Command,
    /// A shader, to pinned memory.
    Shader,
}

const fn way(up: Up, down: Down, is_plain: bool) -> Way {
    Way { up, down, is_plain }
}

const JOBS_AND_WAYS: [(&str, &[Way]); 3] = [
    (
        "plain",
        &[
            way(Up::Bar, Down::Shader, true),
            way(Up::Bar, Down::Command, true),
            way(Up::Command, Down::Command, true),
            way(Up::Shader, Down::Shader, true),
            way(Up::Direct, Down::Shader, true),
        ],
    ),
    (
        "pinned",
        &[
            way(Up::Bar, Down::Shader, false),
            way(Up::Command, Down::Command, false),
            way(Up::Shader, Down::Shader, false),
            way(Up::Direct, Down::Shader, false),
        ],
    ),
    ("down", &[way(Up::None, Down::Shader, true), way(Up::None, Down::Command, true)]),
];

impl Way {
    fn name(self) -> &'static str {
        match (self.up, self.down) {
            (Up::Bar, Down::Shader) => "bar_shader",
            (Up::Bar, Down::Command) => "bar_command",
            (Up::Command, _) => "commands",
            (Up::Shader, _) => "shaders",
            (Up::Direct, _) => "direct",
            (Up::None, Down::Shader) => "shader",
            (Up::None, Down::Command) => "command",
        }
    }
}

/// The memory of the jobs of one size.
struct Job<'a> {
    gpu: &'a Gpu,
    commands: Commands<'a>,
    axpy: vk::Pipeline,
    copy: vk::Pipeline,
    x: vk::Buffer,
    y: (vk::Buffer, *mut u8),
    up: (vk::Buffer, *mut u8),
    down: (vk::Buffer, *mut u8),
    /// The program's memory.
    plain: *mut u8,
    bytes: u64,
}

impl<'a> Job<'a> {
    fn new(gpu: &'a Gpu, bytes: u64, [axpy, copy]: [vk::Pipeline; 2]) -> Result<Self> {
        let pinned = || gpu.mapped(bytes, Place::Pinned);
        let (x, y) = (gpu.buffer(bytes, Place::Device)?, gpu.mapped(bytes, Place::Bar)?);
        let plain = Vec::leak(vec![0_u8; usize::try_from(bytes)?]).as_mut_ptr();
        let commands = Commands::record(gpu, |_| ())?;
        Ok(Self { gpu, commands, axpy, copy, x, y, up: pinned()?, down: pinned()?, plain, bytes })
    }

    fn run(&self, way: Way, timeline: &mut Timeline) -> Result<()> {
        let source = if way.is_plain { self.plain } else { self.up.1 };
        match way.up {
            Up::Bar => self.copy_on_host(self.y.1, source),
            Up::Command | Up::Shader | Up::Direct if way.is_plain => self.copy_on_host(self.up.1, source),
            _ => {}
        }
        self.commands.record_again(|commands| self.record(commands, way))?;
        self.gpu.submit(self.gpu.queues[0], Some(self.commands.buffer), None, timeline)?;
        self.gpu.poll(timeline)?;
        if way.is_plain {
            self.copy_on_host(self.plain, self.down.1);
        }
        Ok(())
    }

    fn record(&self, commands: &Commands<'_>, way: Way) {
        match way.up {
            Up::Command => {
                commands.copy(self.y.0, self.up.0, self.bytes);
                commands.barrier(Between::Both);
            }
            Up::Shader => {
                self.copy_by_shader(commands, self.up.0, self.y.0);
                commands.barrier(Between::Dispatches);
            }
            Up::Bar | Up::Direct | Up::None => {}
        }
        let y = if way.up == Up::Direct { self.up.0 } else { self.y.0 };
        commands.bind(self.axpy);
        let n_groups = self.bytes / 4 / 64;
        commands.dispatch(Pair::of([self.x, y], self.bytes), n_groups as u32);
        match way.down {
            Down::Command => {
                commands.barrier(Between::Both);
                commands.copy(self.down.0, self.x, self.bytes);
            }
            Down::Shader => {
                commands.barrier(Between::Dispatches);
                self.copy_by_shader(commands, self.x, self.down.0);
            }
        }
        commands.show_host();
    }

    fn copy_by_shader(&self, commands: &Commands<'_>, from: vk::Buffer, to: vk::Buffer) {
        commands.bind(self.copy);
        let n_groups = (self.bytes / 16).div_ceil(128);
        commands.dispatch(Pair::of([from, to], self.bytes), n_groups as u32);
    }

    fn copy_on_host(&self, to: *mut u8, from: *const u8) {
        // SAFETY: both pointers are starts of different memory of `self.bytes` bytes, mapped or leaked above; the
        // device uses neither before the submission and after the poll.
        unsafe { ptr::copy_nonoverlapping(from, to, self.bytes as usize) };
    }
}
