//! [`memory_connection`] and its arguments: the two sides, the memory, and the results of earlier trials.

use vkarray_driver::DeviceInfo;

use super::{ConnectionLimit, ConnectionSync, MemoryConnection, MigrationPath, UnifiedBy};
use crate::error::{Error, Result};
use crate::kind::MemoryKind;

/// One side of a connection: a device of a context.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionEnd<'a> {
    /// The number of the context. Two sides with the same number are of the same context.
    pub context: u64,
    /// The devices of the context: one device, or the devices of a group.
    pub devices: &'a [DeviceInfo],
    /// The index of the side's device among them.
    pub device: usize,
    /// Whether the context is lost.
    pub is_lost: bool,
}

/// The properties of the connected memory, or of memory that will be allocated. The default is device memory as
/// allocators give it, to be read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct ConnectionTraits {
    /// The kind of memory.
    pub kind: MemoryKind,
    /// Whether the memory was allocated to be exported as an opaque descriptor; see
    /// [`Request::exportable`](crate::Request::exportable).
    pub exportable: bool,
    /// Whether the memory was allocated to be exported as DMA-BUF, and the program asks for it to be used in place.
    pub dma_buf: bool,
    /// For memory of the program: the largest power of two that address and size are multiples of.
    pub host_pages: Option<u64>,
    /// Whether the memory is bound to be addressed by the peers of a device group.
    pub peer_bound: bool,
    /// Whether the target writes the memory too.
    pub writes: bool,
    /// The strongest answer that is permitted.
    pub at_most: ConnectionLimit,
}

impl Default for ConnectionTraits {
    fn default() -> Self {
        Self {
            kind: MemoryKind::Device,
            exportable: false,
            dma_buf: false,
            host_pages: None,
            peer_bound: false,
            writes: true,
            at_most: ConnectionLimit::Unified,
        }
    }
}

impl ConnectionTraits {
    /// Memory of a kind, as allocators give it.
    pub fn of(kind: MemoryKind) -> Self {
        Self { kind, ..Self::default() }
    }

    /// Sets whether the memory was allocated to be exported.
    pub fn exportable(mut self, exportable: bool) -> Self {
        self.exportable = exportable;
        self
    }

    /// Sets whether the target writes the memory too.
    pub fn writes(mut self, writes: bool) -> Self {
        self.writes = writes;
        self
    }

    /// Sets the strongest answer that is permitted.
    pub fn at_most(mut self, limit: ConnectionLimit) -> Self {
        self.at_most = limit;
        self
    }
}

/// Whether an operation works between two devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trial {
    /// The operation was not tried.
    #[default]
    Untried,
    /// The operation was tried and works.
    Passed,
    /// The operation was tried and does not work, although the drivers say so.
    Failed,
}

/// What one device of a group does with memory of another device (`VkPeerMemoryFeatureFlags`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PeerFeatures {
    /// The device copies from the memory.
    pub copy_src: bool,
    /// The device copies to the memory.
    pub copy_dst: bool,
    /// The device's kernels read the memory.
    pub generic_src: bool,
    /// The device's kernels write the memory.
    pub generic_dst: bool,
}

/// What is known about two devices beyond their snapshots. The default is that nothing was tried.
///
/// A promise of the drivers counts until it was tried and [failed](Trial::Failed). Drivers promise nothing about
/// DMA-BUF of other drivers, so DMA-BUF has to have [passed](Trial::Passed).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ConnectionTrials {
    /// The target imports pages of the program that the source uses too.
    pub same_pages: Trial,
    /// The target imports memory that the source exported as an opaque descriptor.
    pub exported: Trial,
    /// The target imports the source's DMA-BUF for kernels, written and read from both sides.
    pub dma_buf: Trial,
    /// The target imports the source's DMA-BUF for copies alone.
    pub dma_buf_copies: Trial,
    /// Both sides import the same new pages.
    pub shared_host: Trial,
    /// One device imports a timeline semaphore of the other.
    pub timeline: Trial,
    /// What the target does with the source's memory, in a group.
    pub target_at_source: PeerFeatures,
    /// What the source does with the target's memory, in a group.
    pub source_at_target: PeerFeatures,
}

