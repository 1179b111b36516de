//! What can go wrong with memory.

use vkarray_driver as driver;

use crate::kind::MemoryKind;
use crate::out_of_memory::OutOfMemory;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything the allocator crate refuses or suffers. Sizes are bytes.
#[derive(Debug, thiserror::Error)]
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
    #[error("the sub-allocator failed")]
    SubAllocator(#[source] gpu_allocator::AllocationError),
    /// The driver refused or failed.
    #[error(transparent)]
    Driver(#[from] driver::Error),
}
