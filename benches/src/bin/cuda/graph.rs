//! A graph of small launches, which is created once and launched many times; used by `launch.rs`.
//!
//! Each launch depends only on the one before it on the same pair of arrays.

use std::ptr;

use anyhow::Result;

use crate::functions::{Handle, KernelNode};
use crate::gpu::{Gpu, Kernel, Stream};
use crate::launch::{GROUP, Pair};

/// Launches that are sent at once.
pub(crate) struct Graph<'a> {
    gpu: &'a Gpu,
    executable: Handle,
}

impl<'a> Graph<'a> {
    /// Makes a graph of `n` launches of `n_groups` workgroups, which use the pairs in turn.
    pub(crate) fn new(gpu: &'a Gpu, kernel: Kernel, pairs: &[Pair], (n, n_groups): (u32, u32)) -> Result<Self> {
        let (mut graph, mut executable) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: there is room for a handle; the function takes no flags, and none are passed.
        gpu.functions.check("cuGraphCreate", unsafe { (gpu.functions.create_graph)(&raw mut graph, 0) })?;
        let mut newest: Vec<Option<Handle>> = vec![None; pairs.len()];
        for i in 0..n as usize {
            let place = i % pairs.len();
            let before = newest[place];
            newest[place] = Some(add(gpu, graph, before.as_slice(), (kernel, pairs[place], n_groups))?);
        }
        // SAFETY: the graph is never destroyed; there is room for a handle.
        let code = unsafe { (gpu.functions.instantiate_graph)(&raw mut executable, graph, 0) };
        gpu.functions.check("cuGraphInstantiateWithFlags", code)?;
        Ok(Self { gpu, executable })
    }

    /// Launches the graph. Does not wait.
    pub(crate) fn replay(&self, stream: Stream) -> Result<()> {
        // SAFETY: graph and stream are never destroyed, and the arrays that the graph names are not freed.
        let code = unsafe { (self.gpu.functions.launch_graph)(self.executable, stream.0) };
        self.gpu.functions.check("cuGraphLaunch", code)
    }
}

/// Adds a launch to a graph, behind others.
fn add(gpu: &Gpu, graph: Handle, behind: &[Handle], launch: (Kernel, Pair, u32)) -> Result<Handle> {
    let (Kernel(function), mut pair, n_groups) = launch;
    let (mut arguments, mut node) = (pair.arguments(), ptr::null_mut());
    let kernel = KernelNode {
        function,
        grid: [n_groups, 1, 1],
        block: [GROUP, 1, 1],
        shared_bytes: 0,
        arguments: arguments.as_mut_ptr(),
        extra: ptr::null_mut(),
    };
    let add = gpu.functions.add_kernel_node;
    // SAFETY: the nodes belong to the graph; the driver copies the arguments, which are the kernel's.
    let code = unsafe { add(&raw mut node, graph, behind.as_ptr(), behind.len(), &raw const kernel) };
    gpu.functions.check("cuGraphAddKernelNode", code)?;
    Ok(node)
}
