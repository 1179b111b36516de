//! What memory is, as plain values: kinds, host mappings, the pointers that managers give out, labels, byte counts; and how
//! memory of one context reaches another one (`connection/`).
//!
//! Nothing here allocates, frees or calls the driver, except [`Mapping`], which flushes and invalidates. Every other folder
//! but `pending` builds on this one. Read `kind.rs` first, then `pointer.rs`.

mod bytes;
mod connection;
mod exported;
pub(crate) mod kind;
mod label;
mod mapping;
mod pointer;
pub(crate) mod route;

pub use bytes::Bytes;
pub use connection::{
    ConnectionEnd, ConnectionLimit, ConnectionSync, ConnectionTraits, ConnectionTrials, MemoryConnection,
    MigrationPath, PeerFeatures, Trial, UnifiedBy, memory_connection,
};
pub use exported::MemoryDescription;
#[cfg(unix)]
pub use exported::{ExportedMemory, IpcHandle};
pub use kind::MemoryKind;
pub(crate) use kind::{coherent_types, host_visible_types};
pub use label::BlockLabel;
pub(crate) use mapping::HostIntent;
pub use mapping::Mapping;
pub use pointer::{HostPointer, MappedMemory, MemoryPointer, Owner, PinnedMemory};
pub(crate) use route::{BlockSide, Bus, ChunkPlan, CopyQueue, CopyRequest, HostSide, Load, Route, Via, route};
pub use route::{is_by_rows, is_packed_first};
