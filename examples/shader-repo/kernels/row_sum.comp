#version 450
// sums[row] = sum of the `columns` numbers of a row, by one workgroup for each row
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(set = 0, binding = 1) writeonly buffer Sums { uint sums[]; };
layout(push_constant) uniform Numbers { uint columns; };

shared uint part[64];

void main() {
    uint row = gl_WorkGroupID.x, rank = gl_LocalInvocationIndex;
    uint mine = 0;
    for (uint column = rank; column < columns; column += 64) {
        mine += x[row * columns + column];
    }
    part[rank] = mine;
    barrier();
    for (uint half_size = 32; half_size > 0; half_size /= 2) {
        if (rank < half_size) {
            part[rank] += part[rank + half_size];
        }
        barrier();
    }
    if (rank == 0) {
        sums[row] = part[0];
    }
}
