//! How memory of one context reaches another context. Plain data and pure functions: nothing is tried here.
//!
//! The three answers are the answers of the connection query that was proposed for the Unified Runtime
//! (`piextGetMemoryConnection`): none, migratable, unified. This file has the answers; `rules.rs` decides, and is the
//! next file to read. `allocator/connection.rs` asks for real devices.

mod rules;

use std::env;
use std::fmt;

use crate::error::{Error, Result};

pub use self::rules::{ConnectionEnd, ConnectionTraits, ConnectionTrials, PeerFeatures, Trial, memory_connection};

/// The variable that limits connections between contexts.
const VARIABLE: &str = "VKARRAY_MEMORY_CONNECTION";

/// How memory of one context reaches another context; see [`memory_connection`].
///
/// An answer does not order the work of both sides: `sync` says how the target waits for the source, and the source for
/// the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemoryConnection {
    /// The devices share nothing. Only the host can copy, from memory that one device maps to memory that the other
    /// maps.
    None,
    /// The target cannot use the memory in place. A copy reaches the target without staging by the program.
    Migratable {
        /// The route of the copy.
        path: MigrationPath,
        /// How the two sides wait for each other.
        sync: ConnectionSync,
    },
    /// The target's kernels and copies use the same bytes, without a copy.
    Unified {
        /// What makes the bytes the same.
        how: UnifiedBy,
        /// How the two sides wait for each other.
        sync: ConnectionSync,
    },
}

/// The route of a copy between contexts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MigrationPath {
    /// One device of a group copies from, or to, the memory of another device.
    GroupCopy,
    /// Two copies, through a heap that all devices of the group have in common.
    HeapBounce,
    /// Two copies, through exported memory that the other side imports.
    ExportedBounce,
    /// Two copies, through pages of host memory that both sides import. The host does not copy.
    SharedHostBounce,
}

/// What makes the bytes of two sides the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnifiedBy {
    /// Both sides are one device of one context.
    Identity,
    /// All devices of the group have the heap in common.
    SingleInstanceHeap,
    /// The target accesses memory of a peer in its group.
    Peer,
    /// Both sides import the same pages of the program.
    SamePages,
    /// The target imports the exported memory.
    Exported,
    /// The target imports the memory as DMA-BUF.
    DmaBuf,
}

/// How two sides of a connection wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConnectionSync {
    /// On the device: a timeline semaphore that both sides have.
    Gpu,
    /// On the host: one side waits until its work is complete before the other side starts.
    HostWait,
}

/// The strongest answer that [`memory_connection`] may give for two contexts, from weakest to strongest. It is for
/// tests of the weaker connections on one machine; `VKARRAY_MEMORY_CONNECTION` sets it for a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum ConnectionLimit {
    /// Always [`MemoryConnection::None`].
    None,
    /// At most [`MigrationPath::SharedHostBounce`].
    HostPages,
    /// At most [`MemoryConnection::Migratable`].
    Migratable,
    /// No limit.
    #[default]
    Unified,
}

impl MemoryConnection {
    /// The lowest limit that permits the connection.
    pub fn strength(self) -> ConnectionLimit {
        match self {
            Self::None => ConnectionLimit::None,
            Self::Migratable { path: MigrationPath::SharedHostBounce, .. } => ConnectionLimit::HostPages,
            Self::Migratable { .. } => ConnectionLimit::Migratable,
            Self::Unified { .. } => ConnectionLimit::Unified,
        }
    }

    /// The connection with another kind of waiting.
    pub(crate) fn with_sync(self, sync: ConnectionSync) -> Self {
        match self {
            Self::None => Self::None,
            Self::Migratable { path, .. } => Self::Migratable { path, sync },
            Self::Unified { how, .. } => Self::Unified { how, sync },
        }
    }

    /// How the two sides wait for each other; `None` if they are not connected.
    pub fn sync(self) -> Option<ConnectionSync> {
        match self {
            Self::None => None,
            Self::Migratable { sync, .. } | Self::Unified { sync, .. } => Some(sync),
        }
    }
}

impl ConnectionLimit {
    /// All limits, from weakest to strongest.
    pub const ALL: [Self; 4] = [Self::None, Self::HostPages, Self::Migratable, Self::Unified];

    /// The limit that `VKARRAY_MEMORY_CONNECTION` sets: `none`, `host-pages`, `migratable` or `unified`. Unset means no limit.
    ///
    /// # Errors
    ///
    /// [`Error::BadSetting`] for another value.
    pub fn from_environment() -> Result<Self> {
        Self::parse(&env::var_os(VARIABLE).unwrap_or_default().to_string_lossy())
    }

    fn parse(text: &str) -> Result<Self> {
        let expected = "`none`, `host-pages`, `migratable` or `unified`";
        match text {
            "" | "unified" => Ok(Self::Unified),
            "migratable" => Ok(Self::Migratable),
            "host-pages" => Ok(Self::HostPages),
            "none" => Ok(Self::None),
            other => Err(Error::BadSetting { variable: VARIABLE, text: other.to_owned(), expected }),
        }
    }

    /// The next weaker limit; the weakest limit has none.
    pub(crate) fn weaker(self) -> Self {
        Self::ALL.into_iter().rfind(|&limit| limit < self).unwrap_or(Self::None)
    }
}

/// `none`, `migratable (exported memory, host waits)`, `unified (same pages, timeline)`.
impl fmt::Display for MemoryConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Migratable { path, sync } => write!(f, "migratable ({path}, {sync})"),
            Self::Unified { how, sync } => write!(f, "unified ({how}, {sync})"),
        }
    }
}

vkarray_driver::display_texts!(MigrationPath {
    GroupCopy: "copies in a device group",
    HeapBounce: "a heap in common",
    ExportedBounce: "exported memory between",
    SharedHostBounce: "host pages between",
});

vkarray_driver::display_texts!(UnifiedBy {
    Identity: "same device",
    SingleInstanceHeap: "a heap in common",
    Peer: "peer memory",
    SamePages: "same pages",
    Exported: "exported memory",
    DmaBuf: "DMA-BUF",
});

vkarray_driver::display_texts!(ConnectionSync { Gpu: "timeline", HostWait: "host waits" });

#[cfg(test)]
mod tests;
