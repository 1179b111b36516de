#version 450
// Turns each workgroup's part around, times FACTOR, negated if NEGATE; through shared memory of LANES * DEPTH numbers.
layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint LANES = 32;
layout(constant_id = 1) const uint DEPTH = 2;
layout(constant_id = 2) const float FACTOR = 1.5;
layout(constant_id = 3) const bool NEGATE = false;
layout(constant_id = 4) const int SHIFT = -1;
shared float tile[LANES * DEPTH];
layout(set = 0, binding = 0) buffer Data { float data[]; };

void main() {
    uint i = gl_LocalInvocationID.x;
    for (uint d = 0; d < DEPTH; d++) tile[d * LANES + i] = data[(gl_WorkGroupID.x * DEPTH + d) * LANES + i];
    barrier();
    uint n = LANES * DEPTH;
    for (uint d = 0; d < DEPTH; d++) {
        float value = tile[n - 1 - (d * LANES + i)] * FACTOR + float(SHIFT);
        data[(gl_WorkGroupID.x * DEPTH + d) * LANES + i] = NEGATE ? -value : value;
    }
}
