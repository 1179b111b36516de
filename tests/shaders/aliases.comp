#version 450
// Several variables at one binding, which see its memory as different types.
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) buffer Count { uint n; } count;
layout(set = 0, binding = 0) buffer Table { uint n; uint v[8]; } table;
layout(set = 0, binding = 1) writeonly buffer Words { float words[]; };
layout(set = 0, binding = 1) readonly buffer Quads { vec4 quads[]; };
layout(std140, set = 0, binding = 2) uniform Scale { vec4 scale; } few;
layout(std140, set = 0, binding = 2) uniform Scales { vec4 scale; vec4 shift[2]; } many;
layout(set = 1, binding = 0) buffer Floats { float floats[]; };
layout(set = 1, binding = 0) buffer Bits { uint bits[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    table.v[i] = 3 * i + count.n;
    words[8 + i] = few.scale.x * quads[i / 4][i % 4] + many.shift[1].y;
    bits[i] = floatBitsToUint(floats[8 + i]) ^ 0x80000000u;
}
