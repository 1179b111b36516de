// Scans within segments, each of which starts where `starts`, bytes of words, is not 0
//
// A number has the words of a value, and a flag behind them: whether a segment starts in what it combines. Then the value
// combines what is not before the last start. The combination is associative if that of values is.
//
// The text before this file defines `T`, which is `vec2<u32>` for values of one word and `vec3<u32>` for values of two;
// `combine` and `identity_value` of values; `words_of_value` and `value_of`, which take values as two words; `flagged`, which
// makes a number of two words and a flag, and `flag_of`.

@group(0) @binding(3) var<storage, read> starts: array<u32>;

fn op(a: T, b: T) -> T {
    let both = words_of_value(combine(value_of(a.xy), value_of(b.xy)));
    return flagged(select(both, b.xy, flag_of(b) != 0u), flag_of(a) | flag_of(b));
}

fn identity() -> T {
    return flagged(words_of_value(identity_value()), 0u);
}

fn flags_at(four: u32) -> u32 {
    return starts[four];
}

fn number_of(words: vec2<u32>, flags: u32) -> T {
    return flagged(words, u32((flags & 0xffu) != 0u));
}
