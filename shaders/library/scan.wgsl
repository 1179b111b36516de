// out[row, i] = source[row, 0] op … op source[row, i]
//
// Rows of `n` numbers are cut into blocks of BLOCK. `scan_totals` combines the numbers of each block; the totals are
// scanned in the same way, and `scan_blocks` scans each block, beginning with the total of the blocks before it.
// Numbers are read twice and written once. The order of operations depends on `n` alone, so results are the same on
// every run. The text before this file defines T, PER_LANE, which is odd so that lanes read different banks of shared
// memory, `fn op` and `fn identity`. Both kernels have a workgroup for each block. A launch has whole rows, or a part
// of one row that begins with a block: number `base` of the bound range is its first, `block` the first block of the
// part, and `first` the position of the total of that block.

const BLOCK = 256u * PER_LANE;

struct Scan { n: u32, n_blocks: u32, base: u32, block: u32, first: u32 }

@group(0) @binding(0) var<storage, read> source: array<T>;
@group(0) @binding(1) var<storage, read_write> out: array<T>;
@group(0) @binding(2) var<storage, read> totals_before: array<T>;
@group(0) @binding(1) var<storage, read_write> totals: array<T>;
var<immediate> scan: Scan;

var<workgroup> numbers: array<T, BLOCK>;

// Reads a block. Neighbouring lanes read neighbouring numbers.
fn read_block(group: u32, lane: u32) {
    let start = group % scan.n_blocks * BLOCK;
    let base = scan.base + group / scan.n_blocks * scan.n;
    for (var i = 0u; i < PER_LANE; i++) {
        let at = start + i * 256u + lane;
        var number = identity();
        if at < scan.n {
            number = source[base + at];
        }
        numbers[i * 256u + lane] = number;
    }
    workgroupBarrier();
}

@compute @workgroup_size(256)
fn scan_totals(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    read_block(group.x, lane);
    var total = numbers[lane * PER_LANE];
    for (var i = 1u; i < PER_LANE; i++) {
        total = op(total, numbers[lane * PER_LANE + i]);
    }
    workgroupBarrier();
    numbers[lane] = total;
    for (var step = 1u; step < 256u; step *= 2u) {
        workgroupBarrier();
        if lane % (2u * step) == 0u {
            numbers[lane] = op(numbers[lane], numbers[lane + step]);
        }
    }
    if lane == 0u {
        totals[scan.first + group.x] = numbers[0];
    }
}

@compute @workgroup_size(256)
fn scan_blocks(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    read_block(group.x, lane);
    var values: array<T, PER_LANE>;
    var total = identity();
    for (var i = 0u; i < PER_LANE; i++) {
        total = op(total, numbers[lane * PER_LANE + i]);
        values[i] = total;
    }
    workgroupBarrier();
    // The totals of the lanes are scanned from one half of 512 numbers to the other and back.
    numbers[lane] = total;
    var half = 0u;
    for (var step = 1u; step < 256u; step *= 2u) {
        workgroupBarrier();
        total = numbers[half + lane];
        if lane >= step {
            total = op(numbers[half + lane - step], total);
        }
        half = 256u - half;
        numbers[half + lane] = total;
    }
    workgroupBarrier();
    let block = group.x % scan.n_blocks;
    var before = identity();
    if scan.block + block > 0u {
        before = totals_before[scan.first + group.x - 1u];
    }
    if lane > 0u {
        before = op(before, numbers[half + lane - 1u]);
    }
    workgroupBarrier();
    for (var i = 0u; i < PER_LANE; i++) {
        numbers[lane * PER_LANE + i] = op(before, values[i]);
    }
    workgroupBarrier();
    let start = block * BLOCK;
    let base = scan.base + group.x / scan.n_blocks * scan.n;
    for (var i = 0u; i < PER_LANE; i++) {
        let at = start + i * 256u + lane;
        if at < scan.n {
            out[base + at] = numbers[i * 256u + lane];
        }
    }
}
