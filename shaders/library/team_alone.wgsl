// Teams of one invocation, for devices without the operations of `team_subgroup.wgsl`

const LANES = 1u;

struct Invocation {
    @builtin(local_invocation_index) thread: u32,
}

struct Place { thread: u32, team: u32, lane: u32 }

fn place_of(invocation: Invocation) -> Place {
    return Place(invocation.thread, invocation.thread, 0u);
}

fn lanes_where(flag: bool, place: Place) -> u32 {
    return select(0u, 1u, flag);
}

fn meet() {}

fn sum_before(value: u32) -> u32 {
    return 0u;
}

fn word_before(word: u32, by: u32) -> u32 {
    return word;
}

fn word_across(word: u32, mask: u32) -> u32 {
    return word;
}

fn last_word(word: u32, place: Place) -> u32 {
    return word;
}
