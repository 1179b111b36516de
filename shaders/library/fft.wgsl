// out[k] = scale * sum over j of source[j] * exp(-2 pi i j k / n), in passes of n = 2^BITS points
//
// One pass of Stockham's algorithm over rows of 2^(BITS + stride) points. A row has 2^stride columns; column u has the
// points u + j * 2^stride. The product of the lengths of the passes before is 2^before: point j of column u is turned by
// j * (u % 2^before) parts of 2^(before + BITS) of a circle, the column is transformed, and result k goes to place
// u % 2^before + k * 2^before of its part of the row. After the last pass a row is in order.
//
// A workgroup of 2^(THREAD_BITS + COLUMN_BITS) invocations transforms 2^COLUMN_BITS columns, which are whole rows if
// IS_ROWS. An invocation has 2^(BITS - THREAD_BITS) points in variables, which the generated lines LOADS, STAGES and
// STORES name. Stages exchange points through shared memory: `Exchanged` is a point, or a part of one where shared memory
// does not suffice, so that imaginary parts follow real parts.
// PAD and PAD_WIDTH keep the points of a subgroup in different banks. One workgroup for each 2^COLUMN_BITS columns, along x.

struct Fft { columns: u32, stride: u32, before: u32, scale: f32 }

@group(0) @binding(0) var<storage, read> source: array<vec2<f32>>;
@group(0) @binding(1) var<storage, read_write> out: array<vec2<f32>>;
var<immediate> fft: Fft;

var<workgroup> exchange: array<Exchanged, SHARED>;

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

// Where point `i` of column `own` of the workgroup lies in shared memory. All are powers of two, so that the place of a
// sum without carries is the sum of the places.
fn place(i: u32, own: u32) -> u32 {
    let at = select((i << COLUMN_BITS) + own, i + (own << BITS), IS_ROWS);
    return at + (at >> PAD << PAD_WIDTH);
}

@compute @workgroup_size(1u << (THREAD_BITS + COLUMN_BITS))
fn fft_pass(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    // Neighbouring invocations have neighbouring points in memory.
    let own = select(lane & ((1u << COLUMN_BITS) - 1u), lane >> THREAD_BITS, IS_ROWS);
    let t = select(lane >> COLUMN_BITS, lane & ((1u << THREAD_BITS) - 1u), IS_ROWS);
    let column = (group.x << COLUMN_BITS) + own;
    let is_inside = column < fft.columns;
    let row = column >> fft.stride;
    let u = column - (row << fft.stride);
    let part = u >> fft.before;
    let turns = u - (part << fft.before);
    let first = (row << (fft.stride + BITS)) + u;
    let result = (row << (fft.stride + BITS)) + (part << (fft.before + BITS)) + turns;
    LOADS
    STAGES
    if is_inside {
        STORES
    }
}
