#version 450
// y[j, i] = x[i, j] of n rows and columns, by tiles that are read and written along rows
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { float y[]; };
layout(push_constant) uniform Numbers { uint n; };

shared float tile[8][9]; // One column more, so that columns lie in different banks.

void main() {
    uvec2 local = gl_LocalInvocationID.xy;
    uvec2 from = gl_WorkGroupID.xy * 8 + local;
    if (from.x < n && from.y < n) {
        tile[local.y][local.x] = x[from.y * n + from.x];
    }
    barrier();
    uvec2 to = gl_WorkGroupID.yx * 8 + local;
    if (to.x < n && to.y < n) {
        y[to.y * n + to.x] = tile[local.x][local.y];
    }
}
