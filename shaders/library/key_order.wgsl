// precedes(a, b) = whether key a is smaller than key b
//
// The text before this file defines `alias Key`: u32, or vec2<u32> with the high word first.

fn precedes(a: Key, b: Key) -> bool {
    return key_precedes(vec2(a), vec2(b));
}

fn key_precedes(a: vec2<u32>, b: vec2<u32>) -> bool {
    return (a.x < b.x) | ((a.x == b.x) & (a.y < b.y));
}

fn is_same(a: Key, b: Key) -> bool {
    return all(vec2(a) == vec2(b));
}
