// target[i] = source[i], one unit per invocation
//
// The text before this file defines `alias Unit` and the workgroup size `GROUP`. Both buffers are bound from the first unit to
// the last.

@group(0) @binding(0) var<storage, read> source: array<Unit>;
@group(0) @binding(1) var<storage, read_write> target_: array<Unit>;

@compute @workgroup_size(GROUP)
fn copy_run(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&target_) {
        target_[id.x] = source[id.x];
    }
}
