//! Functions of floats whose results have the same bits on every run: 5 runs, on a GPU 1,000.

use vkarray::array::Complex32;
use vkarray::device::DeviceType;
use vkarray::prelude::*;
use vkarray::primitives::Rng;

use crate::fixture::{Fixture, contents};

#[test]
fn results_of_floats_have_the_same_bits_on_every_run() {
    let ctx = Fixture::open();
    let runs = if ctx.info().device_type == DeviceType::Cpu { 5 } else { 1000 };
    let mut rng = Rng::philox(5);
    let x = rng.normal::<f32>(&ctx, [100_003]).unwrap();
    let table = rng.normal::<f32>(&ctx, [517, 1031]).unwrap();
    // Products whose inner axis is divided among workgroups, and of tiles that divide nothing.
    let [long, wide] = [[33, 4099], [4099, 35]].map(|shape| rng.normal::<f32>(&ctx, shape).unwrap());
    let halves = rng.normal::<f32>(&ctx, [264, 520]).unwrap().cast::<half::f16>().eval().unwrap();
    let waves = rng.normal::<f32>(&ctx, [3, 1 << 14]).unwrap().cast::<Complex32>().eval().unwrap();
    let results = || -> Vec<(&str, Vec<u8>)> {
        fn bytes<T: Element>(array: &DeviceNDArray<T>) -> Vec<u8> {
            bytemuck::cast_slice(&contents(array)).to_vec()
        }
        vec![
            ("sum", bytes(&x.sum(..).unwrap())),
            ("sum of an expression", bytes(&(&x * &x - 0.1).sum(..).unwrap())),
            ("sums along axes", bytes(&table.sum(0).unwrap())),
            ("variance", bytes(&table.var(1).unwrap())),
            ("running sum", bytes(&x.cumulative_sum(0).unwrap())),
            ("running sums of rows", bytes(&table.cumulative_sum(1).unwrap())),
            ("product", bytes(&table.matmul(&table.t()).unwrap())),
            ("product of a long axis", bytes(&long.matmul(&wide).unwrap())),
            ("product of f16", bytes(&halves.matmul(&halves.t()).unwrap())),
            ("transform", bytes(&waves.fft(1).unwrap())),
        ]
    };
    let first = results();
    for run in 1..runs {
        for ((name, found), (_, expected)) in results().iter().zip(&first) {
            assert!(found == expected, "{name}: run {run} has other bits");
        }
    }
}
