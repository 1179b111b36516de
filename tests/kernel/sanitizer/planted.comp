// Kernels with one planted fault each; a macro chooses the kernel. `x` holds 0, 1, …, 63; `y` 64 zeros.
#version 450
#extension GL_KHR_shader_subgroup_basic : enable
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : enable
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer X { int x[]; };
layout(std430, binding = 1) buffer Y { int y[]; };

struct Item { int sum; int values[3]; };
shared int tile[64];
shared ivec4 vectors[64];
shared Item items[16];
shared int total;

int at(int i) {
    return x[i]; //~ IN_FUNCTION
}

void fill() {
    tile[gl_LocalInvocationIndex] = 0;
    barrier();
}

void main() {
    uint l = gl_LocalInvocationIndex;
    uint id = gl_GlobalInvocationID.x;
    int v = x[l];
#if defined(PAST_END)
    y[l] = x[l + 1]; //~ PAST_END
#elif defined(BEFORE_START)
    y[l] = x[v - 1]; //~ BEFORE_START
#elif defined(WRITE_PAST_END)
    y[l + 3] = v; //~ WRITE_PAST_END
#elif defined(SHARED_ARRAY)
    fill();
    y[l] = tile[l * 2]; //~ SHARED_ARRAY
#elif defined(LOCAL_ARRAY)
    int own[8] = int[](0, 1, 2, 3, 4, 5, 6, 7);
    y[l] = own[v]; //~ LOCAL_ARRAY
#elif defined(COMPONENT)
    ivec4 four = ivec4(v);
    y[l] = four[v % 5]; //~ COMPONENT
#elif defined(COLUMN)
    mat3 m = mat3(1.0);
    y[l] = int(m[v % 4].x); //~ COLUMN
#elif defined(MEMBER)
    if (l < 16) items[l].values[l % 4] = 1; //~ MEMBER
#elif defined(FIXED_INDEX)
    y[l] = x[64]; //~ FIXED_INDEX
#elif defined(IN_FUNCTION)
    y[l] = at(v * 2);
#elif defined(LOOP_TOO_LONG)
    for (int i = 0; i <= x.length(); i++)
        y[l] += x[i]; //~ LOOP_TOO_LONG
#elif defined(GUARD_TOO_LATE)
    if (x[l + 1] > 0 && l < 63) y[l] = 1; //~ GUARD_TOO_LATE
#elif defined(ATOMIC_INDEX)
    atomicAdd(y[v * 2], 1); //~ ATOMIC_INDEX
#elif defined(BY_ZERO)
    y[l] = 100 / v; //~ BY_ZERO
#elif defined(REMAINDER)
    y[l] = int(7u % uint(v)); //~ REMAINDER
#elif defined(OVERFLOW)
    y[l] = (v - 2147483647 - 1) / (v * 2 - 1); //~ OVERFLOW
#elif defined(VECTOR)
    ivec2 q = ivec2(17, -18) / ivec2(1, v - 40); //~ VECTOR
    y[l] = q.x + q.y;
#elif defined(IN_PLACE)
    y[l] %= v - 5; //~ IN_PLACE
#elif defined(WIDE)
    y[l] = int(int64_t(v) / int64_t(v - 9)); //~ WIDE
#elif defined(SHIFT_LEFT)
    y[l] = 1 << v; //~ SHIFT_LEFT
#elif defined(SHIFT_RIGHT)
    y[l] = int(0xffffu >> uint(v)); //~ SHIFT_RIGHT
#elif defined(SHIFT_NEGATIVE)
    y[l] = v >> (v - 31); //~ SHIFT_NEGATIVE
#elif defined(ALL_WRITE)
    total = v; //~ ALL_WRITE
#elif defined(NEIGHBOUR)
    fill();
    tile[l] = tile[63 - l] + v; //~ NEIGHBOUR
#elif defined(REDUCTION)
    tile[l] = v;
    barrier();
    for (uint s = 32; s > 0; s >>= 1)
        if (l < s) tile[l] += tile[l + s]; //~ REDUCTION
    if (l == 0) y[0] = tile[0];
#elif defined(SECOND_ROUND)
    int sum = 0;
    for (int r = 0; r < 3; r++) {
        tile[l] = v + r; //~ SECOND_ROUND
        barrier();
        sum += tile[(l + 63) & 63];
    }
    y[l] = sum;
#elif defined(MEMORY_BARRIER_ALONE)
    fill();
    tile[l] = v; memoryBarrierShared(); y[l] = tile[l ^ 32]; //~ MEMORY_BARRIER_ALONE
#elif defined(WHOLE_STRUCT)
    if (l < 16) items[l / 2] = Item(v, int[](1, 2, 3)); //~ WHOLE_STRUCT
#elif defined(ACCUMULATE)
    y[0] = y[0] + v; //~ ACCUMULATE
#elif defined(EXCHANGED)
    y[l] = v;
    barrier();
    x[l] = y[l ^ 32]; //~ EXCHANGED
#elif defined(SAME_VALUE)
    y[3] = 7; //~ SAME_VALUE
#elif defined(IN_A_BRANCH)
    if (v < 20) barrier(); //~ IN_A_BRANCH
#elif defined(AFTER_RETURN)
    if (v >= 50) return;
    barrier(); //~ AFTER_RETURN
    y[l] = 1;
#elif defined(IN_A_LOOP)
    for (int i = 0; i <= v / 16; i++)
        barrier(); //~ IN_A_LOOP
    y[l] = 1;
#elif defined(HALF_FILLED)
    if (l < 32) tile[l] = v;
    barrier();
    y[l] = tile[l]; //~ HALF_FILLED
#elif defined(ONE_COMPONENT)
    vectors[l].x = v;
    y[l] = vectors[l].y; //~ ONE_COMPONENT
#elif defined(WHILE)
    int n = v;
    while (n != 1000) n += n == 998 ? 3 : 1; //~ WHILE
    y[l] = n;
#elif defined(FOR)
    for (uint i = 10; i >= 0; i--) y[l] = int(i); //~ FOR
#elif defined(TWO_WRITERS)
    if (l == 0) y[5] = int(gl_WorkGroupID.x); //~ TWO_WRITERS
#elif defined(NEIGHBOURING_GROUP)
    if (l == 0) y[gl_WorkGroupID.x] = y[gl_WorkGroupID.x ^ 1]; //~ NEIGHBOURING_GROUP
#endif
}
