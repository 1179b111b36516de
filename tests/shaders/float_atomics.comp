#version 450
#extension GL_EXT_shader_atomic_float : require
// Sums of floats, in shared memory and in a buffer.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) buffer Total { float total; };
shared float sum;

void main() {
    if (gl_LocalInvocationIndex == 0) sum = 0.0;
    barrier();
    atomicAdd(sum, x[gl_GlobalInvocationID.x]);
    barrier();
    if (gl_LocalInvocationIndex == 0) atomicAdd(total, sum);
}
