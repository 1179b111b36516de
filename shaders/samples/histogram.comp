// bins[b] = bins[b] + number of i with b <= 256 * x[i] < b + 1, as in histogram.wgsl
//
// Each workgroup has bins of its own in its memory, where that is fast, and adds them to the result once. Dispatch
// covering (length of x) or fewer, with bins = 0.

#version 450

const uint BINS = 256u; // BINS is also the number of invocations of a workgroup: each adds one bin to the result.

layout(local_size_x = 256) in;

layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) buffer Bins { uint bins[BINS]; };

shared uint bins_of_group[BINS];

void main() {
    uint rank = gl_LocalInvocationIndex;
    bins_of_group[rank] = 0u; // GLSL says nothing about what workgroup memory holds at the start.
    barrier();
    for (uint i = gl_GlobalInvocationID.x; i < x.length(); i += BINS * gl_NumWorkGroups.x) {
        float bin = clamp(256.0 * x[i], 0.0, 255.0);
        atomicAdd(bins_of_group[uint(bin)], 1u);
    }
    barrier();
    atomicAdd(bins[rank], bins_of_group[rank]);
}
