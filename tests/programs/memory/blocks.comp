#version 450
// Blocks of the layouts std140, std430 and scalar: one program writes them, another in WGSL reads them. A macro chooses.
#extension GL_EXT_scalar_block_layout : require
layout(local_size_x = 16) in;
struct Body { vec3 place; float mass; vec2 spin; uint id; };
struct Plain { float a; vec3 b; };

#if defined(WRITE_BODIES)
layout(binding = 0, std430) writeonly buffer Bodies { Body bodies[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < bodies.length()) bodies[i] = Body(vec3(i, 2 * i, 3 * i), 0.5 * float(i), vec2(-float(i), 7), 1000 + i);
}
#elif defined(SCALAR_TO_STD430)
layout(binding = 0, scalar) readonly buffer From { Plain from[]; };
layout(binding = 1, std430) writeonly buffer To { vec4 to[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < to.length()) to[i] = vec4(from[i].b, from[i].a);
}
#elif defined(UNIFORM_BLOCK)
layout(binding = 0, std140) uniform Rows { float rows[8]; };
layout(binding = 1) writeonly buffer Y { float y[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < y.length()) y[i] = rows[i % 8];
}
#elif defined(ROW_MAJOR)
layout(binding = 0, std430, row_major) readonly buffer Matrices { mat2x3 m[]; };
layout(binding = 1) writeonly buffer Y { float y[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < y.length()) y[i] = dot(m[i] * vec2(1, 10), vec3(1, 100, 1000)) - m[i][1][2];
}
#elif defined(HEADER)
layout(binding = 0) buffer Counted { uint n; uint values[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < values.length()) { values[i] *= 2; atomicAdd(n, 1); }
}
#elif defined(PUSH)
layout(push_constant) uniform Push { vec2 scale; uint first; ivec3 shift; float factor[2]; } push;
layout(binding = 0) writeonly buffer Y { float y[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= push.first && i < y.length())
        y[i] = push.scale.x * float(i) + push.scale.y + float(push.shift.x + push.shift.y * push.shift.z);
}
#elif defined(THREE_SETS)
layout(set = 0, binding = 3) readonly buffer A { uint a[]; };
layout(set = 1, binding = 0) readonly buffer B { uint b[]; };
layout(set = 2, binding = 7) writeonly buffer Y { uint y[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < y.length()) y[i] = a[i] * 100 + b[y.length() - 1 - i];
}
#elif defined(ARRAY_OF_BINDINGS)
layout(push_constant) uniform Push { uint chosen; };
layout(binding = 0) readonly buffer B { uint x[]; } b[3];
layout(binding = 1) writeonly buffer Y { uint y[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < y.length()) y[i] = b[0].x[i] + 10 * b[chosen].x[i] + 100 * b[2].x[i];
}
#elif defined(COUNTED_BINDINGS)
#extension GL_EXT_nonuniform_qualifier : require
layout(binding = 0) readonly buffer B { uint x[]; } b[];
layout(binding = 1) writeonly buffer Y { uint y[]; };
layout(push_constant) uniform Push { uint n; };
void main() {
    uint i = gl_GlobalInvocationID.x, sum = 0;
    if (i >= y.length()) return;
    for (uint k = 0; k < n; k++) sum += b[k].x[i];
    y[i] = sum;
}
#elif defined(SPREAD_BINDINGS)
layout(binding = 0) writeonly buffer B { uint x[]; } b[2];
void main() {
    uint i = gl_GlobalInvocationID.x;
    for (uint k = 0; k < 2; k++) if (i < b[k].x.length()) b[k].x[i] = 10 * i + k;
}
#elif defined(WIDE_ATOMICS)
#extension GL_EXT_shader_atomic_int64 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(binding = 0) buffer Y { uint64_t y[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    atomicAdd(y[0], 4294967296ul + uint64_t(i));
    atomicMax(y[1], uint64_t(i) << 40);
}
#elif defined(FLOAT_ATOMICS)
#extension GL_EXT_shader_atomic_float : require
layout(binding = 0) buffer Y { float y[]; };
void main() { atomicAdd(y[gl_GlobalInvocationID.x % 4], 0.5); }
#elif defined(ALIASES)
layout(binding = 0) buffer Words { uint words[]; };
layout(binding = 0) buffer Floats { float floats[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < words.length()) floats[i] = uintBitsToFloat(words[i] ^ 0x80000000u);
}
#endif
