#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
// total += the sum of values
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer Values { uint values[]; };
layout(set = 0, binding = 1) coherent buffer Total { uint total; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint sum = subgroupAdd(i < values.length() ? values[i] : 0);
    if (subgroupElect()) atomicAdd(total, sum);
}
