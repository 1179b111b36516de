// Kernels without a fault; a macro chooses the kernel. Some are close to one. `x` holds 0, 1, …, 63; `y` 64 zeros.
#version 450
#extension GL_KHR_shader_subgroup_basic : enable
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer X { int x[]; };
layout(std430, binding = 1) buffer Y { int y[]; };

struct Item { int sum; ivec3 wide; };
shared int tile[66];
shared int other[64];
shared int square[8][8];
shared uint counts[8];
shared Item items[64];
shared bool flags[64];
shared bool is_last;

int twice(int v) { return v * 2; }
void change(inout int cells[4], uint i) { cells[i] += 1; }

void main() {
    uint l = gl_LocalInvocationIndex;
    uint id = gl_GlobalInvocationID.x;
    uint w = gl_WorkGroupID.x;
    int v = x[l];
#if defined(GUARDED)
    if (id + 1 < y.length()) y[id] = x[id + 1];
#elif defined(RETURNS_EARLY)
    if (id >= y.length()) return;
    y[id] = x[id] + 1;
#elif defined(SHORT_CIRCUIT)
    if (l == 0 || x[l - 1] == 0) y[l] = 1;
    if (l + 1 < 64 && x[l + 1] > 3) y[l] += 1;
#elif defined(CHOSEN)
    y[l] = l < 63 ? x[l + 1] : 7;
#elif defined(DIVIDES)
    y[l] = (v - 32) / -1 + (v != 0 ? 100 / v + 100 % v : 3);
#elif defined(SHIFTS)
    y[l] = (v << (v & 31)) + (v >> 31) + int(uint(v) >> (v / 2));
#elif defined(REDUCTION)
    tile[l] = v;
    for (uint s = 32; s > 0; s >>= 1) {
        barrier();
        if (l < s) tile[l] += tile[l + s];
    }
    if (l == 0) y[0] = tile[0];
#elif defined(SCAN)
    tile[l] = v;
    barrier();
    for (uint s = 1; s < 64; s <<= 1) {
        int sum = tile[l];
        if (l >= s) sum += tile[l - s];
        barrier();
        tile[l] = sum;
        barrier();
    }
    y[l] = tile[l];
#elif defined(TWO_BUFFERS)
    tile[l] = v;
    for (uint r = 0; r < 6; r++) {
        barrier();
        if (r % 2 == 0) other[l] = tile[(l + 1) % 64]; else tile[l] = other[(l + 1) % 64];
    }
    barrier();
    y[l] = tile[63 - l];
#elif defined(TRANSPOSED)
    square[l / 8][l % 8] = v;
    barrier();
    y[l] = square[l % 8][l / 8];
#elif defined(HISTOGRAM)
    if (l < 8) counts[l] = 0;
    barrier();
    atomicAdd(counts[v % 8], 1);
    barrier();
    if (l < 8) y[l] = int(counts[l]);
#elif defined(BROADCAST)
    if (l == 17) tile[0] = v;
    barrier();
    y[l] = tile[0];
    barrier();
    if (l == 3) tile[0] = v;
    barrier();
    y[l] += tile[0];
#elif defined(STRUCTS)
    items[l].sum = v;
    items[l].wide = ivec3(v);
    barrier();
    Item item = items[63 - l];
    y[l] = item.sum + item.wide.z;
#elif defined(COMPONENTS)
    items[l].wide[0] = v;
    items[l].wide[v % 1 + 1] = v;
    items[l].wide.z = 1;
    barrier();
    ivec3 wide = items[l ^ 5].wide;
    y[l] = wide.x + wide[l % 3] + wide.z;
#elif defined(FLAGS)
    flags[l] = v > 10;
    barrier();
    y[l] = flags[l ^ 1] && flags[l ^ 2] ? 1 : 2;
#elif defined(LOCALS)
    int cells[4] = int[](1, 2, 3, 4);
    change(cells, l % 4);
    y[l] = twice(cells[l % 4]);
#elif defined(STACK)
    int stack[8];
    int depth = 0;
    for (int n = v; n > 0; n /= 2) stack[depth++] = n % 2;
    while (depth > 0) y[l] = y[l] * 10 + stack[--depth];
#elif defined(UNIFORM_BRANCH)
    tile[l] = v;
    if (w % 2 == 1) {
        barrier();
        if (w == 1) y[l] = tile[63 - l];
    }
    barrier();
#elif defined(NESTED_LOOPS)
    int sum = 0;
    for (uint i = 0; i < 3; i++) {
        tile[l] = v;
        barrier();
        for (uint j = 0; j < l; j++) {
            if (tile[j] % 2 == 0) continue;
            if (sum > 1000) break;
            sum += tile[j];
        }
        barrier();
    }
    y[l] = sum;
#elif defined(DO_WHILE)
    int n = v;
    do { n += 3; } while (n < 50);
    y[l] = n;
#elif defined(RETURNS_IN_A_LOOP)
    for (int i = 0; ; i++) {
        if (i * i >= v) { y[l] = i; return; }
    }
#elif defined(SWITCHES)
    switch (v % 3) {
    case 0: tile[l] = v; break;
    case 1: tile[l] = v / 3; break;
    default: tile[l] = -1;
    }
    barrier();
    y[l] = tile[l ^ 7];
#elif defined(HALO)
    tile[l + 1] = v;
    if (l == 0) tile[0] = 0;
    if (l == 63) tile[65] = 0;
    barrier();
    if (w == 0) y[l] = tile[l] + tile[l + 1] + tile[l + 2];
#elif defined(ONE_ACCUMULATES)
    if (id == 5) for (int i = 0; i < 64; i++) y[0] += x[i];
#elif defined(EXCHANGED)
    y[l] = v;
    memoryBarrierBuffer();
    barrier();
    int that = y[63 - l];
    barrier();
    memoryBarrierBuffer();
    y[l] = that * 2;
#elif defined(ATOMIC_HITS)
    atomicAdd(y[l % 3], 1);
    atomicMax(y[3], int(l));
#elif defined(GROUPS_APART)
    for (uint i = l; i < 16; i += 64) y[w * 16 + i] = int(w) + 1;
    memoryBarrierBuffer();
    barrier();
    if (l == 0) y[w * 16] += y[w * 16 + 15];
#elif defined(SUBGROUP)
    uint first = gl_SubgroupID * gl_SubgroupSize;
    uint lane = gl_SubgroupInvocationID;
    tile[l] = v;
    subgroupBarrier();
    y[l] = tile[first + (lane + 1) % gl_SubgroupSize];
    subgroupBarrier();
    tile[l] = 3;
#elif defined(LAST_GROUP)
    if (l == 0) {
        y[w + 8] = int(w) + 10;
        memoryBarrierBuffer();
        is_last = atomicAdd(y[63], 1) == 3;
    }
    barrier();
    memoryBarrierBuffer();
    if (is_last && l == 0) y[0] = y[8] + y[9] + y[10] + y[11];
#elif defined(MANY_ROUNDS)
    int n = 0;
    for (int i = 0; i < 20000; i++) n = (n * 5 + x[i % 64]) & 0xffff;
    y[l] = n;
#elif defined(MANY_NOTES)
    y[l] = 0;
    for (int i = 0; i < 9000; i++) y[l] += x[i % 64];
#elif defined(OWN_ELEMENTS)
    tile[l] = v;
    tile[l] += 1;
    y[l] = tile[l];
#endif
}
