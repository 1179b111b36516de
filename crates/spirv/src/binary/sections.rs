//! Which section of a SPIR-V module an instruction belongs to.
//!
//! A module is laid out in sections, in a fixed order: preamble, declarations, functions. `read.rs` checks the order.

use spirv::Op;

/// What comes before the types: capabilities, entry points, names, decorations.
pub(crate) fn is_preamble(op: Op) -> bool {
    matches!(
        op,
        Op::Capability
            | Op::Extension
            | Op::ExtInstImport
            | Op::MemoryModel
            | Op::EntryPoint
            | Op::ExecutionMode
            | Op::ExecutionModeId
            | Op::Name
            | Op::MemberName
    ) || (op.is_annotation() && op != Op::MemberDecorateIdEXT) // Which needs an extension.
}

/// What is for debuggers and changes nothing that the module does.
pub(crate) fn is_debug(op: Op) -> bool {
    op.is_debug() || matches!(op, Op::Nop | Op::ExtInst) // The instruction is of a debug set; others need values.
}

/// Types, constants and variables.
pub(super) fn is_declaration(op: Op) -> bool {
    op.is_type() || op.is_constant() || matches!(op, Op::Variable | Op::Undef | Op::TypeForwardPointer)
}

/// Whether an extension defines the instruction, so that its place in a module is not known here.
pub(super) fn is_of_extension(op: Op) -> bool {
    const FIRST: u32 = 4096;
    op as u32 >= FIRST
}

/// Declarations that are allowed inside functions too.
pub(super) fn is_local(op: Op) -> bool {
    matches!(op, Op::Variable | Op::Undef)
}
