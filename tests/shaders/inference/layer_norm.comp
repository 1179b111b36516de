#version 450
#extension GL_GOOGLE_include_directive : require
// Each row: (x - mean) / sqrt(variance + first) * gain + bias; two sums of the workgroup, one after the other
#define WORKGROUP_SUM
layout(local_size_x_id = 0) in;
#include "shared.glsl"

layout(set = 0, binding = 0) readonly buffer Input { ELEMENT x[]; };
layout(set = 0, binding = 1) readonly buffer Affine { vec2 gain_and_bias[]; };
layout(set = 0, binding = 2) writeonly buffer Output { ELEMENT result[]; };

void main() {
    const uint lane = gl_LocalInvocationID.x;
    const uint start = gl_WorkGroupID.x * params.columns;
    ELEMENT sum = 0;
    for (uint j = lane; j < params.columns; j += gl_WorkGroupSize.x) sum += x[start + j];
    const ELEMENT mean = workgroup_sum(sum) / params.columns;
    ELEMENT squares = 0;
    for (uint j = lane; j < params.columns; j += gl_WorkGroupSize.x) {
        const ELEMENT d = x[start + j] - mean;
        squares += d * d;
    }
    const ELEMENT scale = inversesqrt(workgroup_sum(squares) / params.columns + params.first);
    for (uint j = lane; j < params.columns; j += gl_WorkGroupSize.x) {
        result[start + j] = fma((x[start + j] - mean) * scale, gain_and_bias[j].x, gain_and_bias[j].y);
    }
}
