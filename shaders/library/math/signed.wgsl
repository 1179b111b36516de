// a = INT_floor_divide(a, b) * b + INT_remainder(a, b)
//
// Operations on signed integers INT with the results of NumPy, which defines division by zero and long shifts. The
// generator replaces INT by the type. `bits` is the number of bits of the element type, which may be shorter.

fn INT_floor_divide(a: INT, b: INT) -> INT {
    if b == INT(0) {
        return INT(0);
    }
    if b == INT(-1) {
        return INT(0) - a;
    }
    let q = a / b;
    return select(q, q - INT(1), q * b != a && (a < INT(0)) != (b < INT(0)));
}

fn INT_remainder(a: INT, b: INT) -> INT {
    if b == INT(0) || b == INT(-1) {
        return INT(0);
    }
    let r = a - (a / b) * b;
    return select(r, r + b, r != INT(0) && (r < INT(0)) != (b < INT(0)));
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
    if b < INT(0) || b >= INT(bits) {
        return INT(0);
    }
    return a << u32(b);
}

fn INT_right_shift(a: INT, b: INT, bits: u32) -> INT {
    if b < INT(0) || b >= INT(bits) {
        return a >> (bits - 1u);
    }
    return a >> u32(b);
}

fn INT_sign(a: INT) -> INT {
    return select(select(INT(0), INT(1), a > INT(0)), INT(-1), a < INT(0));
}
