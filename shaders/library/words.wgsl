// unit u = bits (u % UNITS) * BITS of word u / UNITS
//
// For copies of units smaller than a word. A word that lies entirely in the target is stored; of any other word only the
// target's bits are changed, atomically, so that concurrent writes to the other bits are kept.
// The text before this file defines `UNITS` per word and `BITS` per unit.

const UNIT_MASK = (1u << BITS) - 1u;

@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> target_: array<atomic<u32>>;

fn load(unit: u32) -> u32 {
    return (source[unit / UNITS] >> ((unit % UNITS) * BITS)) & UNIT_MASK;
}

fn store(word: u32, mask: u32, value: u32) {
    if mask == 0xffffffffu {
        atomicStore(&target_[word], value);
    } else if mask != 0u {
        atomicAnd(&target_[word], ~mask);
        atomicOr(&target_[word], value);
    }
}
