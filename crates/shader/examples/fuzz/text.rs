//! Damages text by words: they are lost, doubled, exchanged, and replaced by what tends to be forgotten.

/// What parsers and validators tend to forget.
const WORDS: &[&str] = &[
    "0",
    "-1",
    "1.5",
    "4294967295",
    "4294967296",
    "99999999999999999999",
    "0x",
    "1e999",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    ";",
    ",",
    "&",
    "*",
    "/",
    "%",
    "//",
    "/*",
    "@",
    "array",
    "vec3<f32>",
    "atomic<u32>",
    "mat4x4<f32>",
    "bool",
    "f16",
    "i64",
    "ptr<function, u32>",
    "var<workgroup>",
    "override",
    "const",
    "loop",
    "switch",
    "break",
    "continue",
    "return",
    "discard",
    "workgroupBarrier()",
    "arrayLength(&x)",
    "@workgroup_size(0)",
    "@workgroup_size(1000000)",
    "#define",
    "#include",
    "layout(",
    "binding = 0",
    "shared",
    "\u{0}",
    "\u{feff}",
    "é",
    "main",
];

pub(crate) fn mutated(bytes: &[u8], other: &[u8], random: &mut fastrand::Rng) -> Vec<u8> {
    let (text, other) = (String::from_utf8_lossy(bytes), String::from_utf8_lossy(other));
    let mut words = split(&text);
    let others = split(&other);
    for _ in 0..random.usize(1..=4) {
        mutate(&mut words, &others, random);
    }
    words.concat().into_bytes()
}

/// Names, numbers, blanks, and every other character alone.
fn split(text: &str) -> Vec<&str> {
    let class = |c: char| match c {
        _ if c.is_alphanumeric() || c == '_' => 0,
        _ if c.is_whitespace() => 1,
        _ => 2,
    };
    let (mut words, mut start) = (Vec::new(), 0);
    let mut before = None;
    for (at, c) in text.char_indices() {
        if before.is_some_and(|before| before != class(c) || before == 2) {
            words.push(&text[start..at]);
            start = at;
        }
        before = Some(class(c));
    }
    words.push(&text[start..]);
    words
}

fn mutate<'a>(words: &mut Vec<&'a str>, others: &[&'a str], random: &mut fastrand::Rng) {
    if words.is_empty() || others.is_empty() {
        return;
    }
    let (at, to) = (random.usize(..words.len()), random.usize(..words.len()));
    match random.u8(..7) {
        0 => drop(words.remove(at)),
        1 => words.insert(to, words[at]),
        2 => words.swap(at, to),
        3 => words[at] = WORDS[random.usize(..WORDS.len())],
        4 => words.insert(at, WORDS[random.usize(..WORDS.len())]),
        5 => words[at] = others[random.usize(..others.len())],
        // A run of words, many times over: nesting and length.
        _ => {
            let run = words[at..words.len().min(at + 8)].to_vec();
            for _ in 0..random.usize(..64) {
                words.splice(at..at, run.iter().copied());
            }
        }
    }
}
