#version 450
#extension GL_GOOGLE_include_directive : require
// counts[c] += how many of a row's elements are c, a workgroup for each row, by atomics in shared memory and then in the buffer
layout(local_size_x = 64) in;
#include "shared.glsl"

layout(set = 0, binding = 0) readonly buffer Input { uint class_of[]; };
layout(set = 0, binding = 1) buffer Output { uint counts[]; };
shared uint local_counts[64];

void main() {
    const uint lane = gl_LocalInvocationID.x;
    local_counts[lane] = 0;
    barrier();
    for (uint j = lane; j < params.columns; j += 64) {
        const uint c = class_of[gl_WorkGroupID.x * params.columns + j];
        if (c < 64) atomicAdd(local_counts[c], 1);
    }
    barrier();
    if (lane < counts.length() && local_counts[lane] > 0) atomicAdd(counts[lane], local_counts[lane]);
}
