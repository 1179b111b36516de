// ARRAY_add(i, v): atomically ARRAY[i] = ARRAY[i] + v; returns the old value. ARRAY_min and ARRAY_max store the smaller
// and the larger value.
//
// ARRAY is a storage array<atomic<u32>> with the bits of f32 values. The operation is repeated if another invocation
// changed the value in between. ARRAY_min and ARRAY_max do not store a NaN.

fn ARRAY_add(i: u32, value: f32) -> f32 {
    var old = atomicLoad(&ARRAY[i]);
    loop {
        let tried = atomicCompareExchangeWeak(&ARRAY[i], old, bitcast<u32>(bitcast<f32>(old) + value));
        if tried.exchanged {
            return bitcast<f32>(old);
        }
        old = tried.old_value;
    }
    return 0.0;
}

fn ARRAY_min(i: u32, value: f32) -> f32 {
    var old = atomicLoad(&ARRAY[i]);
    loop {
        if !(value < bitcast<f32>(old)) {
            return bitcast<f32>(old);
        }
        let tried = atomicCompareExchangeWeak(&ARRAY[i], old, bitcast<u32>(value));
        if tried.exchanged {
            return bitcast<f32>(old);
        }
        old = tried.old_value;
    }
    return 0.0;
}

fn ARRAY_max(i: u32, value: f32) -> f32 {
    var old = atomicLoad(&ARRAY[i]);
    loop {
        if !(value > bitcast<f32>(old)) {
            return bitcast<f32>(old);
        }
        let tried = atomicCompareExchangeWeak(&ARRAY[i], old, bitcast<u32>(value));
        if tried.exchanged {
            return bitcast<f32>(old);
        }
        old = tried.old_value;
    }
    return 0.0;
}
