#version 450
// Programs in GLSL, chosen by a macro of the name. The ones of subgroups give the same for each size of a subgroup.
#if defined(SUBGROUP_SUM) || defined(SUBGROUP_PLACE) || defined(SUBGROUP_VOTE) || defined(SUBGROUP_EXCHANGE) || defined(SUBGROUP_SCAN)
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
layout(local_size_x_id = 0, local_size_x = 64) in;
layout(constant_id = 1) const uint STRIDE = 1;
layout(binding = 0) readonly buffer X { uint x[]; };
layout(binding = 1) buffer Y { uint y[]; };
shared uint a[256];

// The words of two sorted halves: the even ones, then the odd ones.
uint halved(uint k) {
    uint n = gl_WorkGroupSize.x;
    return k < n / 2 ? 2 * x[k] : 2 * x[k] - n + 1;
}

void main() {
    uint i = gl_LocalInvocationIndex, n = gl_WorkGroupSize.x, at = gl_GlobalInvocationID.x;
#if defined(SUBGROUP_SUM)
    uint sum = subgroupAdd(x[at]);
    if (subgroupElect()) atomicAdd(y[0], sum);
#elif defined(SUBGROUP_PLACE)
    // Keeps the even words, each subgroup at a place that it takes for itself.
    bool is_kept = x[at] % 2 == 0;
    uvec4 mask = subgroupBallot(is_kept);
    uint first = 0;
    if (subgroupElect()) first = atomicAdd(y[0], subgroupBallotBitCount(mask));
    first = subgroupBroadcastFirst(first);
    if (is_kept) y[1 + x[at] / 2] = first + subgroupBallotExclusiveBitCount(mask) < x.length() ? x[at] : 0;
#elif defined(SUBGROUP_VOTE)
    y[at] = uint(subgroupAll(x[at] < 1000)) + 2 * uint(subgroupAny(x[at] > 1000)) + 4 * uint(subgroupAllEqual(n));
#elif defined(SUBGROUP_EXCHANGE)
    y[at] = subgroupShuffleXor(x[at], 1) + 1000 * subgroupShuffleXor(x[at], 2);
#elif defined(SUBGROUP_SCAN)
    y[at] = subgroupInclusiveAdd(1u) - gl_SubgroupInvocationID + x[at];
#elif defined(REVERSE)
    a[i] = x[at];
    barrier();
    y[at] = a[n - 1 - i];
#elif defined(STRIDED)
    // A loop over the whole grid, with a stride of the specialization constant.
    for (uint k = at; k < x.length(); k += STRIDE) atomicAdd(y[k % 3], x[k]);
#elif defined(MERGE)
    // Each invocation finds the place of its word in two sorted halves.
    uint half_size = n / 2, word = halved(i);
    bool is_left = i < half_size;
    uint low = is_left ? half_size : 0, high = is_left ? n : half_size, begin = low;
    while (low < high) {
        uint middle = (low + high) / 2;
        if (halved(middle) < word) low = middle + 1; else high = middle;
    }
    y[(is_left ? i : i - half_size) + low - begin] = word;
#elif defined(LAST_GROUP)
    // The workgroup that ends last adds what all have written.
    if (i == 0) a[0] = 0;
    barrier();
    atomicAdd(a[0], x[at]);
    barrier();
    if (i == 0) {
        y[1 + gl_WorkGroupID.x] = a[0];
        memoryBarrierBuffer();
        if (atomicAdd(y[0], 1) == gl_NumWorkGroups.x - 1) atomicExchange(y[0], 100);
    }
#elif defined(POINTER_JUMPING)
    // Pointer jumping: the distance of each of n nodes to the end of a list, whose links have the lengths x.
    uint next = min(i + 1, n - 1), distance = i == n - 1 ? 0 : x[at];
    for (uint round = 1; round < n; round *= 2) {
        a[i] = next << 16 | distance;
        barrier();
        uint other = a[next];
        distance += other & 0xffff;
        next = other >> 16;
        barrier();
    }
    y[at] = distance;
#endif
}
