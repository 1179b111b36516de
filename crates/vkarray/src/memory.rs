//! Memory below arrays: blocks of bytes, memory objects, and the managers that memory comes from.

pub use vkarray_allocator::{
    Adaptor, Allocator, ArenaManager, Asked, Block, Bytes, Confidence, Counter, Counters, DeferCleanup, DeviceMemory,
    Error, FailureCallback, HeapUse, Holder, Holding, HostMemory, HostOnlyMemoryManager, HostOptions, HostPointer,
    INTERFACE_VERSION, IpcHandle, KindCounters, LadderCounts, Limiting, LogStep, Logging, ManagerFactory, MappedMemory,
    Mapping, MemoryBuilder, MemoryContext, MemoryInfo, MemoryKind, MemoryManager, MemoryObject, MemoryPointer,
    MemoryState, MirroredMemory, OutOfMemory, Outstanding, Owner, PassthroughManager, Pending, PendingLimits,
    PendingOn, PinnedMemory, PoolManager, Reference, Region, RegisteredPath, Request, Result, Rung, RungCount,
    ScopeCounters, SharedMemory, Shortage, Statistics, StatisticsScope, Taken, Tracking, Trail, Usage, UsmType,
    Verdict, memory_manager_names, read_log, register_memory_manager, set_memory_manager,
};
