//! Damages SPIR-V where it hurts: instructions are moved, doubled, lost and exchanged with another module's, ids and numbers
//! replaced, lengths lied about. Most results still begin as a module does, so that the damage is met deep inside.

/// Words before the first instruction.
const HEADER: usize = 5;

/// Numbers that are on some edge.
const EDGES: [u32; 12] = [0, 1, 2, 3, 4, 16, 63, 64, 255, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];

pub(crate) fn mutated(bytes: &[u8], other: &[u8], random: &mut fastrand::Rng) -> Vec<u8> {
    let (header, mut instructions) = cut(bytes);
    let (_, others) = cut(other);
    for _ in 0..random.usize(1..=4) {
        mutate(&mut instructions, &others, random);
    }
    let mut words: Vec<u32> = header.into_iter().chain(instructions.into_iter().flatten()).collect();
    if random.u8(..) < 8 && !words.is_empty() {
        words.truncate(random.usize(..words.len()));
    }
    if random.u8(..) < 4 && !words.is_empty() {
        let at = random.usize(..words.len().min(HEADER));
        words[at] = edge(random);
    }
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// The header, and the instructions as far as their lengths make sense.
fn cut(bytes: &[u8]) -> (Vec<u32>, Vec<Vec<u32>>) {
    let words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let (header, mut rest) = words.split_at(HEADER.min(words.len()));
    let mut instructions = Vec::new();
    while let Some(first) = rest.first() {
        let length = ((first >> 16) as usize).clamp(1, rest.len());
        let (instruction, tail) = rest.split_at(length);
        instructions.push(instruction.to_vec());
        rest = tail;
    }
    (header.to_vec(), instructions)
}

fn edge(random: &mut fastrand::Rng) -> u32 {
    if random.bool() { EDGES[random.usize(..EDGES.len())] } else { random.u32(..200) }
}

fn mutate(instructions: &mut Vec<Vec<u32>>, others: &[Vec<u32>], random: &mut fastrand::Rng) {
    if instructions.is_empty() || others.is_empty() {
        return;
    }
    let (at, to) = (random.usize(..instructions.len()), random.usize(..instructions.len()));
    let elsewhere = instructions[to].last().copied().unwrap_or_default();
    match random.u8(..8) {
        0 => drop(instructions.remove(at)),
        1 => instructions.insert(to, instructions[at].clone()),
        2 => instructions.swap(at, to),
        3 => instructions.insert(at, others[random.usize(..others.len())].clone()),
        // A number or id of elsewhere, of an edge, or off by one bit; the length with it, seldom.
        4..=6 => {
            let words = &mut instructions[at];
            let first = usize::from(random.u8(..) >= 16 && words.len() > 1);
            let index = random.usize(first..words.len());
            words[index] = match random.u8(..3) {
                0 => edge(random),
                1 => words[index] ^ 1 << random.u32(..32),
                _ => elsewhere,
            };
        }
        // Longer or shorter, and honest about it.
        _ => {
            let words = &mut instructions[at];
            if random.bool() {
                words.push(edge(random));
            } else if words.len() > 1 {
                words.pop();
            }
            let length = u32::try_from(words.len()).unwrap_or(1);
            words[0] = words[0] & 0xffff | length << 16;
        }
    }
}
