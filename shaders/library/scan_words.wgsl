// Numbers of one to three words that workgroups of `scan.wgsl` publish
//
// The text before this file defines `words_of`, which takes a number as three words, and WORDS, the number of words that
// are not always 0.

fn publish(slot: u32, number: T) {
    let words = words_of(number);
    publish_word(slot, words.x);
    if WORDS > 1u {
        publish_word(slot + 2u, words.y);
    }
    if WORDS > 2u {
        publish_word(slot + 4u, words.z);
    }
}

struct Published { words: vec3<u32>, is_present: bool }

const ABSENT = Published(vec3(0u), false);

fn look(slot: u32) -> Published {
    var low = vec3(PRESENT);
    var high = vec3(PRESENT);
    low.x = atomicLoad(&state[slot]);
    high.x = atomicLoad(&state[slot + 1u]);
    if WORDS > 1u {
        low.y = atomicLoad(&state[slot + 2u]);
        high.y = atomicLoad(&state[slot + 3u]);
    }
    if WORDS > 2u {
        low.z = atomicLoad(&state[slot + 4u]);
        high.z = atomicLoad(&state[slot + 5u]);
    }
    let words = (low & vec3(0xffffu)) | (high << vec3(16u));
    return Published(words, all((low & high & vec3(PRESENT)) != vec3(0u)));
}
