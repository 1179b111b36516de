// unit u = bits (u % UNITS) * BITS of word u / UNITS
//
// Shared by the copies of units smaller than a word. A word that is theirs alone is stored; of any other word only
// their own bits are changed, atomically, so that nobody's neighbours are disturbed, whoever writes them meanwhile.
// Before it stand `UNITS` a word and `BITS` a unit.

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
