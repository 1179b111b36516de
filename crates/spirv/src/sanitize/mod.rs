//! Puts checks into a shader: [`instrument`] rewrites its SPIR-V so that the kernel itself finds its faults.
//!
//! Before each instruction that can go wrong, a call of a function of `prelude.rs` checks the values and writes the first
//! fault into a report buffer. `rewrite.rs`, `checks.rs`, `notes.rs` and `loops.rs` place the calls, `memory.rs` chooses the memory whose
//! uses are noted, `layout.rs` and `pointers.rs` say where an access lies in it, and `finding.rs` reads the report. WGSL and
//! GLSL are checked in the SPIR-V that they become, by its debug lines. The functions are WGSL, which the caller compiles:
//! this crate has no front end. Nothing here opens a device: `dispatch/sanitized.rs` of `vkarray-kernel` does the part that
//! does.
//! Read next: `sanitize/prelude.rs`.

mod checks;
mod finding;
mod graft;
mod layout;
mod loops;
mod memory;
mod notes;
mod pointers;
mod prelude;
mod rewrite;
mod site;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use layout::Layouts;
use memory::Memory;

pub use finding::{Fault, Finding, OtherAccess};
pub use memory::place_notes;
pub use prelude::{REPORT_BYTES, REPORT_WORDS};
pub use site::{MemorySpan, Site, SitePlace, Subject};

use crate::binary::ChosenPart;
use crate::binary::code::Code;
use crate::binary::reflect::malformed;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::signature::{Access, DType, ElementType, Param, ParamKind, Signature};

/// The invocations of a workgroup that a word of the shadow memory has numbers for.
const MAX_INVOCATIONS: u64 = 2048;

/// Asks for a kernel with checks, for a device with this much shared memory.
///
/// ```
/// use vkarray_spirv::Sanitize;
///
/// let sanitize = Sanitize { max_shared_bytes: 16 << 10, max_rounds: Sanitize::MAX_ROUNDS };
/// assert_eq!(sanitize.max_rounds, 1_048_576);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sanitize {
    /// Bytes of shared memory a workgroup may have. The checks keep their notes there if they fit beside the kernel's own,
    /// else in a buffer.
    pub max_shared_bytes: u32,
    /// Rounds that all loops of an invocation may have. In the last of them the loop is reported and left.
    pub max_rounds: u32,
}

impl Sanitize {
    /// The rounds of a kernel whose builder names no other number. A round with a checked write takes 0.55 µs on an H100
    /// (580.159.04, 2026-11-28), all of them 0.6 s: kernels of some seconds are ended by drivers, of devices with a display
    /// after two, and by NVIDIA's also where another process uses the device.
    pub const MAX_ROUNDS: u32 = 1 << 20;
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
#[derive(Debug)]
pub struct InstrumentRequest<'a> {
    /// The name of the source, for messages.
    pub source_name: &'a str,
    /// The entry point.
    pub part: ChosenPart<'a>,
    /// Names of vectors that are indexed, by line and column, that the module lacks.
    pub names: &'a HashMap<(u32, u32), String>,
    /// Whether the language shifts by the remainder where a number has fewer bits, as WGSL does.
    pub wraps_shifts: bool,
    /// The shared memory and the rounds that the checks may have.
    pub sanitize: Sanitize,
    /// Compiles WGSL without an entry point, which is valid, to SPIR-V with names and without bounds.
    pub compile: fn(&str) -> Vec<u32>,
}

/// Adds the checks. The words are still to be validated.
///
/// # Errors
///
/// [`Error::Sanitize`] for a kernel that the checks do not support, [`Error::Malformed`].
pub fn instrument(request: &InstrumentRequest<'_>) -> Result<(Vec<u32>, Sanitized)> {
    let signature = request.part.signature;
    let refused = |reason| Err(Error::Sanitize { kernel: signature.entry.clone(), reason });
    let invocations = signature.workgroup_size.map(u64::from).iter().product::<u64>();
    if invocations > MAX_INVOCATIONS {
        return refused(format!(
            "a workgroup has {invocations} invocations, the checks support at most {MAX_INVOCATIONS}"
        ));
    }
    if let Some(list) = signature.params.iter().find(|param| param.bindings.is_list()) {
        return refused(format!("`{}` is an array of bindings; build this kernel with `sanitize(false)`", list.name));
    }
    if let Some(address) = signature.address() {
        return refused(format!("no check follows {address}; build this kernel with `sanitize(false)`"));
    }
    let memory = Memory::of(request, Layouts { contents: request.part.contents, values: request.part.values });
    let plan = prelude::PreludeParams::new(request, &memory, invocations);
    let mut code = Code::new(request.part.words);
    let grafted = graft::graft(&mut code, &(request.compile)(&prelude::text(&plan)), request.part.words);
    let rewritten = grafted.and_then(|prelude| rewrite::rewrite(request, &memory, code, prelude));
    let (words, sites) = rewritten.map_err(|fault| malformed(request.source_name, fault))?;
    let sanitized = Sanitized {
        group: plan.group,
        binding: plan.binding,
        sites,
        shadow_bytes_per_group: if plan.is_shadow_in_report { plan.shadow_bytes() } else { 0 },
        buffers: memory.buffers.clone(),
        buffer_granule: memory.buffer_granule,
        shared_bytes: plan.shared_bytes(),
    };
    Ok((words, sanitized))
}

#[cfg(test)]
mod tests;
