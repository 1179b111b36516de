#version 450
#extension GL_EXT_nonuniform_qualifier : require
// glslangValidator --target-env vulkan1.0 -o binding_array.spv binding_array.comp
layout(local_size_x = 8) in;
layout(set = 3, binding = 5) writeonly buffer Out { uint outs[]; };
layout(set = 1, binding = 2) readonly buffer B { uint n; uint x[]; } b[];
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < outs.length()) outs[i] = b[nonuniformEXT(i)].x[1] + 1000 * b[nonuniformEXT(i)].n;
}
