// What the kernels of this folder include: their push constants, and the sum of a workgroup.
layout(push_constant) uniform Params {
    uint columns;
    uint rows;
    float first;
    float second;
} params;

#ifdef WORKGROUP_SUM
shared ELEMENT partial[gl_WorkGroupSize.x];

// The sum of `value` over the workgroup, the same in each invocation.
ELEMENT workgroup_sum(ELEMENT value) {
    const uint lane = gl_LocalInvocationID.x;
    barrier(); // The array may still be read for the sum before this one.
    partial[lane] = value;
    barrier();
    for (uint half_size = gl_WorkGroupSize.x / 2; half_size > 0; half_size /= 2) {
        if (lane < half_size) {
            partial[lane] += partial[lane + half_size];
        }
        barrier();
    }
    return partial[0];
}
#endif
