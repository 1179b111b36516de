// y[row, i] = exp(x[row, i] - m) / sum over j of exp(x[row, j] - m), where m is the largest x of the row
//
// Subtracting m changes nothing in exact numbers, and keeps exp from overflowing. One workgroup computes one row: its
// invocations take every WORKGROUP-th column, then combine their results in workgroup memory, by halves. Dispatch as
// many workgroups as there are rows.

const WORKGROUP = 64u;

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
var<immediate> columns: u32;

var<workgroup> part: array<f32, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn softmax(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) rank: u32) {
    let row = group.x * columns;

    // The largest number of each invocation, then of all.
    var largest = -3.4e38;
    for (var i = rank; i < columns; i += WORKGROUP) {
        largest = max(largest, x[row + i]);
    }
    part[rank] = largest;
    workgroupBarrier();
    for (var half = WORKGROUP / 2u; half > 0u; half /= 2u) {
        if rank < half {
            part[rank] = max(part[rank], part[rank + half]);
        }
        workgroupBarrier();
    }
    largest = part[0];
    workgroupBarrier(); // All invocations have read part[0] before it is used again.

    var sum = 0.0;
    for (var i = rank; i < columns; i += WORKGROUP) {
        sum += exp(x[row + i] - largest);
    }
    part[rank] = sum;
    workgroupBarrier();
    for (var half = WORKGROUP / 2u; half > 0u; half /= 2u) {
        if rank < half {
            part[rank] += part[rank + half];
        }
        workgroupBarrier();
    }
    for (var i = rank; i < columns; i += WORKGROUP) {
        y[row + i] = exp(x[row + i] - largest) / part[0];
    }
}
