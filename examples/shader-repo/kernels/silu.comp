#version 450
// y[i] = x[i] / (1 + exp(-x[i]))
layout(local_size_x = 128) in;
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { float y[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < y.length()) {
        y[i] = x[i] / (1.0 + exp(-x[i]));
    }
}
