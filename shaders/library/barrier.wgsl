// barrier_count(i, p) = the number of invocations of the workgroup for which p; _and = all of them, _or = any of them.
//
// Each is a barrier as well, as CUDA's __syncthreads_count is: every invocation of the workgroup calls it, with its
// local_invocation_index. What an invocation wrote before the call, in shared memory and in buffers, the others of its
// workgroup read after it. Costs four barriers and four bytes of shared memory.

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
    workgroupBarrier(); // All have read it before the next call begins again.
    return count;
}

fn barrier_and(index: u32, predicate: bool) -> bool {
    return barrier_count(index, !predicate) == 0u;
}

fn barrier_or(index: u32, predicate: bool) -> bool {
    return barrier_count(index, predicate) != 0u;
}
