// ARRAY_NAME(i, v): atomically ARRAY[i] = RESULT if CHANGES; returns the old value
//
// ARRAY is a storage array<atomic<u32>> with the bits of f32 values. The operation is repeated if another invocation
// changed the value in between. The words in capitals stand for the array, and for an operation on the old number and the
// given value.

fn ARRAY_NAME(i: u32, value: f32) -> f32 {
    var old = atomicLoad(&ARRAY[i]);
    loop {
        let number = bitcast<f32>(old);
        if !(CHANGES) {
            return number;
        }
        let tried = atomicCompareExchangeWeak(&ARRAY[i], old, bitcast<u32>(RESULT));
        if tried.exchanged {
            return number;
        }
        old = tried.old_value;
    }
    return 0.0;
}
