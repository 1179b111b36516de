#version 450
// counts[v] += number of elements v of source, for v < 256; through shared counters
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer Source { uint source[]; };
layout(set = 0, binding = 1) buffer Counts { uint counts[256]; };
shared uint local_counts[256];

void main() {
    for (uint b = gl_LocalInvocationID.x; b < 256; b += 64) local_counts[b] = 0;
    barrier();
    if (gl_GlobalInvocationID.x < source.length()) atomicAdd(local_counts[source[gl_GlobalInvocationID.x] & 255], 1);
    barrier();
    for (uint b = gl_LocalInvocationID.x; b < 256; b += 64) atomicAdd(counts[b], local_counts[b]);
}
