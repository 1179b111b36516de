//! What memory is called: its kind, which side addresses it, its label, and numbers of bytes in text. Plain values, below all
//! other folders.

mod bytes;
mod label;
pub(crate) mod memory_kind;
mod usm_type;

pub use bytes::Bytes;
pub use label::BlockLabel;
pub use memory_kind::MemoryKind;
pub(crate) use memory_kind::memory_types;
pub use usm_type::UsmType;
