//! Memory below arrays: blocks of bytes, memory objects, and the managers that memory comes from.

pub use vkarray_allocator::{
    Adaptor, AdaptorRequest, Allocator, ArenaManager, Block, BlockLabel, Bytes, Confidence, Counter, Counters,
    DeferCleanup, DeviceMemory, Error, FailureCallback, HeapUse, HostMemory, HostOnlyMemoryManager, HostOptions,
    HostPointer, INTERFACE_VERSION, IpcHandle, KindCounters, Limiting, LiveBlock, ManagerFactory, MappedMemory,
    Mapping, MemoryBuilder, MemoryContext, MemoryInfo, MemoryKind, MemoryManager, MemoryObject, MemoryPointer,
    MemoryState, MirroredMemory, OomCounts, OomStep, OomStepCount, OutOfMemory, Outstanding, Owner, PassthroughManager,
    Pending, PendingLimits, PendingOn, PinnedMemory, PoolManager, Reference, Region, RegisteredPath, Request, Result,
    ScopeCounters, SharedMemory, Shortage, Statistics, StatisticsScope, StepOutcome, StepOutcomes, Tracking, Usage,
    UsmType, Verdict, memory_manager_names, register_memory_manager, set_memory_manager,
};
#[cfg(feature = "allocation-log")]
pub use vkarray_allocator::{LogStep, Logging, read_log};
