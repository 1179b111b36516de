#version 450
// Arrays that are reached by their addresses. A macro chooses the program.
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 16) in;
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer From { float v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer To { float v[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Quads { vec4 v[]; };

#if defined(AXPY)
layout(push_constant) uniform Push { From x; To y; uint n; float a; };
void main() { uint i = gl_GlobalInvocationID.x; if (i < n) y.v[i] += a * x.v[i]; }
#elif defined(QUAD_SUMS)
layout(push_constant) uniform Push { Quads x; To y; uint n; };
void main() { uint i = gl_GlobalInvocationID.x; if (i < n) y.v[i] = dot(x.v[i], vec4(1)); }
#elif defined(BOUND_AND_REACHED)
layout(push_constant) uniform Push { From x; uint n; };
layout(binding = 0) writeonly buffer Y { float y[]; };
void main() { uint i = gl_GlobalInvocationID.x; if (i < n && i < y.length()) y[i] = x.v[n - 1 - i]; }
#elif defined(CHOSEN)
layout(push_constant) uniform Push { From x; From z; To y; uint n; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    if (i % 2 == 0) y.v[i] = x.v[i];
    else y.v[i] = z.v[i];
}
#endif
