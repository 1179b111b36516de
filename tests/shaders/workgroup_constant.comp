#version 450
// A constant that also sets the size of the workgroup, which has a default of its own: 1.
layout(local_size_x_id = 4) in;
layout(constant_id = 4) const uint LANES = 32;
layout(set = 0, binding = 0) buffer X { uint x[]; };

void main() { x[gl_WorkGroupID.x * LANES + gl_LocalInvocationID.x] += 1; }
