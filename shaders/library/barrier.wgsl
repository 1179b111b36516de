// barrier_count(i, p) = the number of invocations in the workgroup for which p holds; _and = all hold; _or = any holds.
//
// Each function is also a barrier, like CUDA's __syncthreads_count: every invocation of the workgroup must call it,
// with its local_invocation_index. Writes of an invocation to shared memory and buffers before the call are visible to
// the other invocations of its workgroup after the call. A call costs four barriers and four bytes of shared memory.

var<workgroup> barrier_votes: atomic<u32>;

fn barrier_count(index: u32, predicate: bool) -> u32 {
    if index == 0u {
        atomicStore(&barrier_votes, 0u);
    }
    workgroupBarrier();
    storageBarrier();
    if predicate {
        atomicAdd(&barrier_votes, 1u);
    }
    workgroupBarrier();
    let count = atomicLoad(&barrier_votes);
    workgroupBarrier(); // All invocations have read the count before the next call resets it.
    return count;
}

fn barrier_and(index: u32, predicate: bool) -> bool {
    return barrier_count(index, !predicate) == 0u;
}

fn barrier_or(index: u32, predicate: bool) -> bool {
    return barrier_count(index, predicate) != 0u;
}
