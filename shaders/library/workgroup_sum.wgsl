// workgroup_sum(i, v) = the sum of v over the workgroup, in every invocation; without subgroup operations.
//
// The text before this file defines T, a number type, and GROUP, the workgroup size. Every invocation must call it, with
// its local_invocation_index. The order of additions is fixed, so sums of floats are reproducible.

var<workgroup> workgroup_parts: array<T, GROUP>;

fn workgroup_sum(index: u32, value: T) -> T {
    workgroup_parts[index] = value;
    var left = GROUP;
    while left > 1u {
        let half = (left + 1u) / 2u;
        workgroupBarrier();
        if index + half < left {
            workgroup_parts[index] += workgroup_parts[index + half];
        }
        left = half;
    }
    workgroupBarrier();
    let sum = workgroup_parts[0];
    workgroupBarrier(); // All invocations have read the sum before the next call begins.
    return sum;
}
