// The number at a place of a row of `scan_numbers.wgsl`
//
// The text before this file defines `read_words`, which makes two words of what is read, and `number_of`, which makes a
// number of them.

fn number_at(range: Range, at: u32) -> T {
    let words = read_words(source[range.base + min(at, scan.n - 1u)]);
    return select(identity(), number_of(words), at < scan.n);
}
