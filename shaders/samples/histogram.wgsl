// bins[b] = bins[b] + number of i with b <= 256 * x[i] < b + 1
//
// A histogram of numbers between 0 and 1, such as a grey picture, in 256 bins; numbers outside count in the first and
// the last one. Many invocations add to the same bin, so additions are atomic. Each workgroup has bins of its own in
// its memory, where that is fast, and adds them to the result once. Dispatch covering (length of x) or fewer, with bins
// = 0.

const BINS = 256u; // BINS is also the number of invocations of a workgroup: each adds one bin to the result.

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> bins: array<atomic<u32>, BINS>;

var<workgroup> bins_of_group: array<atomic<u32>, BINS>; // Workgroup memory starts as zeros.

@compute @workgroup_size(BINS)
fn histogram(
    @builtin(global_invocation_id) at: vec3<u32>,
    @builtin(local_invocation_index) rank: u32,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    for (var i = at.x; i < arrayLength(&x); i += BINS * groups.x) {
        let bin = clamp(256.0 * x[i], 0.0, 255.0);
        atomicAdd(&bins_of_group[u32(bin)], 1u);
    }
    workgroupBarrier();
    atomicAdd(&bins[rank], atomicLoad(&bins_of_group[rank]));
}
