#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
// d = a b + c for matrices of 16 by 16 that are stored by columns, each reached by its address.
layout(local_size_x = 32) in;
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Halves { float16_t x[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Floats { float x[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) writeonly buffer Result { float x[]; };
layout(push_constant) uniform Push { Halves a; Halves b; Floats c; Result d; };

void main() {
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> left;
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> right;
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sum;
    coopMatLoad(left, a.x, 0, 16, gl_CooperativeMatrixLayoutColumnMajor);
    coopMatLoad(right, b.x, 0, 16, gl_CooperativeMatrixLayoutColumnMajor);
    coopMatLoad(sum, c.x, 0, 16, gl_CooperativeMatrixLayoutColumnMajor);
    sum = coopMatMulAdd(left, right, sum);
    coopMatStore(sum, d.x, 0, 16, gl_CooperativeMatrixLayoutColumnMajor);
}
