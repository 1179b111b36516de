#version 450
// More constant memory than most devices have: 128 KiB.
layout(local_size_x = 1) in;
layout(set = 0, binding = 0, std140) uniform T { vec4 table[8192]; };
layout(set = 0, binding = 1, std430) writeonly buffer O { float result[]; };
void main() { result[0] = table[8191].w; }
