#version 450
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
// Three bytes in one constant and doubles in another: neither moves the other.
layout(local_size_x = 3) in;
layout(set = 0, binding = 0, std140) uniform B { uint8_t small[3]; };
layout(set = 0, binding = 1, std140) uniform D { double large[3]; };
layout(set = 0, binding = 2, std430) writeonly buffer O { double result[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    result[i] = large[i] + double(uint(small[i]));
}
