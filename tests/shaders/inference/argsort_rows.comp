#version 450
#extension GL_GOOGLE_include_directive : require
// The order of each row, by a bitonic network in shared memory; columns past the row's end sort last
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const bool DESCENDING = false;
#include "shared.glsl"

layout(set = 0, binding = 0) readonly buffer Input { float x[]; };
layout(set = 0, binding = 1) writeonly buffer Output { int order[]; };
shared uint index[gl_WorkGroupSize.x];

bool is_behind(uint a, uint b) {
    if (a >= params.columns || b >= params.columns) return a > b;
    const uint start = gl_WorkGroupID.x * params.columns;
    return DESCENDING ? x[start + a] < x[start + b] : x[start + a] > x[start + b];
}

void main() {
    const uint lane = gl_LocalInvocationID.x;
    index[lane] = lane;
    barrier();
    for (uint run = 2; run <= gl_WorkGroupSize.x; run *= 2) {
        for (uint apart = run / 2; apart > 0; apart /= 2) {
            const uint other = lane ^ apart;
            const bool is_rising = (lane & run) == 0;
            if (other > lane && is_behind(index[lane], index[other]) == is_rising) {
                const uint kept = index[lane];
                index[lane] = index[other];
                index[other] = kept;
            }
            barrier();
        }
    }
    if (lane < params.columns) order[gl_WorkGroupID.x * params.columns + lane] = int(index[lane]);
}
