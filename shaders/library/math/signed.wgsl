// a = INT_floor_divide(a, b) * b + INT_remainder(a, b)
//
// Operations on signed integers INT with the results of NumPy, which defines division by zero and long shifts. The
// generator replaces INT by the type. `bits` is the number of bits of the element type, which may be shorter.
// Most functions have no branches, since a kernel inlines them several times; WGSL defines shifts modulo the bits of
// INT.

fn INT_floor_divide(a: INT, b: INT) -> INT {
    let q = INT_quotient(a, b);
    let floor = select(q, q - INT(1), (q * b != a) & ((a < INT(0)) != (b < INT(0))));
    return select(floor, INT(0), b == INT(0));
}

fn INT_remainder(a: INT, b: INT) -> INT {
    let r = a - INT_quotient(a, b) * b;
    let remainder = select(r, r + b, (r != INT(0)) & ((r < INT(0)) != (b < INT(0))));
    return select(remainder, INT(0), b == INT(0));
}

fn INT_pow(a: INT, b: INT) -> INT {
    if b < INT(0) {
        if a == INT(1) {
            return INT(1);
        }
        if a == INT(-1) {
            return select(INT(-1), INT(1), (b & INT(1)) == INT(0));
        }
        return INT(0);
    }
    var power = INT(1);
    var base = a;
    for (var left = b; left != INT(0); left = left >> 1u) {
        if (left & INT(1)) != INT(0) {
            power = power * base;
        }
        base = base * base;
    }
    return power;
}

fn INT_left_shift(a: INT, b: INT, bits: u32) -> INT {
    return select(a << u32(b), INT(0), (b < INT(0)) | (b >= INT(bits)));
}

fn INT_right_shift(a: INT, b: INT, bits: u32) -> INT {
    return a >> select(u32(b), bits - 1u, (b < INT(0)) | (b >= INT(bits)));
}

fn INT_sign(a: INT) -> INT {
    return select(select(INT(0), INT(1), a > INT(0)), INT(-1), a < INT(0));
}
