// hits = hits + number of random points of the unit square that lie within the unit circle around its corner
//
// pi is about 4 * hits / points. Each invocation draws DRAWS points, so that `invocations` of them draw invocations *
// DRAWS. A generator of random numbers needs a state for each invocation; here the number of the point is its state: a
// hash turns neighbouring numbers into numbers without a pattern. A workgroup counts in its own memory first, and adds
// its count to the result with one atomic operation. Dispatch covering (invocations), with hits = [0].

struct Params {
    invocations: u32,
    seed: u32,
}

override DRAWS: u32 = 16;

@group(0) @binding(0) var<storage, read_write> hits: array<atomic<u32>>;
var<immediate> params: Params;

var<workgroup> hits_of_group: atomic<u32>; // Workgroup memory starts as zeros.

// The hash PCG-RXS-M-XS (O'Neill 2014): two multiplications and shifts by amounts that depend on the value.
fn hash(x: u32) -> u32 {
    let state = x * 747796405u + 2891336453u;
    let word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
    return (word >> 22u) ^ word;
}

@compute @workgroup_size(64)
fn monte_carlo_pi(@builtin(global_invocation_id) at: vec3<u32>, @builtin(local_invocation_index) rank: u32) {
    var mine = 0u;
    for (var draw = 0u; draw < DRAWS; draw++) {
        // Both coordinates are integers below 2^15, so that the sum of their squares fits and is exact.
        let random = hash(hash(at.x * DRAWS + draw) ^ params.seed);
        let x = random & 0x7fffu;
        let y = random >> 17u;
        mine += select(0u, 1u, x * x + y * y < 0x40000000u);
    }
    if at.x < params.invocations {
        atomicAdd(&hits_of_group, mine);
    }
    workgroupBarrier();
    if rank == 0u {
        atomicAdd(&hits[0], atomicLoad(&hits_of_group));
    }
}
