#version 450
// Images of GLSL, chosen by a macro of the name.
layout(local_size_x = 8, local_size_y = 8) in;
#define AT ivec2(gl_GlobalInvocationID.xy)

#if defined(SAMPLED)
layout(binding = 0) uniform sampler2D image;
layout(binding = 1) writeonly buffer Y { float y[]; };
void main() {
    ivec2 size = textureSize(image, 0);
    if (all(lessThan(AT, size))) y[AT.y * size.x + AT.x] = textureLod(image, (vec2(AT) + 0.5) / vec2(size), 0.0).x;
}
#elif defined(WRAPPED)
layout(binding = 0) uniform texture2D image;
layout(binding = 1) uniform sampler how;
layout(binding = 2) writeonly buffer Y { float y[]; };
void main() {
    // Three times the image, which repeats.
    ivec2 size = textureSize(sampler2D(image, how), 0);
    if (AT.x < 3 * size.x && AT.y < size.y)
        y[AT.y * 3 * size.x + AT.x] = textureLod(sampler2D(image, how), (vec2(AT) + 0.5) / vec2(size), 0.0).x;
}
#elif defined(GATHERED)
layout(binding = 0) uniform sampler2D image;
layout(binding = 1) writeonly buffer Y { float y[]; };
void main() {
    ivec2 size = textureSize(image, 0);
    if (any(greaterThanEqual(AT, size - 1))) return;
    vec4 four = textureGather(image, vec2(AT + 1) / vec2(size));
    y[AT.y * (size.x - 1) + AT.x] = four.w + 10 * four.z + 100 * four.x + 1000 * four.y;
}
#elif defined(IN_PLACE)
layout(binding = 0, r32f) uniform image2D image;
void main() {
    if (all(lessThan(AT, imageSize(image)))) imageStore(image, AT, vec4(2.0 * imageLoad(image, AT).x - float(AT.y)));
}
#elif defined(IMAGE_ATOMICS)
layout(binding = 0, r32ui) uniform uimage2D counts;
void main() { imageAtomicAdd(counts, ivec2(AT.x % 4, AT.y % 2), 1u); }
#elif defined(TRANSPOSED_BOX)
layout(binding = 0, r32i) readonly uniform iimage3D from;
layout(binding = 1, r32i) writeonly uniform iimage3D to;
void main() {
    ivec3 size = imageSize(from);
    for (int z = 0; z < size.z; z++)
        if (all(lessThan(AT, size.xy))) imageStore(to, ivec3(z, AT.y, AT.x), imageLoad(from, ivec3(AT, z)));
}
#elif defined(TEXEL_BUFFERS)
layout(binding = 0) uniform usamplerBuffer from;
layout(binding = 1, r32ui) writeonly uniform uimageBuffer to;
void main() {
    int i = AT.y * 8 + AT.x;
    if (AT.x < 8 && i < textureSize(from)) imageStore(to, textureSize(from) - 1 - i, texelFetch(from, i));
}
#elif defined(LAYER_COPY)
layout(binding = 0, rgba16f) readonly uniform image2DArray from;
layout(binding = 1, rgba16f) writeonly uniform image2DArray to;
void main() {
    ivec3 size = imageSize(from);
    if (any(greaterThanEqual(AT, size.xy))) return;
    for (int k = 0; k < size.z; k++) imageStore(to, ivec3(AT, size.z - 1 - k), imageLoad(from, ivec3(AT, k)).wzyx);
}
#elif defined(SIGNED_BYTES)
layout(binding = 0, rgba8i) readonly uniform iimage2D from;
layout(binding = 1) writeonly buffer Y { int y[]; };
void main() {
    ivec2 size = imageSize(from);
    if (all(lessThan(AT, size))) {
        ivec4 t = imageLoad(from, AT);
        y[AT.y * size.x + AT.x] = t.x + 10 * t.y + 100 * t.z + 1000 * t.w;
    }
}
#elif defined(CLAMPED_WRITES)
layout(binding = 0, r32f) writeonly uniform image2D image;
void main() { imageStore(image, AT - 2, vec4(5.0)); } // Some are outside, and are dropped.
#endif
