#version 450
// Numbers of std140 uniform blocks, each 16 bytes from the next: floats and truth values.
layout(local_size_x = 4) in;
layout(set = 0, binding = 0, std140) uniform W { float weights[5]; };
layout(set = 0, binding = 1, std140) uniform F { bool flags[4]; };
layout(set = 0, binding = 2, std430) writeonly buffer O { float result[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    result[i] = flags[i] ? weights[i] : -weights[i + 1];
}
