//! The requests to a memory manager, and its figures about the memory that it has given out. Plain data.

use crate::kind::{BlockLabel, MemoryKind};

/// A request for memory.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct Request {
    /// The number of bytes. Zero bytes are allowed.
    pub size: u64,
    /// [`MemoryKind::Device`] or [`MemoryKind::Shared`] in a request to a manager; any kind in what an
    /// [`Adaptor`](crate::Adaptor) is told.
    pub kind: MemoryKind,
    /// The use of the memory, for the report of memory running out.
    pub label: BlockLabel,
    /// Whether the memory can be exported to other devices, processes and APIs. The allocator serves such requests
    /// itself, so that the memory has no neighbours: managers never see them.
    pub exportable: bool,
}

impl Request {
    /// Asks for `size` bytes of this kind.
    pub fn new(size: u64, kind: MemoryKind) -> Self {
        Self { size, kind, label: BlockLabel::new(), exportable: false }
    }

    /// Sets whether the memory can be exported.
    ///
    /// ```
    /// use vkarray_allocator::{MemoryKind, Request};
    ///
    /// assert!(Request::new(100, MemoryKind::Device).exportable(true).exportable);
    /// ```
    pub fn exportable(mut self, exportable: bool) -> Self {
        self.exportable = exportable;
        self
    }

    /// Sets the label.
    pub fn with_label(mut self, label: BlockLabel) -> Self {
        self.label = label;
        self
    }
}

/// The use of host memory.
///
/// ```
/// use vkarray_allocator::{HostOptions, MemoryKind};
///
/// assert_eq!(HostOptions::default().kind(), MemoryKind::Pinned);
/// assert_eq!(HostOptions::default().wc(true).kind(), MemoryKind::WriteCombined);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
#[must_use]
pub struct HostOptions {
    /// Whether kernels address the memory.
    pub mapped: bool,
    /// Whether other contexts may use the memory too. A manager may ignore this: memory of a Vulkan device belongs to
    /// that device, so the managers of this crate give the same memory with and without, which other contexts reach by
    /// copies.
    pub portable: bool,
    /// Write-combined: the host writes the memory in order and does not read it.
    pub wc: bool,
}

impl HostOptions {
    /// Sets whether kernels address the memory.
    pub fn mapped(mut self, mapped: bool) -> Self {
        self.mapped = mapped;
        self
    }

    /// Sets whether other contexts may use the memory.
    pub fn portable(mut self, portable: bool) -> Self {
        self.portable = portable;
        self
    }

    /// Sets whether the memory is write-combined.
    pub fn wc(mut self, wc: bool) -> Self {
        self.wc = wc;
        self
    }

    /// The kind of memory for these options.
    pub fn kind(self) -> MemoryKind {
        if self.wc { MemoryKind::WriteCombined } else { MemoryKind::Pinned }
    }
}

/// Bytes in use and pending, at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Bytes of blocks that are live or wait to be freed.
    pub in_use: u64,
    /// Bytes taken from the driver.
    pub reserved: u64,
    /// The number of dropped blocks whose memory the next block cannot have yet: the device may still use it, or it
    /// waits to go back to the driver.
    pub n_pending: usize,
    /// Bytes of the pending blocks.
    pub pending: u64,
}

/// Dropped memory that was neither freed nor given out again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pending {
    /// The number of blocks.
    pub n_blocks: usize,
    /// Bytes of the blocks.
    pub bytes: u64,
}
