//! Elements that a mask selects, and positions of elements that are not zero, compared with the host.

use half::f16;
use vkarray::array::{Bool, Complex64};
use vkarray::prelude::*;

use crate::{Result, number};

/// The elements of a workgroup.
const BLOCK: usize = 4096;

fn check<T: Element + PartialEq + std::fmt::Debug>(ctx: &Context, of_number: impl Fn(usize) -> T) -> Result<()> {
    for n in [0, 1, 3, 4, 5, 1021, BLOCK - 1, BLOCK, BLOCK + 1, 5 * BLOCK, 300_007] {
        let host: Vec<T> = (0..n).map(&of_number).collect();
        let x = ctx.slice_to_device(&host)?;
        let masks: [(&str, &dyn Fn(usize) -> bool); 4] = [
            ("none", &|_| false),
            ("all", &|_| true),
            ("some", &|i| (i * 7919) % 1009 < 400),
            ("the last of each block", &|i| (i + 1) % BLOCK == 0 || i + 1 == n),
        ];
        for (name, is_set) in masks {
            let flags: Vec<Bool> = (0..n).map(|i| Bool::from(is_set(i))).collect();
            let mask = ctx.slice_to_device(&flags)?;
            let expected: Vec<T> = (0..n).filter(|&i| is_set(i)).map(&of_number).collect();
            assert!(x.compact(&mask)?.to_vec()? == expected, "{name} of {n} {:?}", T::DTYPE);
            // The mask and the elements begin at any offset, and are in reverse order.
            if n > 8 {
                let (part, part_mask) = (x.slice(s![3..])?, mask.slice(s![..-3])?);
                let expected: Vec<T> = (3..n).filter(|&i| is_set(i - 3)).map(&of_number).collect();
                assert!(part.compact(&part_mask)?.to_vec()? == expected, "{name} of a part of {n}");
                let (back, back_mask) = (x.flip(None)?, mask.flip(None)?);
                let mut expected: Vec<T> = (0..n).filter(|&i| is_set(i)).map(&of_number).collect();
                expected.reverse();
                assert!(back.compact(&back_mask)?.to_vec()? == expected, "{name} of {n}, backwards");
            }
            let places: Vec<u32> = (0..n).filter(|&i| is_set(i)).map(number).collect();
            assert!(mask.nonzero()?[0].to_vec()? == places, "places of {name} of {n}");
        }
    }
    Ok(())
}

pub(crate) fn masks_select_elements_of_every_size_in_order(ctx: &Context) -> Result<()> {
    check(ctx, |i| u8::try_from(i % 251).expect("below 251"))?;
    check(ctx, |i| f16::from_f32((i % 2000) as f32))?;
    check(ctx, |i| i as f32)?;
    check(ctx, |i| i as u64 * 0x1_0000_0001)?;
    check(ctx, |i| Complex64 { re: i as f64, im: -1.0 })
}

pub(crate) fn masks_select_rows(ctx: &Context) -> Result<()> {
    let x = ctx.arange(0_u32, 3 * 5000, 1)?.reshape([5000, 3])?;
    let mask = (x.slice(s![.., 0])? % 5).equal(0).eval()?;
    let expected: Vec<u32> = (0..5000).filter(|i| 3 * i % 5 == 0).flat_map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
    assert_eq!(x.compact(&mask)?.to_vec()?, expected);
    Ok(())
}
