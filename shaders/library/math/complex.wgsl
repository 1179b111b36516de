// (a + i b) (c + i d) = (a c - b d) + i (a d + b c)
//
// Operations on complex numbers with parts of type REAL, which the generator replaces by the type.

fn REAL_complex_multiply(x: vec2<REAL>, y: vec2<REAL>) -> vec2<REAL> {
    return vec2<REAL>(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x);
}

fn REAL_complex_square(x: vec2<REAL>) -> vec2<REAL> {
    return REAL_complex_multiply(x, x);
}
