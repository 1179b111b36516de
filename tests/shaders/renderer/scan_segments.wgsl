// The running count of moves, lines and points of the commands of a path, packed four to a word: a scan of a struct.
struct Totals {
    moves: u32,
    lines: u32,
    points: u32,
}

@group(0) @binding(0) var<storage, read> commands: array<u32>;
@group(0) @binding(1) var<storage, read_write> totals: array<Totals>;

const LANES = 64u;
var<workgroup> partial: array<Totals, LANES>;

fn add(a: Totals, b: Totals) -> Totals {
    return Totals(a.moves + b.moves, a.lines + b.lines, a.points + b.points);
}

// A command is one byte: bit 7 is a move, bits 0 to 2 are the number of its points.
fn of_word(word: u32) -> Totals {
    let bytes = unpack4xU8(word);
    let is_move = bytes >> vec4(7u);
    let points = bytes & vec4(7u);
    let is_line = select(vec4(0u), vec4(1u), points == vec4(1u)) * (1u - is_move);
    return Totals(dot(is_move, vec4(1u)), dot(is_line, vec4(1u)), dot(points, vec4(1u)));
}

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    var total = Totals();
    if id.x < arrayLength(&commands) {
        total = of_word(commands[id.x]);
    }
    partial[lane] = total;
    for (var apart = 1u; apart < LANES; apart <<= 1u) {
        workgroupBarrier();
        if lane >= apart {
            total = add(partial[lane - apart], total);
        }
        workgroupBarrier();
        partial[lane] = total;
    }
    if id.x < arrayLength(&totals) {
        totals[id.x] = total;
    }
}
