//! The functions that the checks call, in WGSL, and the words they report.
//!
//! Shared memory is shadowed by a word a granule, the granule being the smallest scalar in it. A word notes the last use:
//! an epoch, which every barrier that orders shared memory advances, what the use was, and whose. Two uses of one granule
//! in one epoch by two invocations, one of them a write, are a race. Zero means that nothing was ever written. One word and
//! one atomic operation a use are enough, and no use is missed: of two that race, the later in the word's own order sees
//! the earlier. Buffers are shadowed in the same way (`buffers.wgsl`), with a second word for the workgroup and epochs of
//! their own. Nothing orders two workgroups of a dispatch but atomic operations on buffers. A use by another workgroup than
//! the last one is a race if one of the two is a write, and the later workgroup has made no such operation.
//!
//! A report has two findings. The second is that of memory read before it was written, and counts only without the first:
//! where another invocation writes the same memory later, with no barrier in between, the fault is a race.
//!
//! Barriers count who arrives, in three sets of counters used in turn: one is counted in, one is still read, one is
//! cleared.
//! Read next: `graft.rs`, which brings this into the shader.

use std::fmt::Write as _;

use super::InstrumentRequest;
use super::memory::Memory;

/// Words of the two findings of a report.
pub const REPORT_WORDS: usize = 16;
/// Their bytes. The first word of each buffer's notes follows, then the notes.
pub const REPORT_BYTES: u64 = 4 * REPORT_WORDS as u64;
/// Words that count who arrives at barriers.
const ARRIVAL_WORDS: u32 = 10;
/// The word behind these that says whether the workgroup has used a buffer by an atomic operation.
const SYNCHRONISED: u32 = 9;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $value:expr,)*) => {
        /// Numbers that the checks and the reader of their report agree on.
        pub(crate) mod code {
            $($(#[$doc])* pub(crate) const $name: u32 = $value;)*

            /// The numbers with the names that they have in the checks.
            pub(super) const ALL: &[(&str, u32)] = &[$((stringify!($name), $name)),*];
        }
    };
}

codes! {
    OUT_OF_RANGE = 0,
    DIVISION_BY_ZERO = 1,
    DIVISION_OVERFLOW = 2,
    UNINITIALISED = 3,
    RACE_ON_READ = 4,
    RACE_ON_WRITE = 5,
    DIVERGENT_BARRIER = 6,
    SHIFT_TOO_FAR = 7,
    ENDLESS_LOOP = 8,
    /// A workgroup reads what another wrote.
    GROUP_READS = 9,
    /// A workgroup writes what another wrote.
    GROUP_WRITES = 10,
    /// A workgroup writes what another read.
    GROUP_WRITES_READ = 11,

    /// In place of a workgroup's number: several of them.
    SEVERAL = u32::MAX,

    /// Uses, in this order: of two in one epoch the shadow keeps the later in the list.
    READ = 1,
    READ_BY_SEVERAL = 2,
    WRITTEN = 3,

    /// Bits of the invocation in a note; above them the use, above that the epoch.
    INVOCATION = 0x7ff,
    KIND_SHIFT = 11,
    EPOCH_SHIFT = 13,
}

/// What the functions depend on.
pub(super) struct PreludeParams<'a> {
    memory: &'a Memory,
    max_rounds: u32,
    pub(super) group: u32,
    pub(super) binding: u32,
    invocations: u64,
    /// Granules of shared memory.
    n_granules: u32,
    /// Whether the notes are in the report's buffer, and not in shared memory.
    pub(super) is_shadow_in_report: bool,
}

impl<'a> PreludeParams<'a> {
    pub(super) fn new(request: &InstrumentRequest<'_>, memory: &'a Memory, invocations: u64) -> Self {
        let signature = request.part.signature;
        let (group, binding) = match signature.params.last() {
            None => (0, 0),
            Some(last) => last.binding.checked_add(1).map_or((last.group + 1, 0), |next| (last.group, next)),
        };
        let n_granules = memory.shared_bytes / memory.granule;
        let beside = signature.shared_bytes.next_multiple_of(4) + 4 * u64::from(n_granules + ARRIVAL_WORDS);
        let is_shadow_in_report = beside > u64::from(request.sanitize.max_shared_bytes);
        let max_rounds = request.sanitize.max_rounds.max(1);
        Self { memory, max_rounds, group, binding, invocations, n_granules, is_shadow_in_report }
    }

    /// Bytes of the notes of one workgroup.
    pub(super) fn shadow_bytes(&self) -> u64 {
        4 * u64::from(self.n_granules)
    }

    /// Bytes of shared memory that the checks take at most.
    pub(super) fn shared_bytes(&self) -> u64 {
        4 * u64::from(ARRIVAL_WORDS) + if self.is_shadow_in_report { 0 } else { self.shadow_bytes() }
    }
}

/// The functions as a shader without an entry point.
pub(super) fn text(plan: &PreludeParams<'_>) -> String {
    let mut text = String::new();
    let (place, declared) = if plan.is_shadow_in_report {
        ("report.notes[first_note + at]", String::new())
    } else {
        let n = plan.n_granules.max(1);
        ("shadow[at]", format!("var<workgroup> shadow: array<atomic<u32>, {n}>;"))
    };
    let (first_notes, buffers) = match plan.memory.buffers.len() {
        0 => (String::new(), ""),
        n => (format!("first_notes: array<u32, {n}>,"), include_str!("buffers.wgsl")),
    };
    let notes =
        if plan.is_shadow_in_report || !plan.memory.buffers.is_empty() { "notes: array<atomic<u32>>," } else { "" };
    let PreludeParams { group, binding, invocations, n_granules, max_rounds, .. } = plan;
    let Memory { granule, buffer_granule, is_zeroed, .. } = plan.memory;
    let initial = u32::from(*is_zeroed) << code::KIND_SHIFT;
    let _ = write!(
        text,
        "struct Finding {{ claim: atomic<u32>, site: u32, what: u32, a: u32, b: u32, x: u32, y: u32, z: u32 }}
        struct Report {{ findings: array<Finding, 2>, {first_notes} {notes} }}
        @group({group}) @binding({binding}) var<storage, read_write> report: Report;
        var<workgroup> arrived: array<atomic<u32>, {ARRIVAL_WORDS}>;
        {declared}
        fn clear(local: u32) {{
            for (var at = local; at < {n_granules}u; at += {invocations}u) {{ atomicStore(&{place}, {initial}u); }}
            for (var i = local; i < {ARRIVAL_WORDS}u; i += {invocations}u) {{ atomicStore(&arrived[i], 0u); }}
        }}
        fn load(at: u32) -> u32 {{ return atomicLoad(&{place}); }}
        fn note_most(at: u32, note: u32) -> u32 {{ return atomicMax(&{place}, note); }}
        fn replace(at: u32, note: u32) -> u32 {{ return atomicExchange(&{place}, note); }}
        const GRANULE = {granule}u;
        const INVOCATIONS = {invocations}u;
        const N_GRANULES = {n_granules}u;
        const BUFFER_GRANULE = {buffer_granule}u;
        const MAX_ROUNDS = {max_rounds}u;
        const SYNCHRONISED = {SYNCHRONISED}u;
        "
    );
    for (name, value) in code::ALL {
        let _ = writeln!(text, "const {name} = {value}u;");
    }
    text.push_str(include_str!("prelude.wgsl"));
    text.push_str(buffers);
    text
}
