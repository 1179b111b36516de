#version 450
#extension GL_ARB_gpu_shader_int64 : require
// doubles = doubles / 3, longs = longs * SCALE
layout(local_size_x = 1) in;
layout(constant_id = 7) const int64_t SCALE = 5000000000L;
layout(set = 0, binding = 0) buffer A { double doubles[]; };
layout(set = 0, binding = 1) buffer B { int64_t longs[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    doubles[i] = doubles[i] / 3.0lf;
    longs[i] = longs[i] * SCALE;
}
