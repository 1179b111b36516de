// Kernels with one division that has no result. `x` holds 0, 1, …, 63; `y` 64 zeros.
@group(0) @binding(0) var<storage, read_write> x: array<i32>;
@group(0) @binding(1) var<storage, read_write> y: array<i32>;

@compute @workgroup_size(64) fn by_zero(@builtin(global_invocation_id) id: vec3<u32>) {
    y[id.x] = 100 / x[id.x]; //~ by_zero
}

@compute @workgroup_size(64) fn remainder_by_zero(@builtin(global_invocation_id) id: vec3<u32>) {
    y[id.x] = i32(7u % u32(x[id.x])); //~ remainder_by_zero
}

@compute @workgroup_size(64) fn overflow(@builtin(global_invocation_id) id: vec3<u32>) {
    let least = x[id.x] + i32(-2147483648);
    y[id.x] = least / (x[id.x] * 2 - 1); //~ overflow
}

@compute @workgroup_size(64) fn by_zero_component(@builtin(global_invocation_id) id: vec3<u32>) {
    let v = vec2<i32>(17, -18) / vec2<i32>(1, x[id.x] - 40); //~ by_zero_component
    y[id.x] = v.x + v.y;
}

@compute @workgroup_size(64) fn in_place(@builtin(global_invocation_id) id: vec3<u32>) {
    y[id.x] %= x[id.x] - 5; //~ in_place
}
