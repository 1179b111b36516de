// WGSL as it was before `const`: `let` in a module and attributes in double brackets. It is refused.
let LANES: u32 = 64u;

[[block]]
struct Numbers {
    data: array<u32>;
};

[[group(0), binding(0)]] var<storage, read_write> numbers: Numbers;

[[stage(compute), workgroup_size(LANES)]]
fn main([[builtin(global_invocation_id)]] id: vec3<u32>) {
    numbers.data[id.x] = numbers.data[id.x] * 2u;
}
