// Atomic operations whose result does not depend on the order.
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<atomic<u32>>;

var<workgroup> least: atomic<i32>;
var<workgroup> most: atomic<i32>;

@compute @workgroup_size(64) fn gathers(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&x) { return; }
    let a = x[id.x];
    atomicAdd(&y[0], a);
    atomicSub(&y[1], a);
    atomicMax(&y[2], a);
    atomicMin(&y[3], ~a);
    atomicOr(&y[4], a & 0x0f0f0f0fu);
    atomicXor(&y[5], a);
    atomicAnd(&y[6], a | 7u);
    atomicMax(&y[7], 0xffffffffu - atomicLoad(&y[3]));
}

@compute @workgroup_size(64) fn multiplies(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&x) { return; }
    let factor = x[id.x] | 1u;
    var old = atomicLoad(&y[0]);
    loop {
        // Zero stands for one, so that the array may start as zeros.
        let result = atomicCompareExchangeWeak(&y[0], old, select(old, 1u, old == 0u) * factor);
        if result.exchanged { break; }
        old = result.old_value;
    }
}

@compute @workgroup_size(64) fn tickets(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&x) { return; }
    let ticket = atomicAdd(&y[0], 1u);
    atomicAdd(&y[1u + ticket], 1u);
    // One invocation finds zero, the others find five.
    let before = atomicExchange(&y[arrayLength(&x) + 1u], 5u);
    atomicAdd(&y[arrayLength(&x) + 2u], before);
}

@compute @workgroup_size(64) fn extremes(
    @builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) l: u32,
) {
    if l == 0u {
        atomicStore(&least, 2147483647);
        atomicStore(&most, -2147483647 - 1);
    }
    workgroupBarrier();
    atomicMin(&least, bitcast<i32>(x[id.x]));
    atomicMax(&most, bitcast<i32>(x[id.x]));
    workgroupBarrier();
    atomicStore(&y[id.x], bitcast<u32>(select(atomicLoad(&least), atomicLoad(&most), (l & 1u) == 1u)));
}
