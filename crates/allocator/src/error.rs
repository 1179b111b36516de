//! What can go wrong with memory.

use std::fmt;

use vkarray_driver as driver;

#[cfg(feature = "dlpack")]
use crate::interop::TensorError;
use crate::memory::MemoryKind;
use crate::oom::OutOfMemory;
use crate::usm::UsmType;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything the allocator crate refuses or suffers. Sizes are bytes.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Memory ran out, also after everything that was dropped and done is freed. The text names the largest holders.
    #[error(transparent)]
    OutOfMemory(Box<OutOfMemory>),
    /// More than any single buffer of the device can hold.
    #[error("{bytes} bytes are more than one buffer of this device can hold ({limit})")]
    TooLarge {
        /// What was asked for.
        bytes: u64,
        /// The device's limit.
        limit: u64,
    },
    /// The device has no memory of this kind.
    #[error("this device has no {kind} memory")]
    NoSuchMemory {
        /// What was asked for.
        kind: MemoryKind,
    },
    /// A range that does not lie in its block.
    #[error("bytes {offset}..{} are outside a block of {size} bytes", u128::from(*offset) + u128::from(*len))]
    OutOfBounds {
        /// Where the range starts.
        offset: u64,
        /// How long it is.
        len: u64,
        /// The block's size.
        size: u64,
    },
    /// A range that ends before it starts.
    #[error("a range cannot start at byte {start} and end at byte {end}")]
    ReversedRange {
        /// Its start.
        start: u64,
        /// Its end.
        end: u64,
    },
    /// A copy inside one block whose two ranges share bytes.
    #[error("cannot copy bytes {from:?} to {to:?} of the same block: they overlap")]
    Overlap {
        /// Where from.
        from: std::ops::Range<u64>,
        /// Where to.
        to: std::ops::Range<u64>,
    },
    /// Two blocks that belong to different devices.
    #[error("memory of {left} cannot be used together with memory of {right}: they were opened separately")]
    ForeignDevice {
        /// The device of the stream or of the first block.
        left: String,
        /// The other device.
        right: String,
    },
    /// Memory that the host cannot address, or is not meant to.
    #[error("the host does not address {kind} memory: copy it, or ask for pinned, mapped or shared memory")]
    NotOnHost {
        /// What the memory is for.
        kind: MemoryKind,
    },
    /// Memory of the program to be pinned that is not whole pages.
    #[error("{size} bytes at address {address:#x} are not whole pages of {alignment} bytes")]
    NotWholePages {
        /// Where they start.
        address: usize,
        /// How many.
        size: u64,
        /// What both must be a multiple of; 0 if this device pins no memory of the program.
        alignment: u64,
    },
    /// Memory of the program that was to be pinned twice.
    #[error("the pages at {:#x}..{:#x} are pinned already, in {:#x}..{:#x}", pages.start, pages.end, pinned.start, pinned.end)]
    AlreadyPinned {
        /// The addresses asked for.
        pages: std::ops::Range<usize>,
        /// Those of the earlier pin.
        pinned: std::ops::Range<usize>,
    },
    /// A memory object of no bytes.
    #[error("a memory object has at least one byte")]
    InvalidSize,
    /// An alignment that is not a power of two.
    #[error("an alignment is a power of two, and {alignment} is not")]
    InvalidAlignment {
        /// What was asked for, in bytes.
        alignment: u64,
    },
    /// A memory object of one kind where another was wanted: only a copy changes the kind.
    #[error("{held} memory cannot be shared as {wanted} memory: copy it")]
    OtherUsmType {
        /// What it is.
        held: UsmType,
        /// What it was to be.
        wanted: UsmType,
    },
    /// A block of one kind where another was wanted.
    #[error("a block of {held} memory is not {wanted} memory")]
    OtherKind {
        /// What it is.
        held: MemoryKind,
        /// What it was to be.
        wanted: MemoryKind,
    },
    /// A source that does not fit its target.
    #[error("{source_size} bytes do not fit into {target_size}")]
    SizeMismatch {
        /// Bytes to be copied.
        source_size: u64,
        /// Bytes there is room for.
        target_size: u64,
    },
    /// A fill with an empty pattern, or one that does not fit a whole number of times.
    #[error("{size} bytes cannot be filled with a pattern of {pattern}: it is to fit a whole number of times")]
    BadPattern {
        /// Bytes of the pattern.
        pattern: usize,
        /// Bytes to be filled.
        size: u64,
    },
    /// A memory object whose allocation was freed, by it or by another that shares it.
    #[error("{nbytes} bytes of memory were used after they were freed")]
    UsedAfterFree {
        /// Bytes of the object.
        nbytes: u64,
    },
    /// A memory object that was freed again.
    #[error("{nbytes} bytes of memory were freed twice")]
    FreedTwice {
        /// Bytes of the object.
        nbytes: u64,
    },
    /// Something that this memory manager or this device does not do.
    #[error("{what} is not supported here")]
    Unsupported {
        /// What was asked for.
        what: &'static str,
    },
    /// A memory manager that was not made ready for a device.
    #[error("the memory manager was used before it was initialised for a device")]
    NotInitialized,
    /// A memory manager written for another version of the interface.
    #[error("the memory manager speaks version {version} of the interface, the runtime version {expected}")]
    InterfaceVersion {
        /// The manager's.
        version: u32,
        /// The runtime's.
        expected: u32,
    },
    /// A name that stands for no memory manager.
    #[error("{origin} names the memory manager `{name}`, which is not known; there are {}", known.join(", "))]
    UnknownManager {
        /// The name.
        name: String,
        /// Who names it.
        origin: &'static str,
        /// The names that there are.
        known: Vec<String>,
    },
    /// A name for a memory manager that stands for one already.
    #[error("there is a memory manager of the name `{name}` already")]
    ManagerNameTaken {
        /// The name.
        name: String,
    },
    /// A scope of statistics was to end, and none is open.
    #[error("no scope of statistics is open")]
    NoOpenScope,
    /// A log of memory that cannot be read.
    #[error("the log of memory, line {line}: {reason}")]
    Log {
        /// Where, from one on.
        line: u64,
        /// Why.
        reason: String,
    },
    /// A block that is older than the last reset of its allocator.
    #[error("a block of {size} bytes of {kind} memory was used after its allocator was reset")]
    DeadMemory {
        /// The block's size.
        size: u64,
        /// Its kind.
        kind: MemoryKind,
    },
    /// An arena without room.
    #[error("an arena of {n_frames} frames of {frame_bytes} bytes has no room, or more than can be counted")]
    BadArena {
        /// How many frames.
        n_frames: usize,
        /// The bytes of each.
        frame_bytes: u64,
    },
    /// A frame of an arena that cannot come round, since blocks of it are held.
    #[error("frame {frame} of the arena cannot be used again: {n_blocks} of its blocks are still held")]
    FrameInUse {
        /// The frame's number.
        frame: u64,
        /// How many blocks.
        n_blocks: usize,
    },
    /// A setting in the environment that is not understood.
    #[error("\"{text}\" in {variable} is not {expected}")]
    BadSetting {
        /// The variable.
        variable: &'static str,
        /// Its text.
        text: String,
        /// What it is to be.
        expected: &'static str,
    },
    /// Freeing dropped memory panicked, as destructors of the program may. Everything else was freed.
    #[error("freeing dropped memory panicked {} times: {}", messages.len(), messages.join("; "))]
    CleanupPanicked {
        /// What each said.
        messages: Vec<String>,
    },
    /// The sub-allocator refused for a reason of its own.
    #[error("the sub-allocator failed: {0}")]
    SubAllocator(gpu_allocator::AllocationError),
    /// A tensor that cannot be made or taken.
    #[cfg(feature = "dlpack")]
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// The driver refused or failed.
    #[error(transparent)]
    Driver(#[from] driver::Error),
}

/// The words of the message, which `main` prints if it returns the error.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
