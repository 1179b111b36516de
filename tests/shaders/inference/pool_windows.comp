#version 450
// The largest or the mean number of each window of an image, with padding; push constants of three types
#define WINDOW_LOOP(y, x)                                            \
    for (int y = 0; y < push.window.y; y++)                          \
        for (int x = 0; x < push.window.x; x++)
layout(local_size_x = 32) in;
layout(push_constant) uniform Push { ivec2 image_size; ivec2 result_size; ivec2 window; ivec2 stride; ivec2 padding; uint is_mean; float outside; } push;
layout(set = 0, binding = 0) readonly buffer Input { float image[]; };
layout(set = 0, binding = 1) writeonly buffer Output { float result[]; };

void main() {
    const int i = int(gl_GlobalInvocationID.x);
    if (i >= push.result_size.x * push.result_size.y) return;
    const ivec2 corner = ivec2(i % push.result_size.x, i / push.result_size.x) * push.stride - push.padding;
    float most = push.outside, sum = 0.0;
    WINDOW_LOOP(y, x) {
        const ivec2 at = corner + ivec2(x, y);
        const bool is_inside = all(greaterThanEqual(at, ivec2(0))) && all(lessThan(at, push.image_size));
        const float value = is_inside ? image[at.y * push.image_size.x + at.x] : push.outside;
        most = max(most, value);
        sum += value;
    }
    result[i] = push.is_mean != 0u ? sum / float(push.window.x * push.window.y) : most;
}
