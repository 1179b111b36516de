// a = UINT_floor_divide(a, b) * b + UINT_remainder(a, b)
//
// Operations on unsigned integers UINT with the results of NumPy, which defines division by zero and long shifts. The
// generator replaces UINT by the type. `bits` is the number of bits of the element type, which may be shorter.
// The functions have no branches, since a kernel inlines them several times; WGSL defines shifts modulo the bits of
// UINT.

fn UINT_floor_divide(a: UINT, b: UINT) -> UINT {
    return select(UINT_quotient(a, b), UINT(0), b == UINT(0));
}

fn UINT_remainder(a: UINT, b: UINT) -> UINT {
    return select(a - UINT_quotient(a, b) * b, UINT(0), b == UINT(0));
}

fn UINT_pow(a: UINT, b: UINT) -> UINT {
    var power = UINT(1);
    var base = a;
    for (var left = b; left != UINT(0); left = left >> 1u) {
        if (left & UINT(1)) != UINT(0) {
            power = power * base;
        }
        base = base * base;
    }
    return power;
}

fn UINT_left_shift(a: UINT, b: UINT, bits: u32) -> UINT {
    return select(a << u32(b), UINT(0), b >= UINT(bits));
}

fn UINT_right_shift(a: UINT, b: UINT, bits: u32) -> UINT {
    return select(a >> u32(b), UINT(0), b >= UINT(bits));
}
