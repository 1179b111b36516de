// turned[p] = picture at c + R (p - c), where c = the middle of the picture and R turns by `angle`, as in rotate.wgsl
//
// The picture and its sampler are one parameter. Dispatch covering (width, height).

#version 450

layout(local_size_x = 8, local_size_y = 8) in;

layout(binding = 0) uniform sampler2D picture;
layout(binding = 1, rgba8) uniform writeonly image2D turned;

layout(push_constant) uniform Push { float angle; };

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    vec2 size = vec2(textureSize(picture, 0));
    vec2 middle = 0.5 * size;
    vec2 pixel = vec2(at) + 0.5;
    vec2 source = middle + mat2(cos(angle), -sin(angle), sin(angle), cos(angle)) * (pixel - middle);
    imageStore(turned, at, texture(picture, source / size)); // Outside of it nothing is stored.
}