impl ConnectionTrials {
    /// Whether an operation over `connection` failed before. Records that it failed now, so that the next answer is a
    /// weaker one.
    pub fn note_failure(&mut self, connection: MemoryConnection) {
        match connection {
            MemoryConnection::Unified { how: UnifiedBy::SamePages, .. } => self.same_pages = Trial::Failed,
            MemoryConnection::Unified { how: UnifiedBy::Exported, .. } => self.exported = Trial::Failed,
            MemoryConnection::Unified { how: UnifiedBy::DmaBuf, .. } => self.dma_buf = Trial::Failed,
            MemoryConnection::Migratable { path: MigrationPath::ExportedBounce, .. } => {
                (self.exported, self.dma_buf_copies) = (Trial::Failed, Trial::Failed);
            }
            MemoryConnection::Migratable { path: MigrationPath::SharedHostBounce, .. } => {
                self.shared_host = Trial::Failed;
            }
            MemoryConnection::Unified { how: UnifiedBy::Peer, .. }
            | MemoryConnection::Migratable { path: MigrationPath::GroupCopy, .. } => {
                (self.target_at_source, self.source_at_target) = (PeerFeatures::default(), PeerFeatures::default());
            }
            MemoryConnection::None
            | MemoryConnection::Unified { how: UnifiedBy::Identity | UnifiedBy::SingleInstanceHeap, .. }
            | MemoryConnection::Migratable { path: MigrationPath::HeapBounce, .. } => {}
        }
    }
}

/// How memory on the device `src` reaches the device `dst`. Pure: nothing is tried.
///
/// A context, here, is an opened device: contexts on one [`Device`](vkarray_driver::Device) are the same context, and
/// each uses the memory of the others.
///
/// The first rule that holds gives the answer. `s` is [`ConnectionSync::Gpu`] where a timeline semaphore can be passed
/// between the devices, else [`ConnectionSync::HostWait`].
///
/// | rule | condition | answer |
/// |---|---|---|
/// | R0 | a device is not a member of its context | [`Error::InvalidDevice`] |
/// | R1 | one of the contexts is lost | `None` |
/// | R2 | same context, same device | `Unified`, `Identity`, `Gpu` |
/// | R3 | same context, other device; a heap with one instance for all devices | `Unified`, `SingleInstanceHeap`, `Gpu` |
/// | R4 | same context, other device; bound with peer indices, and the target reads and, if it is to, writes peer memory | `Unified`, `Peer`, `Gpu` |
/// | R5 | same context, other device; one of the two copies to or from the other | `Migratable`, `GroupCopy`, `Gpu` |
/// | R6 | same context, other device | `Migratable`, `HeapBounce`, `Gpu` |
/// | R7 | pages of the program, aligned as the target imports them | `Unified`, `SamePages`, s |
/// | R8 | exportable memory; same device and driver UUIDs, and both sides have opaque descriptors | `Unified`, `Exported`, s |
/// | R9 | other memory, the rest as R8 | `Migratable`, `ExportedBounce`, s |
/// | R10 | another device or driver; memory made for export as DMA-BUF, which was tried both ways | `Unified`, `DmaBuf`, s |
/// | R11 | another device or driver; copies through DMA-BUF were tried | `Migratable`, `ExportedBounce`, s |
/// | R12 | both sides import pages of the program | `Migratable`, `SharedHostBounce`, s |
/// | R13 | anything else | `None` |
///
/// The answer may differ for the two directions. It never promises more than the snapshots and trials say. An operation
/// that still fails is [noted](ConnectionTrials::note_failure), and repeated over the next weaker connection.
///
/// ```
/// use vkarray_allocator::{ConnectionEnd, ConnectionTraits, ConnectionTrials, MemoryConnection, memory_connection};
/// use vkarray_driver::Instance;
///
/// # fn main() -> anyhow::Result<()> {
/// let devices = [Instance::new()?.devices()?[0].info().as_ref().clone()];
/// let one = ConnectionEnd { context: 1, devices: &devices, device: 0, is_lost: false };
/// let traits = ConnectionTraits::default();
/// let same = memory_connection(&one, &one, &traits, &ConnectionTrials::default())?;
/// assert!(matches!(same, MemoryConnection::Unified { .. }));
/// let lost = ConnectionEnd { context: 2, is_lost: true, ..one };
/// assert_eq!(memory_connection(&one, &lost, &traits, &ConnectionTrials::default())?, MemoryConnection::None);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`Error::InvalidDevice`] if a device is not a member of its context.
#[doc(alias = "piextGetMemoryConnection")]
pub fn memory_connection(
    src: &ConnectionEnd<'_>,
    dst: &ConnectionEnd<'_>,
    traits: &ConnectionTraits,
    trials: &ConnectionTrials,
) -> Result<MemoryConnection> {
    let (from, to) = (src.member()?, dst.member()?); // R0
    if src.is_lost || dst.is_lost {
        return Ok(MemoryConnection::None); // R1
    }
    if src.context != dst.context {
        return Ok(between_contexts(from, to, traits, trials));
    }
    if src.device == dst.device {
        return Ok(MemoryConnection::Unified { how: UnifiedBy::Identity, sync: ConnectionSync::Gpu }); // R2
    }
    Ok(within_group(from, traits, trials))
}

