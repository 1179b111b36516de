// Stands for `team_words.wgsl` and `scan_words.wgsl` where numbers are `vec3<u32>` and WORDS is 3

fn lane_before(number: T, by: u32) -> T {
    return T(word_before(number.x, by), word_before(number.y, by), word_before(number.z, by));
}

fn last_lane(number: T, place: Place) -> T {
    return T(last_word(number.x, place), last_word(number.y, place), last_word(number.z, place));
}

fn publish(slot: u32, number: T) {
    publish_word(slot, number.x);
    publish_word(slot + 2u, number.y);
    publish_word(slot + 4u, number.z);
}

struct Published { words: T, is_present: bool }

const ABSENT = Published(T(), false);

fn look(slot: u32) -> Published {
    let low = T(atomicLoad(&state[slot]), atomicLoad(&state[slot + 2u]), atomicLoad(&state[slot + 4u]));
    let high = T(atomicLoad(&state[slot + 1u]), atomicLoad(&state[slot + 3u]), atomicLoad(&state[slot + 5u]));
    return Published((low & T(0xffffu)) | (high << T(16u)), all((low & high & T(PRESENT)) != T(0u)));
}
