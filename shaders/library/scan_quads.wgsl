// The buffers of `scan.wgsl` for rows of whole fours of words
//
// Four numbers of one word are read at a time, and four words are written, or eight. The text before this file defines
// `flags_at`, which reads a byte of flags for each of four numbers; `number_of`, which makes a number of two words and of
// the lowest byte of flags; and WRITTEN, the words of a result.

@group(0) @binding(0) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> out: array<vec4<u32>>;

fn load(range: Range, at: u32) -> array<T, 4> {
    let four = (range.base + min(at, scan.n - 4u)) / 4u;
    let words = source[four];
    let flags = flags_at(four);
    let is_inside = at < scan.n;
    return array<T, 4>(
        select(identity(), number_of(vec2(words.x, 0u), flags), is_inside),
        select(identity(), number_of(vec2(words.y, 0u), flags >> 8u), is_inside),
        select(identity(), number_of(vec2(words.z, 0u), flags >> 16u), is_inside),
        select(identity(), number_of(vec2(words.w, 0u), flags >> 24u), is_inside),
    );
}

fn store(range: Range, at: u32, before: T, numbers: array<T, 4>) {
    if at >= scan.n {
        return;
    }
    let a = words_of(op(before, numbers[0]));
    let b = words_of(op(before, numbers[1]));
    let c = words_of(op(before, numbers[2]));
    let d = words_of(op(before, numbers[3]));
    let four = (range.base + at) / 4u;
    if WRITTEN == 1u {
        out[four] = vec4(a.x, b.x, c.x, d.x);
    } else {
        out[2u * four] = vec4(a.xy, b.xy);
        out[2u * four + 1u] = vec4(c.xy, d.xy);
    }
}
