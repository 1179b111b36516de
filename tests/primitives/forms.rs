//! Many forms of expressions in one process: each gives the correct result, and kernels that were not used for long are
//! dropped.
//!
//! `VKARRAY_TEST_FORMS` sets the number of forms. If it is set, the test also checks the memory of the process, which
//! has to run nothing else then: `VKARRAY_TEST_FORMS=20000 cargo test -p vkarray-tests --test device a_thousand_forms`
//! takes minutes.

use vkarray::array::Expr;
use vkarray::kernel::KernelLimit;
use vkarray::prelude::*;

use crate::fixture::{Fixture, contents};

const VARIABLE: &str = "VKARRAY_TEST_FORMS";
const DEFAULT_FORMS: u32 = 120;
const LIMIT: usize = 40;

/// The most that resident memory may grow in the second half of a long run.
const MAX_GROWTH: u64 = 32 << 20;

/// An expression with an operation for each pair of bits of a number, and its value for one element.
fn form(x: &DeviceNDArray<i32>, number: u32, value: i32) -> (Expr<i32>, i32) {
    (0..8).fold((x + 1, value + 1), |(expr, result), digit| match number >> (2 * digit) & 3 {
        0 => (expr + x, result.wrapping_add(value)),
        1 => (expr * x, result.wrapping_mul(value)),
        2 => (expr.maximum(x), result.max(value)),
        _ => (expr - x, result.wrapping_sub(value)),
    })
}

#[cfg(target_os = "linux")]
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    4096 * pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap()
}

#[cfg(not(target_os = "linux"))]
fn resident() -> u64 {
    0
}

#[test]
fn a_thousand_forms_keep_as_many_kernels_as_the_limit_says() {
    let ctx = Fixture::open();
    let asked = std::env::var(VARIABLE).ok().map(|text| text.parse::<u32>().expect("a number of forms"));
    let n_forms = asked.unwrap_or(DEFAULT_FORMS);
    ctx.kernel_cache().set_limit(KernelLimit { kernels: LIMIT, ..KernelLimit::default() });
    let x = ctx.arange(-3, 4, 1).unwrap();
    let mut at_half = 0;
    for number in 0..n_forms {
        let (expr, result) = form(&x, number, 3);
        assert_eq!(contents(&expr.eval().unwrap()).last(), Some(&result), "{number}");
        let kept = ctx.kernel_cache().statistics();
        assert!(kept.kernels <= LIMIT && kept.built - kept.dropped == kept.kernels as u64, "{kept:?}");
        if number == n_forms / 2 {
            at_half = resident();
        }
        if asked.is_some() && number % 1000 == 999 {
            println!("{} forms: {} KiB resident, {kept:?}", number + 1, resident() >> 10);
        }
    }
    assert!(asked.is_none() || resident() <= at_half + MAX_GROWTH, "{} bytes, then {}", at_half, resident());
    // The kernel of a form that is used again and again is kept.
    let built = || ctx.kernel_cache().statistics().built;
    for number in 0..2 * u32::try_from(LIMIT).unwrap() {
        drop(form(&x, 65_535 - number, 3).0.eval().unwrap());
        let before = built();
        drop(form(&x, 65_535, 3).0.eval().unwrap());
        assert_eq!(built(), before, "{number}");
    }
}
