#version 450
#extension GL_EXT_scalar_block_layout : require
// The same members in each layout; what is done with them does not matter.
layout(local_size_x = 1) in;
struct Leaf { vec3 v; float f; vec2 w; };
struct Branch { float n; Leaf leaves[2]; };
layout(std140, set = 0, binding = 0) uniform Std140 {
    float a[3]; vec3 b[2]; mat3x2 c; mat4x3 d; mat2 e[2]; float f; vec2 g; Branch h[2]; layout(row_major) mat3x2 i; float j;
} std140_;
layout(std430, set = 0, binding = 1) readonly buffer Std430 {
    float a[3]; vec3 b[2]; mat3x2 c; mat4x3 d; mat2 e[2]; float f; vec2 g; Branch h[2]; layout(row_major) mat3x2 i; float j;
} std430_;
layout(scalar, set = 0, binding = 2) readonly buffer Scalar {
    float a[3]; vec3 b[2]; mat3x2 c; mat4x3 d; mat2 e[2]; float f; vec2 g; Branch h[2]; layout(row_major) mat3x2 i; float j;
} scalar_;
layout(scalar, push_constant) uniform Push { float a; vec3 b; mat3x2 c; Leaf d; } push_;
layout(std430, set = 0, binding = 3) writeonly buffer Out { float result[]; };

void main() {
    result[0] = std140_.j + std430_.j + scalar_.j + push_.a;
}
