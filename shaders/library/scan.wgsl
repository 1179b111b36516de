// out[row, i] = source[row, 0] op … op source[row, i]
//
// Rows of `n` numbers are cut into blocks of BLOCK. `scan_blocks` scans each block and writes its total; the totals are
// scanned in the same way, and `scan_add` combines them with the blocks after them. The order of operations depends on `n`
// alone, so results are the same on every run. The text before this file defines T, PER_LANE, `fn op` and `fn identity`.
// `scan_blocks` has a workgroup for each block, `scan_add` an invocation for each number.

const BLOCK = 256u * PER_LANE;

struct Scan { n: u32, count: u32, n_blocks: u32 }

@group(0) @binding(0) var<storage, read> source: array<T>;
@group(0) @binding(1) var<storage, read_write> out: array<T>;
@group(0) @binding(2) var<storage, read_write> totals: array<T>;
@group(0) @binding(0) var<storage, read> totals_before: array<T>;
var<immediate> scan: Scan;

var<workgroup> lanes: array<T, 256>;

@compute @workgroup_size(256)
fn scan_blocks(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let start = group.x % scan.n_blocks * BLOCK + lane * PER_LANE;
    let base = group.x / scan.n_blocks * scan.n;
    var values: array<T, PER_LANE>;
    var total = identity();
    for (var i = 0u; i < PER_LANE; i++) {
        if start + i < scan.n {
            total = op(total, source[base + start + i]);
        }
        values[i] = total;
    }
    lanes[lane] = total;
    workgroupBarrier();
    for (var step = 1u; step < 256u; step *= 2u) {
        var sum = lanes[lane];
        if lane >= step {
            sum = op(lanes[lane - step], sum);
        }
        workgroupBarrier();
        lanes[lane] = sum;
        workgroupBarrier();
    }
    if lane == 255u {
        totals[group.x] = lanes[255];
    }
    for (var i = 0u; i < PER_LANE; i++) {
        if start + i < scan.n {
            var sum = values[i];
            if lane > 0u {
                sum = op(lanes[lane - 1u], sum);
            }
            out[base + start + i] = sum;
        }
    }
}

@compute @workgroup_size(256)
fn scan_add(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= scan.count {
        return;
    }
    let block = id.x % scan.n / BLOCK;
    if block > 0u {
        out[id.x] = op(totals_before[id.x / scan.n * scan.n_blocks + block - 1u], out[id.x]);
    }
}
