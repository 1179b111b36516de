// workgroup_sum(i, v) = the sum of v over the workgroup, in every invocation; without subgroups.
//
// T and GROUP stand before this: a number type, and the invocations of the workgroup. Every invocation calls it, with its
// local_invocation_index. The order of additions is the same in every run, so sums of floats are too.

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
    workgroupBarrier(); // All have read it before the next call begins.
    return sum;
}
