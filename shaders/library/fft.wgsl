// out[k] = scale * sum over j of source[j] * exp(-2 pi i j k / n), in passes of n = 2^BITS points
//
// One pass of Stockham's algorithm over rows of 2^(BITS + STRIDE) points. A row has 2^STRIDE columns; column u has the
// points u + j * 2^STRIDE. The product of the lengths of the passes before is 2^BEFORE: point j of column u is turned by
// j * (u % 2^BEFORE) parts of 2^(BEFORE + BITS) of a circle, the column is transformed, and result k goes to place
// u % 2^BEFORE + k * 2^BEFORE of its part of the row. After the last pass a row is in order.
//
// A workgroup of 2^(THREAD_BITS + COLUMN_BITS) invocations transforms 2^COLUMN_BITS columns, which are whole rows if
// STRIDE is 0. An invocation has 2^(BITS - THREAD_BITS) points in variables, which the generated lines VARIABLES, LOADS,
// STAGES and STORES name. Stages exchange points, or their real and then their imaginary parts, through shared memory.
// A row that is read is a `Source`, an array of arrays with an axis for the points of an invocation, one for t and one for
// u; a row that is written is an `Out`. So an index of a point is constant, and the others are clamped once for all points.
// One workgroup for each 2^COLUMN_BITS columns, along x.

struct Fft { columns: u32, scale: f32 }

@group(0) @binding(0) var<storage, read> source: array<Source>;
@group(0) @binding(1) var<storage, read_write> out: array<Out>;
var<immediate> fft: Fft;

var<workgroup> exchange: Exchange;

fn times(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    return vec2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// exp(-2 pi i m / 2^24) for m below 2^24. The nearest quarter of a circle is taken off without rounding; series give the
// rest, at most an eighth, whose error is less than a unit in the last place of 1.
fn root(m: u32) -> vec2<f32> {
    let quarter = (m + 0x200000u) >> 22u;
    let turn = f32(bitcast<i32>(m - (quarter << 22u))) * 0x1p-24f;
    let square = turn * turn;
    var cosine = square * -26.426256783374f + 60.244641371877f;
    cosine = square * cosine - 85.456817206694f;
    cosine = square * cosine + 64.939394022669f;
    cosine = square * cosine - 19.739208802179f;
    cosine = square * cosine + 1.0f;
    var sine = square * 42.058693944898f - 76.705859753061f;
    sine = square * sine + 81.605249276075f;
    sine = square * sine - 41.341702240400f;
    sine = turn * (square * sine + 6.283185307180f);
    let odd = select(vec2(cosine, -sine), vec2(-sine, -cosine), (quarter & 1u) == 1u);
    return select(odd, -odd, (quarter & 2u) == 2u);
}

@compute @workgroup_size(1u << (THREAD_BITS + COLUMN_BITS))
fn fft_pass(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    // Neighbouring invocations have neighbouring points in memory.
    let own = select(lane & ((1u << COLUMN_BITS) - 1u), lane >> THREAD_BITS, STRIDE == 0u);
    let t = select(lane >> COLUMN_BITS, lane & ((1u << THREAD_BITS) - 1u), STRIDE == 0u);
    let column = (group.x << COLUMN_BITS) + own;
    let row = column >> STRIDE;
    let u = column - (row << STRIDE);
    let part = u >> BEFORE;
    let turns = u - (part << BEFORE);
    VARIABLES
    let is_inside = column < fft.columns;
    if is_inside {
        LOADS
    }
    STAGES
    if is_inside {
        STORES
    }
}
