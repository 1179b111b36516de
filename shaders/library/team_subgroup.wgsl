// Teams of invocations that are subgroups, or halves of subgroups of 64 invocations
//
// The text before this file defines SUBGROUP, the number of invocations of a subgroup, all of which are full.

const LANES = min(SUBGROUP, 32u);

struct Invocation {
    @builtin(subgroup_id) subgroup: u32,
    @builtin(subgroup_invocation_id) lane: u32,
}

// `thread` counts the invocations of the workgroup, `lane` those of the team.
struct Place { thread: u32, team: u32, lane: u32, half: u32 }

fn place_of(invocation: Invocation) -> Place {
    let thread = invocation.subgroup * SUBGROUP + invocation.lane;
    return Place(thread, thread / LANES, thread % LANES, invocation.lane / LANES);
}

// The lanes of the team with the flag, as bits.
fn lanes_where(flag: bool, place: Place) -> u32 {
    return subgroupBallot(flag)[place.half];
}

// Waits for the other lanes, whose writes to shared memory are seen from here on.
fn meet() {
    subgroupBarrier();
}

// The sum of the values of the lanes before this one, in the first team of a subgroup.
fn sum_before(value: u32) -> u32 {
    return subgroupExclusiveAdd(value);
}

// The word of the lane that is `by` lanes before this one; any word in the first `by` lanes of the team.
fn word_before(word: u32, by: u32) -> u32 {
    return subgroupShuffleUp(word, by);
}

// The word of the lane whose number differs in the bits of the mask.
fn word_across(word: u32, mask: u32) -> u32 {
    return subgroupShuffleXor(word, mask);
}

// The word of the last lane of the team.
fn last_word(word: u32, place: Place) -> u32 {
    return subgroupShuffle(word, place.half * LANES + LANES - 1u);
}
