// Numbers of one or two words that workgroups of `scan.wgsl` publish
//
// The text before this file defines `words_of`, which takes a number as two words, and WORDS, 1 if the second word is
// always 0.

fn publish(slot: u32, number: T) {
    let words = words_of(number);
    publish_word(slot, words.x);
    if WORDS == 2u {
        publish_word(slot + 2u, words.y);
    }
}

struct Published { words: vec2<u32>, is_present: bool }

const ABSENT = Published(vec2(0u), false);

fn look(slot: u32) -> Published {
    let low = vec2(atomicLoad(&state[slot]), atomicLoad(&state[slot + 1u]));
    var high = vec2(PRESENT);
    if WORDS == 2u {
        high = vec2(atomicLoad(&state[slot + 2u]), atomicLoad(&state[slot + 3u]));
    }
    let halves = vec4(low, high);
    let words = (halves.xz & vec2(0xffffu)) | (halves.yw << vec2(16u));
    return Published(words, all((halves & vec4(PRESENT)) != vec4(0u)));
}
