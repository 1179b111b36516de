// Buffers of matrices whose rows are whole fours of numbers: read_a, read_b, write
//
// Offsets count numbers. The text before this file defines Four and INSIDE.

@group(0) @binding(0) var<storage, read> a: array<Four>;
@group(0) @binding(1) var<storage, read> b: array<Four>;
@group(0) @binding(2) var<storage, read_write> c: array<Four>;

fn read_a(at: u32, left: u32) -> Four {
    return a[at / 4u];
}

// A column past the last one repeats the last four.
fn read_b(row: u32, column: u32) -> Four {
    return b[(row + select(min(column, matmul.n - 4u), column, INSIDE)) / 4u];
}

fn write(row: u32, column: u32, value: Four) {
    if INSIDE | (column < matmul.n) {
        c[(row + column) / 4u] = value;
    }
}
