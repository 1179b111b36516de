#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : enable
// Each row: exp(first * x) over the sum of them; a workgroup for each row, its size a specialisation constant
#define WORKGROUP_SUM
layout(local_size_x_id = 0) in;
#include "shared.glsl"

layout(set = 0, binding = 0) readonly buffer Input { ELEMENT x[]; };
layout(set = 0, binding = 1) writeonly buffer Output { ELEMENT result[]; };

void main() {
    const uint start = gl_WorkGroupID.x * params.columns;
    ELEMENT sum = 0;
    [[unroll]] for (uint j = gl_LocalInvocationID.x; j < params.columns; j += gl_WorkGroupSize.x) {
        sum += exp(params.first * x[start + j]);
    }
    sum = workgroup_sum(sum);
    [[unroll]] for (uint j = gl_LocalInvocationID.x; j < params.columns; j += gl_WorkGroupSize.x) {
        result[start + j] = exp(params.first * x[start + j]) / sum;
    }
}
