//! The kernel that checks a number of workgroups in an array before an indirect dispatch reads it: [`build_gate`].
//!
//! `dispatch/indirect.rs` runs it.

use std::sync::Arc;

use vkarray_shader::Source;

use super::cache::KernelCache;
use super::kernel::Kernel;
use crate::error::Result;

const GATE: &str = include_str!("indirect.wgsl");

/// Builds the kernel. A cache keeps it.
pub(crate) fn build_gate(cache: &Arc<KernelCache>) -> Result<Kernel> {
    cache.kernel(Source::wgsl(GATE)).sanitize(false).build()
}
