// key_of(number) = the bits of a number, changed so that they compare as an unsigned integer; number_of(key) = the bits
//
// Numbers and keys have their high word in x, and their low word in y; of one word only x counts. Numbers of 8 and 16
// bits lie in the low bits of a word. Floats are ordered as in NumPy: zeros are equal, and every NaN has the greatest key.
// If EXACT, different bits have different keys: the zero with the sign comes first, and NaN have keys of their own after
// infinity. Only such keys, and keys of integers, have a number.
// The text before this file defines KIND (UNSIGNED, SIGNED or FLOAT), SIGN and INFINITY, which are the bits of the sign
// and of infinity in x, DESCENDING, which inverts the keys, EXACT, and `alias Key`, which is u32 or vec2<u32>.

const UNSIGNED = 0u;
const SIGNED = 1u;
const FLOAT = 2u;

const HIGH = SIGN | (SIGN - 1u);
const INVERT = select(0u, 0xffffffffu, DESCENDING);

// The number of NaN of one sign.
const NANS = vec2(SIGN - 1u - INFINITY, 0xffffffffu);

fn key_of(number: vec2<u32>) -> vec2<u32> {
    return ascending(number) ^ vec2(INVERT);
}

fn ascending(number: vec2<u32>) -> vec2<u32> {
    if KIND == UNSIGNED {
        return number;
    }
    if KIND == SIGNED {
        return vec2(number.x ^ SIGN, number.y);
    }
    let is_negative = (number.x & SIGN) != 0u;
    let flipped = select(vec2(number.x | SIGN, number.y), ~number & vec2(HIGH, 0xffffffffu), is_negative);
    if EXACT {
        // NaN with the sign would come first. All keys are moved down by their number, so that these come last.
        return vec2((flipped.x - NANS.x - u32(IS_PAIR && flipped.y < NANS.y)) & HIGH, flipped.y - NANS.y);
    }
    let rest = number.x & (SIGN - 1u);
    let low = select(0u, number.y, IS_PAIR);
    if (rest > INFINITY) | ((rest == INFINITY) & (low != 0u)) {
        return vec2(0xffffffffu);
    }
    return select(flipped, vec2(SIGN, 0u), (rest | low) == 0u);
}

fn number_of(key: vec2<u32>) -> vec2<u32> {
    let ordered = key ^ vec2(INVERT);
    if KIND == UNSIGNED {
        return ordered;
    }
    if KIND == SIGNED {
        return vec2(ordered.x ^ SIGN, ordered.y);
    }
    let low = ordered.y + NANS.y;
    let flipped = vec2((ordered.x + NANS.x + u32(IS_PAIR && low < NANS.y)) & HIGH, low);
    return select(~flipped & vec2(HIGH, 0xffffffffu), vec2(flipped.x ^ SIGN, low), (flipped.x & SIGN) != 0u);
}
