// sorted[places[d, g] + r] = keys[i], where d is the digit of keys[i], g its workgroup, and r counts the keys of the
// same digit before it in the workgroup
//
// The last of the three launches that `radix_count` describes; `places` is the scan of its counts. Keys of the same
// digit keep their order, so that sorting by the next four bits does not undo this one. Dispatch covering (number of
// keys).

const GROUP = 256u;
const NONE = 16u; // The digit of invocations without a key.

@group(0) @binding(0) var<storage, read> keys: array<u32>;
@group(0) @binding(1) var<storage, read> places: array<u32>;
@group(0) @binding(2) var<storage, read_write> sorted: array<u32>;
var<immediate> shift: u32;

var<workgroup> digits: array<u32, GROUP>;

@compute @workgroup_size(GROUP)
fn radix_scatter(
    @builtin(global_invocation_id) at: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) rank: u32,
) {
    let has_key = at.x < arrayLength(&keys);
    var digit = NONE;
    if has_key {
        digit = (keys[at.x] >> shift) & 15u;
    }
    digits[rank] = digit;
    workgroupBarrier();
    if !has_key {
        return;
    }
    // Plain counting: each invocation looks at all digits before its own. Faster sorts scan the digits bit by bit.
    var equal_before = 0u;
    for (var i = 0u; i < rank; i++) {
        equal_before += select(0u, 1u, digits[i] == digit);
    }
    let n_groups = arrayLength(&places) / 16u;
    sorted[places[digit * n_groups + group.x] + equal_before] = keys[at.x];
}