/// Rules R3 to R6.
fn within_group(from: &DeviceInfo, traits: &ConnectionTraits, trials: &ConnectionTrials) -> MemoryConnection {
    let (there, back) = (trials.target_at_source, trials.source_at_target);
    let is_peer = traits.peer_bound && there.generic_src && (there.generic_dst || !traits.writes);
    let sync = ConnectionSync::Gpu;
    let unified = |how| MemoryConnection::Unified { how, sync };
    let migratable = |path| MemoryConnection::Migratable { path, sync };
    strongest(
        traits.at_most,
        [
            (!has_instances(from, traits.kind), unified(UnifiedBy::SingleInstanceHeap)),
            (is_peer, unified(UnifiedBy::Peer)),
            (there.copy_src || back.copy_dst, migratable(MigrationPath::GroupCopy)),
            (true, migratable(MigrationPath::HeapBounce)),
        ],
    )
}

/// Rules R7 to R13.
fn between_contexts(
    from: &DeviceInfo,
    to: &DeviceInfo,
    traits: &ConnectionTraits,
    trials: &ConnectionTrials,
) -> MemoryConnection {
    let (here, there) = (&from.external, &to.external);
    let is_same = !from.uuid.is_empty() && from.uuid == to.uuid && from.driver.uuid == to.driver.uuid;
    let page = to.limits.min_imported_host_pointer_alignment;
    let is_aligned = traits.host_pages.is_some_and(|alignment| page > 0 && alignment % page == 0);
    let has_fd = is_same && here.memory_fd.exportable && there.memory_fd.importable && works(trials.exported);
    let has_dma_buf = !is_same && here.dma_buf.exportable && there.dma_buf.importable;
    let copies_dma_buf = !is_same && here.dma_buf_copies.exportable && there.dma_buf_copies.importable;
    let share_pages = here.host_memory.importable && there.host_memory.importable && works(trials.shared_host);
    let sync = sync(from, to, is_same, trials);
    let unified = |how| MemoryConnection::Unified { how, sync };
    let migratable = |path| MemoryConnection::Migratable { path, sync };
    strongest(
        traits.at_most,
        [
            (is_aligned && there.host_memory.importable && works(trials.same_pages), unified(UnifiedBy::SamePages)),
            (traits.exportable && has_fd, unified(UnifiedBy::Exported)),
            (has_fd, migratable(MigrationPath::ExportedBounce)),
            (traits.dma_buf && has_dma_buf && trials.dma_buf == Trial::Passed, unified(UnifiedBy::DmaBuf)),
            (copies_dma_buf && trials.dma_buf_copies == Trial::Passed, migratable(MigrationPath::ExportedBounce)),
            (share_pages, migratable(MigrationPath::SharedHostBounce)),
        ],
    )
}

/// The first answer whose condition holds and that is permitted.
fn strongest<const N: usize>(limit: ConnectionLimit, rules: [(bool, MemoryConnection); N]) -> MemoryConnection {
    let is_permitted = |answer: MemoryConnection| answer.strength() <= limit;
    let found = rules.into_iter().find(|&(holds, answer)| holds && is_permitted(answer));
    found.map_or(MemoryConnection::None, |(_, answer)| answer)
}

/// Whether each device of a group has separate memory of this kind. A kind without memory is not in common either.
fn has_instances(device: &DeviceInfo, kind: MemoryKind) -> bool {
    let heap = kind.chosen(device).and_then(|chosen| device.memory_heaps.get(chosen.heap as usize));
    heap.is_none_or(|heap| heap.multi_instance)
}

fn works(trial: Trial) -> bool {
    trial != Trial::Failed
}

fn sync(from: &DeviceInfo, to: &DeviceInfo, is_same: bool, trials: &ConnectionTrials) -> ConnectionSync {
    let (here, there) = (from.external.timeline_fd, to.external.timeline_fd);
    let is_passed = here.exportable && there.importable || there.exportable && here.importable;
    if is_same && is_passed && works(trials.timeline) { ConnectionSync::Gpu } else { ConnectionSync::HostWait }
}

impl<'a> ConnectionEnd<'a> {
    fn member(&self) -> Result<&'a DeviceInfo> {
        let n_devices = self.devices.len();
        self.devices.get(self.device).ok_or(Error::InvalidDevice { device: self.device, n_devices })
    }
}
