// ARRAY_NAME(i, v): atomically ARRAY[i] = RESULT if CHANGES; returns the old value
//
// ARRAY is a storage array<atomic<u32>> with the bits of f32 values. The operation is repeated if another invocation
// changed the value in between. The words in capitals stand for the array, and for an operation on the old number and the
// given value. Parameters and variables begin with the array's name, so that none of them hides the array.

fn ARRAY_NAME(ARRAY_i: u32, ARRAY_value: f32) -> f32 {
    var ARRAY_old = atomicLoad(&ARRAY[ARRAY_i]);
    loop {
        let ARRAY_number = bitcast<f32>(ARRAY_old);
        if !(CHANGES) {
            return ARRAY_number;
        }
        let ARRAY_tried = atomicCompareExchangeWeak(&ARRAY[ARRAY_i], ARRAY_old, bitcast<u32>(RESULT));
        if ARRAY_tried.exchanged {
            return ARRAY_number;
        }
        ARRAY_old = ARRAY_tried.old_value;
    }
    return 0.0;
}
