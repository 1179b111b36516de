#version 450
// c = a b, row-major; a TILE × TILE tile of each in shared memory, the tile's side a specialisation constant
layout(constant_id = 0) const uint TILE = 8;
layout(local_size_x_id = 0, local_size_y_id = 0) in;
layout(push_constant) uniform Sizes { uvec3 size; } sizes; // Rows of c, columns of c, terms of each sum.
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) readonly buffer B { float b[]; };
layout(set = 0, binding = 2) writeonly buffer C { float c[]; };
shared float tile_a[TILE][TILE + 1];
shared float tile_b[TILE][TILE + 1];

void main() {
    const uvec2 lane = gl_LocalInvocationID.xy, at = gl_GlobalInvocationID.xy;
    float sum = 0.0;
    for (uint start = 0; start < sizes.size.z; start += TILE) {
        const uint k_a = start + lane.x, k_b = start + lane.y;
        tile_a[lane.y][lane.x] = at.y < sizes.size.x && k_a < sizes.size.z ? a[at.y * sizes.size.z + k_a] : 0.0;
        tile_b[lane.y][lane.x] = at.x < sizes.size.y && k_b < sizes.size.z ? b[k_b * sizes.size.y + at.x] : 0.0;
        barrier();
        for (uint k = 0; k < TILE; k++) sum += tile_a[lane.y][k] * tile_b[k][lane.x];
        barrier();
    }
    if (at.y < sizes.size.x && at.x < sizes.size.y) c[at.y * sizes.size.y + at.x] = sum;
}
