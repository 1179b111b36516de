#version 450
// z[i] = x[i] * y[i], of complex numbers as pairs
#extension GL_GOOGLE_include_directive : require
#include "include/complex.h"
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer X { vec2 x[]; };
layout(set = 0, binding = 1) readonly buffer Y { vec2 y[]; };
layout(set = 0, binding = 2) writeonly buffer Z { vec2 z[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < z.length()) {
        z[i] = multiply(x[i], y[i]);
    }
}
