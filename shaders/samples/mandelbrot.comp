// image[y, x] = colour(n), where n counts the steps z <- z * z + c, from z = 0, that keep |z| <= 2, as in mandelbrot.wgsl
//
// The function of the colour is in a file of its own, and MAX_ITER is a macro: `--define MAX_ITER=128` sets another.
// Dispatch one invocation per pixel: covering (width, height). centre = (-0.7, 0) and scale = 1.25 show the whole set.

#version 450
#extension GL_GOOGLE_include_directive : require

#include "colour.glsl"

#ifndef MAX_ITER
#define MAX_ITER 64
#endif

layout(local_size_x = 16, local_size_y = 16) in;

layout(std430, binding = 0) writeonly buffer Image { vec4 image[]; };
layout(push_constant) uniform Params {
    uint width;
    uint height;
    vec2 centre;
    float scale;
};

void main() {
    uvec2 at = gl_GlobalInvocationID.xy;
    if (at.x >= width || at.y >= height) {
        return;
    }
    // From pixels to the plane: the middle of the image is zero, and its upper edge is +1.
    vec2 size = vec2(width, height);
    vec2 place = (2.0 * vec2(at) + 1.0 - size) / size.y;
    vec2 c = centre + scale * vec2(place.x, -place.y);

    vec2 z = vec2(0.0);
    uint n = 0u;
    for (uint i = 0u; i < MAX_ITER; i++) {
        z = vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c;
        if (dot(z, z) > 4.0) {
            break;
        }
        n++;
    }
    image[at.y * width + at.x] = vec4(n < MAX_ITER ? colour(n) : vec3(0.0), 1.0);
}
