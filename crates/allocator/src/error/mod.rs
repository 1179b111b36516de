//! [`Error`]: every failure of this crate, and what it is made of: the errors of images, of handles of other processes and of
//! tensors, and the report of memory that ran out, with the steps that were tried before.
//!
//! `manager/oom_fallback.rs` takes those steps, in the order of `oom_steps.rs`.

mod image;
#[cfg(target_os = "linux")]
mod ipc;
mod oom_steps;
mod out_of_memory;
#[cfg(feature = "dlpack")]
mod tensor;

use std::ops::Range;

use vkarray_driver as driver;

use crate::kind::{BlockLabel, MemoryKind, UsmType};

pub use image::ImageProblem;
#[cfg(target_os = "linux")]
pub use ipc::IpcError;
pub use oom_steps::{OomStep, StepOutcome, StepOutcomes};
pub use out_of_memory::{HeapUse, LiveBlock, OutOfMemory, PendingOn, Shortage};
#[cfg(feature = "dlpack")]
pub use tensor::TensorError;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every error of this crate. Sizes are bytes.
#[derive(thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are those of the message above each variant; repeating them says nothing")]
pub enum Error {
    /// Memory ran out, also after all steps against it; see [`OomStep`](crate::OomStep). The text lists the largest
    /// live blocks.
    #[error(transparent)]
    OutOfMemory(Box<OutOfMemory>),
    /// Bytes for which the host has no memory.
    #[error("the host has no memory for a copy of {bytes} bytes")]
    NoHostMemory { bytes: u64 },
    /// A size above the largest buffer of the device.
    #[error("{bytes} bytes are more than one buffer of this device can hold ({limit})")]
    TooLarge { bytes: u64, limit: u64 },
    /// An image that the device does not have: of this format (`VkFormat`), or of this size.
    #[error("this device has no such image of format {format}: {problem}")]
    NoSuchImage { format: i32, problem: ImageProblem },
    /// The device has no memory of this kind.
    #[error("this device has no {kind} memory")]
    NoSuchMemory { kind: MemoryKind },
    /// A range that is not inside its block.
    #[error("bytes {offset}..{} are outside a block of {size} bytes", u128::from(*offset) + u128::from(*len))]
    OutOfBounds { offset: u64, len: u64, size: u64 },
    /// A range that ends before it starts.
    #[error("a range cannot start at byte {start} and end at byte {end}")]
    ReversedRange { start: u64, end: u64 },
    /// A copy inside one block with overlapping ranges.
    #[error("cannot copy bytes {from:?} to {to:?} of the same block: they overlap")]
    Overlap { from: std::ops::Range<u64>, to: std::ops::Range<u64> },
    /// Memory of different devices in one operation.
    #[error("memory of {left} cannot be used together with memory of {right}: they were opened separately")]
    ForeignDevice { left: String, right: String },
    /// Memory that the host cannot address, or addresses on some devices only.
    #[error("the host does not address {kind} memory: copy it, or use pinned, mapped or shared memory")]
    NotOnHost { kind: MemoryKind },
    /// A device that is not one of its context's.
    #[error("device {device} is not in its context, which has {n_devices}")]
    InvalidDevice { device: usize, n_devices: usize },
    /// Memory that kernels cannot reach by its address.
    #[error("{size} bytes of {kind} memory have no address on the device: {reason}")]
    NoAddress { size: u64, kind: MemoryKind, reason: &'static str },
    /// Memory that was not allocated to be exported.
    #[error(
        "{size} bytes of {kind} memory cannot be exported: they were not allocated for it, a copy can be (`to_exportable`)"
    )]
    NotExportable { size: u64, kind: MemoryKind },
    /// Exported memory of a device or driver that differs from the importing one.
    #[error("memory exported by device {exporter} cannot be imported by device {importer}: {what} differs")]
    ForeignMemory { exporter: String, importer: String, what: &'static str },
    /// A description of exported memory that does not match what this driver needs for this many bytes.
    #[error("the description of exported memory does not fit: {what} is {given}, and {expected} is needed")]
    DescriptionMismatch { what: &'static str, given: u64, expected: u64 },
    /// A file descriptor that could not be duplicated, whose file could not be asked about, or whose file is no memory.
    #[error("a file descriptor of exported memory cannot be used: {0}")]
    Descriptor(std::io::Error),
    /// Bytes that cannot be seen as elements of a type.
    #[error(
        "{size} bytes at address {address:#x} are not elements of {itemsize} bytes that are aligned to {alignment}"
    )]
    NotElements { address: usize, size: u64, itemsize: usize, alignment: usize },
    /// Memory of the program that cannot be pinned because it is not whole pages. The alignment is 0 if this device pins
    /// no memory of the program.
    #[error("{size} bytes at address {address:#x} are not whole pages of {alignment} bytes")]
    NotWholePages { address: usize, size: u64, alignment: u64 },
    /// Memory of the program that is pinned already.
    #[error("the pages at {:#x}..{:#x} are pinned already, in {:#x}..{:#x}", pages.start, pages.end, pinned.start, pinned.end)]
    AlreadyPinned { pages: std::ops::Range<usize>, pinned: std::ops::Range<usize> },
    /// Memory of the program that cannot be taken back, because arrays, graphs or other handles to it exist.
    #[error("the memory cannot be taken back while {n_handles} other handles to it exist")]
    StillShared { n_handles: usize },
    /// A copy to memory of the program that was lent to be read.
    #[error("{nbytes} bytes of the program were lent to be read, and are not written")]
    LentToRead { nbytes: usize },
    /// Memory of the program that the memory manager did not let go when it was given back.
    #[error("the memory manager has not let go of pinned memory; its owner is dropped when it does")]
    StillPinned,
    /// A memory object of zero bytes.
    #[error("a memory object must have at least one byte")]
    InvalidSize,
    /// An alignment that is not a power of two.
    #[error("an alignment must be a power of two, which {alignment} is not")]
    InvalidAlignment { alignment: u64 },
    /// A memory object of another kind than required. Only a copy changes the kind.
    #[error("{held} memory cannot be shared as {wanted} memory: copy it")]
    OtherUsmType { held: UsmType, wanted: UsmType },
    /// A block of another kind than required.
    #[error("a block of {held} memory is not {wanted} memory")]
    OtherKind { held: MemoryKind, wanted: MemoryKind },
    /// A source that is larger than its target.
    #[error("{source_size} bytes do not fit into {target_size}")]
    SizeMismatch { source_size: u64, target_size: u64 },
    /// A fill with an empty pattern, or with a pattern whose length does not divide the size.
    #[error("{size} bytes cannot be filled with a pattern of {pattern} bytes: the size must be a multiple of it")]
    BadPattern { pattern: usize, size: u64 },
    /// A memory object whose allocation was freed, by this object or by another that shares it.
    #[error("{nbytes} bytes of memory were used after they were freed")]
    UsedAfterFree { nbytes: u64 },
    /// A memory object that was freed again.
    #[error("{nbytes} bytes of memory were freed twice")]
    FreedTwice { nbytes: u64 },
    /// An operation that this memory manager or this device does not support.
    #[error("{what} is not supported here")]
    Unsupported { what: &'static str },
    /// A memory manager that was not initialised for a device.
    #[error("the memory manager was used before it was initialised for a device")]
    NotInitialized,
    /// The reason of a memory manager of the program, in the type that the program gave it.
    #[error("the memory manager refused: {0}")]
    Manager(Box<dyn std::error::Error + Send + Sync>),
    /// A memory manager written for another version of the interface.
    #[error("the memory manager was written for version {version} of the interface, this is version {expected}")]
    InterfaceVersion { version: u32, expected: u32 },
    /// An unknown name of a memory manager.
    #[error("{origin} names the memory manager `{name}`, which is not known; known are {}", known.join(", "))]
    UnknownManager { name: String, origin: &'static str, known: Vec<String> },
    /// A name for a memory manager that is registered already.
    #[error("a memory manager of the name `{name}` is registered already")]
    ManagerNameTaken { name: String },
    /// A scope of statistics was ended while none was open.
    #[error("no scope of statistics is open")]
    NoOpenScope,
    /// A memory log that cannot be read.
    #[error("memory log, line {line}: {reason}")]
    Log { line: u64, reason: String },
    /// A block that was made before the last reset of its allocator.
    #[error(
        "a block of {size} bytes of {kind} memory{} was made before the reset of its context, which ended it: make it again",
        label.as_ref().map(|label| format!(" ({label})")).unwrap_or_default()
    )]
    DeadMemory { size: u64, kind: MemoryKind, label: Option<Box<BlockLabel>> },
    /// An arena of zero bytes, or of more bytes than can be counted.
    #[error(
        "an arena cannot have {n_frames} frames of {frame_bytes} bytes: that is nothing, or more than can be counted"
    )]
    BadArena { n_frames: usize, frame_bytes: u64 },
    /// A frame of an arena that cannot be reused, since blocks of it are alive.
    #[error("frame {frame} of the arena cannot be used again: {n_blocks} of its blocks are still alive")]
    FrameInUse { frame: u64, n_blocks: usize },
    /// An environment variable with a malformed value.
    #[error("\"{text}\" in {variable} is not {expected}")]
    BadSetting { variable: &'static str, text: String, expected: &'static str },
    /// A destructor of the program panicked while dropped memory was freed. All other memory was freed.
    #[error("freeing dropped memory panicked {} times: {}", messages.len(), messages.join("; "))]
    CleanupPanicked { messages: Vec<String> },
    /// gpu-allocator failed for a reason that is not a lack of memory.
    #[error("the sub-allocator failed: {0}")]
    SubAllocator(gpu_allocator::AllocationError),
    /// A tensor that cannot be exported or imported.
    #[cfg(feature = "dlpack")]
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// A handle of another process that is refused.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Ipc(#[from] IpcError),
    /// An error of the driver crate.
    #[error(transparent)]
    Driver(#[from] driver::Error),
}

/// Checks that the bytes `range` lie in memory of `size` bytes.
pub(crate) fn check_inside(range: &Range<u64>, size: u64) -> Result<()> {
    if range.start <= range.end && range.end <= size { Ok(()) } else { Err(Error::outside(range, size)) }
}

impl Error {
    /// Whether memory ran out, against which it may help to free some.
    pub(crate) fn is_out_of_memory(&self) -> bool {
        matches!(self, Self::OutOfMemory(_))
    }

    /// Why the bytes of a range do not lie in memory of `size` bytes.
    #[cold]
    pub(crate) fn outside(&Range { start, end }: &Range<u64>, size: u64) -> Self {
        match end.checked_sub(start) {
            Some(len) => Self::OutOfBounds { offset: start, len, size },
            None => Self::ReversedRange { start, end },
        }
    }
}

vkarray_driver::debug_as_display!(Error);
