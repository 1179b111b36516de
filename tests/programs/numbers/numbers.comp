#version 450
// Programs over numbers of all widths, and over vectors and matrices, chosen by a macro of the name.
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 32) in;
#define INDEX const uint i = gl_GlobalInvocationID.x
#define OVER(list) INDEX; if (i >= list.length()) return

#if defined(FACTORIALS)
layout(binding = 0) writeonly buffer Y { uint64_t y[]; };
void main() {
    OVER(y);
    uint64_t product = 1ul, before = 1ul;
    for (uint k = 1; k <= i; k++) {
        before = product;
        product *= uint64_t(k);
    }
    y[i] = product / before;
}
#elif defined(WIDE_HASH)
layout(binding = 0) buffer Y { uint64_t y[]; };
void main() {
    OVER(y);
    // x ^= x >> 33 undoes itself when it is done twice, since 2 * 33 > 64.
    uint64_t x = y[i] * 0x9e3779b97f4a7c15ul;
    x ^= x >> 33;
    x ^= x >> 33;
    y[i] = x * 0xf1de83e19937733dul; // The inverse of the factor modulo 2^64.
}
#elif defined(SIGNED_WIDE)
layout(binding = 0) buffer Y { int64_t y[]; };
void main() {
    OVER(y);
    int64_t x = y[i] - 5l;
    y[i] = (x << 40) / (1l << 40) * 3l + (abs(x) - x) / 2l;
}
#elif defined(DOUBLE_HARMONIC)
layout(binding = 0) buffer Y { double y[]; };
void main() {
    OVER(y);
    // The sum telescopes to n / (n + 1).
    double sum = 0.0lf;
    for (uint k = 1; k <= i; k++) sum += 1.0lf / (double(k) * double(k + 1));
    y[i] = sum;
}
#elif defined(DOUBLE_ROOT)
layout(binding = 0) buffer Y { double y[]; };
void main() {
    OVER(y);
    // Newton's rounds for a root, compared with the instruction.
    double root = y[i] + 1.0lf;
    for (int round = 0; round < 40; round++) root = 0.5lf * (root + y[i] / root);
    y[i] = root * root;
}
#elif defined(HALF_LERP)
layout(binding = 0) readonly buffer X { float16_t x[]; };
layout(binding = 1) buffer Y { float16_t y[]; };
void main() {
    OVER(y);
    y[i] = mix(x[i], y[i], 0.25hf);
}
#elif defined(BYTES_TO_WORDS)
layout(binding = 0) readonly buffer X { uint8_t x[]; };
layout(binding = 1) writeonly buffer Y { uint y[]; };
void main() {
    OVER(y);
    y[i] = uint(x[4 * i]) | uint(x[4 * i + 1]) << 8 | uint(x[4 * i + 2]) << 16 | uint(x[4 * i + 3]) << 24;
}
#elif defined(SATURATED_BYTES)
layout(binding = 0) readonly buffer X { int x[]; };
layout(binding = 1) writeonly buffer Y { int8_t y[]; };
void main() {
    OVER(y);
    y[i] = int8_t(clamp(x[i] - 200, -128, 127));
}
#elif defined(SHORTS)
layout(binding = 0) buffer Y { uint16_t y[]; };
void main() {
    OVER(y);
    y[i] = uint16_t(y[i] * 257us + 1us);
}
#elif defined(MATRIX_INVERSE)
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) writeonly buffer Y { float y[]; };
void main() {
    OVER(x);
    mat3 m = mat3(2.0, x[i], 0.0, 0.0, 3.0, x[i], 1.0, 0.0, 4.0);
    mat3 unit = m * inverse(m);
    for (int c = 0; c < 3; c++) for (int r = 0; r < 3; r++) y[9 * i + 3 * c + r] = unit[c][r];
}
#elif defined(DETERMINANT)
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) writeonly buffer Y { float y[]; };
void main() {
    OVER(y);
    y[i] = determinant(mat4(x[i], 0, 0, 0, 7, 2, 0, 0, 8, 9, 3, 0, 1, 1, 1, 4)) + determinant(mat2(1, 2, 3, 4));
}
#elif defined(QUATERNIONS)
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) writeonly buffer Y { vec2 y[]; };
vec4 times(vec4 p, vec4 q) { return vec4(p.w * q.xyz + q.w * p.xyz + cross(p.xyz, q.xyz), p.w * q.w - dot(p.xyz, q.xyz)); }
void main() {
    OVER(y);
    // Turns (1, 0, 0) around z by the angle x.
    vec4 q = vec4(0, 0, sin(0.5 * x[i]), cos(0.5 * x[i]));
    y[i] = times(times(q, vec4(1, 0, 0, 0)), vec4(-q.xyz, q.w)).xy;
}
#elif defined(PACKING)
layout(binding = 0) buffer Y { uint y[]; };
void main() {
    OVER(y);
    vec4 bytes = unpackUnorm4x8(y[i]);
    vec2 halves = unpackHalf2x16(packHalf2x16(vec2(float(i), -float(i))));
    y[i] = packUnorm4x8(bytes.wzyx) + uint(halves.x + halves.y);
}
#elif defined(BIT_FIELDS)
layout(binding = 0) buffer Y { uint y[]; };
void main() {
    OVER(y);
    uint field = bitfieldExtract(y[i], 3, 5);
    y[i] = bitfieldInsert(0u, field, 8, 5) + uint(bitCount(field)) + (bitfieldReverse(field) >> 27 == field ? 1u << 20 : 0u);
}
#elif defined(LONG_PRODUCT)
layout(binding = 0) buffer Y { uint y[]; };
void main() {
    OVER(y);
    uint high, low, carry;
    umulExtended(y[i] * 0x10001u, 0x10001u, high, low);
    low = uaddCarry(low, 0xffffffffu, carry);
    y[i] = high + carry + low;
}
#elif defined(CONTINUED_FRACTION)
layout(binding = 0) buffer Y { float y[]; };
void main() {
    OVER(y);
    // tan(x) by Lambert's continued fraction.
    float x = y[i], value = 0.0;
    for (int k = 17; k > 1; k -= 2) value = x * x / (float(k) - value);
    y[i] = x / (1.0 - value);
}
#endif
