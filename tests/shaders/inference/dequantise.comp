#version 450
// Blocks of 32 numbers of 4 bits, with a scale and an offset in halves: result = scale * nibble + offset
layout(local_size_x = 32) in;
struct Block {
    uint scale_and_offset;
    uint nibbles[4];
};
layout(set = 0, binding = 0, std430) readonly buffer Input { Block blocks[]; };
layout(set = 0, binding = 1) writeonly buffer Output { float result[]; };

void main() {
    const uint block = gl_WorkGroupID.x, lane = gl_LocalInvocationID.x;
    if (block >= blocks.length()) return;
    const vec2 affine = unpackHalf2x16(blocks[block].scale_and_offset);
    const uint nibble = bitfieldExtract(blocks[block].nibbles[lane / 8], int(lane % 8 * 4), 4);
    result[block * 32 + lane] = affine.x * float(nibble) + affine.y;
}
