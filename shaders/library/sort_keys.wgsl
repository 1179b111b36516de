// keys[i] = the bits of source[i], changed so that keys compare as unsigned integers
//
// Floats are ordered as in NumPy: zeros are equal, and every NaN has the greatest key. A key of 64 bits has its high word
// first. The text before this file defines KIND (UNSIGNED, SIGNED or FLOAT), WORDS (1 or 2), and DESCENDING, which inverts
// the keys. Covers (number of elements).

const UNSIGNED = 0u;
const SIGNED = 1u;
const FLOAT = 2u;

@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> keys: array<u32>;

// Both words of a key: the high word, or the only one, and the low word.
fn key_of(high: u32, low: u32) -> vec2<u32> {
    if KIND == UNSIGNED {
        return vec2(high, low);
    }
    if KIND == SIGNED {
        return vec2(high ^ 0x80000000u, low);
    }
    let infinity = select(0x7f800000u, 0x7ff00000u, WORDS == 2u);
    let rest = high & 0x7fffffffu;
    if (rest > infinity) | ((rest == infinity) & (low != 0u)) {
        return vec2(0xffffffffu);
    }
    if (rest | low) == 0u {
        return vec2(0x80000000u, 0u);
    }
    if high >= 0x80000000u {
        return vec2(~high, ~low);
    }
    return vec2(high | 0x80000000u, low);
}

@compute @workgroup_size(256)
fn sort_keys(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&keys) / WORDS {
        return;
    }
    let invert = select(0u, 0xffffffffu, DESCENDING);
    if WORDS == 1u {
        keys[id.x] = key_of(source[id.x], 0u).x ^ invert;
    } else {
        let key = key_of(source[2u * id.x + 1u], source[2u * id.x]) ^ vec2(invert);
        keys[2u * id.x] = key.x;
        keys[2u * id.x + 1u] = key.y;
    }
}
