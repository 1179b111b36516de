//! The elements of recorded calls, made from random bits like the script's.

use vkarray::array::{Bool, Complex32};
use vkarray::half::f16;
use vkarray::prelude::*;
use vkarray::primitives::UniformFloat;

/// A number made from random bits, like `numbers` of the script.
pub(super) trait Made: Element + Default {
    fn made(values: &str, raw: u64) -> Self;
}

fn whole(raw: u64) -> i64 {
    i64::try_from((raw >> 33) % 15).unwrap() - 7
}

macro_rules! made {
    ($($ty:ty: $is_signed:expr),*) => {
        $(impl Made for $ty {
            fn made(values: &str, raw: u64) -> Self {
                let value = match values {
                    "all" => (raw >> 11).cast_signed(),
                    "signs" => 1 - 2 * ((raw >> 33) % 2).cast_signed(),
                    _ if $is_signed => whole(raw),
                    _ => whole(raw) + 7,
                };
                bytemuck::pod_read_unaligned(&value.to_le_bytes()[..size_of::<Self>()])
            }
        })*
    };
    (float $($ty:ty: $of:expr),*) => {
        $(impl Made for $ty {
            fn made(values: &str, raw: u64) -> Self {
                let at = (raw >> 33) % 24;
                $of(match (values, at) {
                    ("all", _) => ((raw >> 40) as i64 - (1 << 23)) as f64 * 0.125,
                    ("signs", _) => 1.0 - 2.0 * ((raw >> 33) % 2) as f64,
                    ("nan", _) if (raw >> 33) % 64 == 9 => f64::NAN,
                    ("whole" | "nan", _) => whole(raw) as f64,
                    (_, 0) => f64::NAN,
                    (_, 1) => f64::INFINITY,
                    (_, 2) => f64::NEG_INFINITY,
                    (_, 3) => -0.0,
                    (_, 4) => 0.0,
                    _ => (at as f64 - 14.0) * 0.5,
                })
            }
        })*
    };
}

made! { u8: false, i16: true, i32: true, u32: false, i64: true, u64: false }
made! { float f16: f16::from_f64, f32: f32::of_f64, f64: f64::of_f64 }

impl Made for Bool {
    fn made(_: &str, raw: u64) -> Self {
        ((raw >> 33) % 2 == 1).into()
    }
}

impl Made for Complex32 {
    fn made(_: &str, raw: u64) -> Self {
        Self { re: ((raw >> 33) % 15) as f32, im: 0.0 }
    }
}

pub(super) fn splitmix(seed: u64, count: usize) -> impl Iterator<Item = u64> {
    (1..=count as u64).map(move |i| {
        let z = seed.wrapping_add(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

pub(super) fn numbers<T: Made>(values: &str, seed: u64, count: usize) -> Vec<T> {
    splitmix(seed, count).map(|raw| T::made(values, raw)).collect()
}
