#version 450
#extension GL_EXT_buffer_reference : require
// A kernel that reaches memory by its address, which the runtime cannot order.
layout(local_size_x = 1) in;
layout(buffer_reference, std430) buffer Far { uint value; };
layout(push_constant) uniform Push { Far far; };

void main() { far.value = 1; }
