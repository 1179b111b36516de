//! Puts checks into a shader: [`instrument`] rewrites naga's form of it so that the kernel itself finds its faults.
//!
//! Code is only added. Before each expression that can go wrong, a call of a function of `prelude.rs` checks the values and
//! writes the first fault into a report buffer. `rewrite.rs` and `checks.rs` place the calls, `shared.rs` lays out the shadow
//! of shared memory, `buffers.rs` chooses the buffers that are watched, and `finding.rs` reads the report. Nothing here opens
//! a device: `dispatch/sanitized.rs` does the part that does.
//! Read next: `sanitize/prelude.rs`.

mod buffers;
mod checks;
mod entry;
mod finding;
mod graft;
mod prelude;
mod rewrite;
mod shared;
mod site;

use buffers::Buffers;
use naga::compact::{KeepUnused, compact};
use naga::valid::ModuleInfo;
use rewrite::Memory;
use serde::{Deserialize, Serialize};
use shared::SharedMemory;

pub use buffers::place_notes;
pub use finding::{Fault, Finding, OtherAccess};
pub use prelude::{REPORT_BYTES, REPORT_WORDS};
pub use site::{MemorySpan, Site, Subject};

use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::signature::{Access, DType, ElementType, Param, ParamKind, Signature};

/// The invocations of a workgroup that a word of the shadow memory has numbers for.
const MAX_INVOCATIONS: u64 = 2048;

/// Asks for a kernel with checks, for a device with this much shared memory.
///
/// ```
/// use std::collections::BTreeMap;
/// use vkarray_shader::{Module, Options, Sanitize, Source};
///
/// let module = Module::parse(&Source::wgsl(
///     "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
///     @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] = 1u; }",
/// ))?;
/// let options = Options { sanitize: Some(Sanitize { max_shared_bytes: 16 << 10 }), ..Options::default() };
/// let sanitized = module.translate(None, &BTreeMap::new(), &options)?.sanitized.expect("it was asked for");
/// assert!(!sanitized.sites.is_empty()); // The index into `x` is one.
/// # Ok::<(), vkarray_shader::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sanitize {
    /// Bytes of shared memory a workgroup may have. The checks keep their notes there if they fit beside the kernel's own,
    /// else in a buffer.
    pub max_shared_bytes: u32,
}

/// What a kernel with checks needs beside its own arguments, and what its report means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sanitized {
    /// Descriptor set of the report buffer.
    pub group: u32,
    /// Binding of the report buffer.
    pub binding: u32,
    /// The places that are checked.
    pub sites: Vec<Site>,
    /// Where shared variables lie in the checks' numbering.
    pub shared: Vec<MemorySpan>,
    /// Bytes that follow the report in its buffer, for each workgroup. Zero if shared memory holds the notes.
    pub shadow_bytes_per_group: u64,
    /// The parameters that the kernel writes, whose uses are noted behind those bytes, by their place in the signature.
    pub buffers: Vec<usize>,
    /// Bytes of the smallest scalar in them.
    pub buffer_granule: u32,
    /// Bytes of shared memory that the checks take.
    pub shared_bytes: u64,
}

impl Sanitized {
    /// Bytes of the report before any notes: the findings, and where the notes of each buffer begin.
    #[doc(hidden)]
    pub fn header_bytes(&self) -> u64 {
        REPORT_BYTES + 4 * self.buffers.len() as u64
    }

    /// The signature with the report buffer as its last parameter. Refuses a kernel that leaves the checks no shared memory.
    #[doc(hidden)]
    pub fn bound(&self, signature: &Signature, limits: &Limits) -> Result<Signature> {
        let limit = limits.max_shared_bytes;
        if signature.shared_bytes + self.shared_bytes > u64::from(limit) {
            let (own, checks) = (signature.shared_bytes, self.shared_bytes);
            let reason =
                format!("the checks take {checks} bytes of shared memory beside its {own}, the device has {limit}");
            return Err(Error::Sanitize { kernel: signature.entry.clone(), reason });
        }
        let mut bound = signature.clone();
        bound.params.push(Param {
            name: "the sanitizer's report".to_owned(),
            group: self.group,
            binding: self.binding,
            access: Access::ReadWrite,
            reads: true,
            writes: true,
            fixed_bytes: self.header_bytes(),
            ..Param::of_type(ParamKind::Storage, ElementType::Scalar(DType::U32))
        });
        Ok(bound)
    }
}

/// What is to be instrumented.
pub(crate) struct InstrumentRequest<'a> {
    pub(crate) module: &'a naga::Module,
    pub(crate) info: &'a ModuleInfo,
    /// The entry point's place in the module.
    pub(crate) index: usize,
    pub(crate) signature: &'a Signature,
    /// The shader's text, for lines and columns.
    pub(crate) text: &'a str,
    /// Whether shared memory starts as zero.
    pub(crate) zero_shared: bool,
    pub(crate) sanitize: Sanitize,
}

/// A module with checks, which is still to be validated.
pub(crate) struct Instrumented {
    pub(crate) module: naga::Module,
    pub(crate) sanitized: Sanitized,
}

/// Adds the checks. The module has its constants applied and is valid.
pub(crate) fn instrument(request: &InstrumentRequest<'_>) -> Result<Instrumented> {
    let refused = |reason: String| Error::Sanitize { kernel: request.signature.entry.clone(), reason };
    let invocations = request.signature.workgroup_size.map(u64::from).iter().product::<u64>();
    if invocations > MAX_INVOCATIONS {
        return Err(refused(format!(
            "a workgroup has {invocations} invocations, the checks support at most {MAX_INVOCATIONS}"
        )));
    }
    let uses = request.info.get_entry_point(request.index);
    let shared = SharedMemory::of(request.module, uses);
    let memory = Memory { shared, buffers: Buffers::of(request.module, uses, request.signature) };
    let plan = prelude::PreludeParams::new(request, &memory, invocations);
    let mut module = request.module.clone();
    let calls = graft::graft(&mut module, &prelude::text(&plan));
    let sites = rewrite::rewrite(&mut module, request, &memory, &calls);
    compact(&mut module, KeepUnused::No);
    let sanitized = Sanitized {
        group: plan.group,
        binding: plan.binding,
        sites,
        shared: memory.shared.spans(),
        shadow_bytes_per_group: if plan.is_shadow_in_report { plan.shadow_bytes() } else { 0 },
        buffers: memory.buffers.params(),
        buffer_granule: memory.buffers.granule,
        shared_bytes: plan.shared_bytes(),
    };
    Ok(Instrumented { module, sanitized })
}

#[cfg(test)]
mod tests;
