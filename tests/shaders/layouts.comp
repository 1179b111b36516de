#version 450
#extension GL_EXT_scalar_block_layout : require
// out[k] = the k-th number of the blocks, in the order of declaration
layout(local_size_x = 1) in;
struct Inner { vec3 v; float f; };
layout(std140, set = 0, binding = 0) uniform Std140 { float a[2]; mat2 m; vec3 v; float f; Inner inner[2]; };
layout(std430, set = 0, binding = 1) readonly buffer Std430 { float a[2]; mat2 m; layout(row_major) mat3x2 r; Inner inner; } packed;
layout(scalar, set = 0, binding = 2) readonly buffer Scalar { vec3 a; float f; mat3 m; vec3 tail[]; } tight;
layout(set = 1, binding = 3) writeonly buffer Out { float result[]; };

void main() {
    uint k = 0;
    for (int i = 0; i < 2; i++) result[k++] = a[i];
    for (int i = 0; i < 4; i++) result[k++] = m[i / 2][i % 2];
    for (int i = 0; i < 3; i++) result[k++] = v[i];
    result[k++] = f;
    for (int n = 0; n < 2; n++) {
        for (int i = 0; i < 3; i++) result[k++] = inner[n].v[i];
        result[k++] = inner[n].f;
    }
    for (int i = 0; i < 2; i++) result[k++] = packed.a[i];
    for (int i = 0; i < 4; i++) result[k++] = packed.m[i / 2][i % 2];
    for (int i = 0; i < 6; i++) result[k++] = packed.r[i / 2][i % 2];
    for (int i = 0; i < 3; i++) result[k++] = packed.inner.v[i];
    result[k++] = packed.inner.f;
    for (int i = 0; i < 3; i++) result[k++] = tight.a[i];
    result[k++] = tight.f;
    for (int i = 0; i < 9; i++) result[k++] = tight.m[i / 3][i % 3];
    for (int n = 0; n < tight.tail.length(); n++)
        for (int i = 0; i < 3; i++) result[k++] = tight.tail[n][i];
}
