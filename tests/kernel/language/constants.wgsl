// Constants: of the module, and constants that are set when the kernel is built.
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;

fn mix(h: u32, v: u32) -> u32 {
    return (((h << 5u) | (h >> 27u)) ^ v) * 0x9e3779b1u;
}

const SIZES = array(3u, 5u, 7u);
const SCALE = 2.5f * 4.0;
const MASK: u32 = (1u << 5u) - 1u;

override FACTOR: u32 = 3u;
override DOUBLE: u32 = FACTOR * 2u + SIZES[1];
override OFFSET: i32 = -4;
override IS_ON: bool = false;
override HALF: f32 = 0.5;
@id(7) override NUMBERED: u32 = 11u;
override GROUP: u32 = 16u;

var<workgroup> tile: array<u32, GROUP>;

@compute @workgroup_size(64) fn of_the_module(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    y[id.x] = (a & MASK) * SIZES[a % 3u] + u32(SCALE);
}

@compute @workgroup_size(64) fn defaults(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    let h = a * FACTOR + DOUBLE + bitcast<u32>(OFFSET);
    y[id.x] = select(h, ~h, IS_ON) + u32(HALF * 8.0) + NUMBERED;
}

@compute @workgroup_size(64) fn given(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&y) { return; }
    let a = x[id.x];
    let h = a * FACTOR + DOUBLE + bitcast<u32>(OFFSET);
    y[id.x] = select(h, ~h, IS_ON) + u32(HALF * 8.0) + NUMBERED;
}

@compute @workgroup_size(GROUP) fn sized(
    @builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) l: u32,
) {
    tile[l] = x[id.x];
    workgroupBarrier();
    y[id.x] = tile[GROUP - 1u - l] + GROUP;
}
