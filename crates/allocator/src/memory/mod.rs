//! What memory is, as plain values: host mappings, the pointers that managers give out, routes of copies; and how memory of
//! one context reaches another one (`connection/`).
//!
//! Nothing here allocates, frees or calls the driver, except [`Mapping`], which flushes and invalidates. Every other folder
//! but `kind`, `error` and `pending` builds on this one. Read `pointer.rs` first.

mod connection;
mod description;
#[cfg(unix)]
mod exported;
mod mapping;
mod pointer;
pub(crate) mod route;

pub use connection::{
    ConnectionEnd, ConnectionLimit, ConnectionSync, ConnectionTraits, ConnectionTrials, MemoryConnection,
    MigrationPath, PeerFeatures, Trial, UnifiedBy, memory_connection,
};
pub use description::MemoryDescription;
#[cfg(unix)]
pub use exported::{ExportedMemory, IpcHandle};
pub(crate) use mapping::HostIntent;
pub use mapping::Mapping;
pub use pointer::{HostPointer, MemoryPointer, Owner};
pub(crate) use route::{BlockSide, Bus, ChunkPlan, CopyQueue, CopyRequest, Fact, HostSide, Route, Via, route};
pub use route::{is_by_rows, is_packed_first};
