// The buffers of `scan.wgsl` for rows of any length
//
// The text before this file defines Read and Written, the words of a number that is read and of a result, which are `u32` or
// `vec2<u32>`; `read_words` and `written_words`, which make two words of the former and the latter of a number; and
// `flags_at` and `number_of`, as for `scan_quads.wgsl`.

@group(0) @binding(0) var<storage, read> source: array<Read>;
@group(0) @binding(1) var<storage, read_write> out: array<Written>;

fn number_at(range: Range, at: u32) -> T {
    let index = range.base + min(at, scan.n - 1u);
    let number = number_of(read_words(source[index]), flags_at(index / 4u) >> (index % 4u * 8u));
    return select(identity(), number, at < scan.n);
}

fn load(range: Range, at: u32) -> array<T, 4> {
    return array<T, 4>(
        number_at(range, at), number_at(range, at + 1u), number_at(range, at + 2u), number_at(range, at + 3u),
    );
}

fn store(range: Range, at: u32, before: T, numbers: array<T, 4>) {
    if at < scan.n {
        out[range.base + at] = written_words(op(before, numbers[0]));
    }
    if at + 1u < scan.n {
        out[range.base + at + 1u] = written_words(op(before, numbers[1]));
    }
    if at + 2u < scan.n {
        out[range.base + at + 2u] = written_words(op(before, numbers[2]));
    }
    if at + 3u < scan.n {
        out[range.base + at + 3u] = written_words(op(before, numbers[3]));
    }
}
