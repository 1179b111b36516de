// Buffers of matrices with rows of any length: read_a, read_b, write
//
// The text before this file defines T and Four.

@group(0) @binding(0) var<storage, read> a: array<T>;
@group(0) @binding(1) var<storage, read> b: array<T>;
@group(0) @binding(2) var<storage, read_write> c: array<T>;

// Four numbers of a row, of which `left` are left, at least one; zeros behind them.
fn read_a(at: u32, left: u32) -> Four {
    var value = Four();
    value.x = a[at];
    if left > 1u { value.y = a[at + 1u]; }
    if left > 2u { value.z = a[at + 2u]; }
    if left > 3u { value.w = a[at + 3u]; }
    return value;
}

// Columns past the last one repeat it.
fn read_b(row: u32, column: u32) -> Four {
    let last = matmul.n - 1u;
    return Four(
        b[row + min(column, last)],
        b[row + min(column + 1u, last)],
        b[row + min(column + 2u, last)],
        b[row + min(column + 3u, last)],
    );
}

fn write(row: u32, column: u32, value: Four) {
    if column < matmul.n { c[row + column] = value.x; }
    if column + 1u < matmul.n { c[row + column + 1u] = value.y; }
    if column + 2u < matmul.n { c[row + column + 2u] = value.z; }
    if column + 3u < matmul.n { c[row + column + 3u] = value.w; }
}
