#version 450
#extension GL_GOOGLE_include_directive : require
// result[i] = FUNCTION(x[i]), with the function and the workgroup's size from the command line of the compiler
#include "shared.glsl"

layout(local_size_x = SIZE) in;
layout(set = 0, binding = 0) readonly buffer Input { ELEMENT x[]; };
layout(set = 0, binding = 1) writeonly buffer Output { ELEMENT result[]; };

void main() {
    const uint i = gl_GlobalInvocationID.x;
    if (i < params.columns * params.rows) {
        const ELEMENT v = x[i];
        result[i] = ELEMENT(FUNCTION);
    }
}
