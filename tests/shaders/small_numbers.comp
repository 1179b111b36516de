#version 450
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
// wide = bytes + shorts + halves
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) readonly buffer A { int8_t bytes[]; };
layout(set = 0, binding = 1) readonly buffer B { uint16_t shorts[]; };
layout(set = 0, binding = 2) readonly buffer C { float16_t halves[]; };
layout(set = 0, binding = 3) writeonly buffer D { float wide[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    wide[i] = float(bytes[i]) + float(shorts[i]) + float(halves[i]);
}
