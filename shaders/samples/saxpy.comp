// y[i] = a * x[i] + y[i], as in saxpy.wgsl
//
// Dispatch one invocation per element: covering (length of y). If the lengths differ, the shorter one counts.

#version 450

layout(local_size_x = 256) in;

layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) buffer Y { float y[]; };
layout(push_constant) uniform Push { float a; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= min(x.length(), y.length())) {
        return;
    }
    y[i] = a * x[i] + y[i];
}
