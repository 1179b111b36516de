//! Elements that indices select and replace, compared with indexing on the host.

use ndarray::{Array3, ArrayD, Axis};
use vkarray::prelude::*;
use vkarray::primitives::IndexMode;

use crate::{Result, int, number};

/// An array of different numbers, of a shape without two equal lengths.
fn host() -> ArrayD<i32> {
    Array3::from_shape_fn((5, 7, 3), |(i, j, k)| int(100 * i + 10 * j + k)).into_dyn()
}

pub(crate) fn indices_take_slices_along_any_axis_of_any_view(ctx: &Context) -> Result<()> {
    let x = ctx.to_device(&host())?;
    for view in [x.clone(), x.t(), x.slice(s![..;-1, 1..;2, ..])?] {
        let host = view.copy_to_host()?;
        for axis in 0..3 {
            let length = host.shape()[axis];
            for n in [0, 1, 4, 300] {
                let places: Vec<usize> = (0..n).map(|i| i * 7 % length).collect();
                let indices: Vec<u32> = places.iter().map(|&place| number(place)).collect();
                let found = view.take(&ctx.slice_to_device(&indices)?, axis as isize)?;
                assert_eq!(found.copy_to_host()?, host.select(Axis(axis), &places), "{n} along {axis} of {view:?}");
            }
        }
    }
    Ok(())
}

pub(crate) fn indices_out_of_range_wrap_around_or_are_clipped(ctx: &Context) -> Result<()> {
    let x = ctx.arange(0_i32, 7, 1)?;
    let indices = ctx.slice_to_device(&[-9_i32, -7, -1, 0, 6, 7, 20])?;
    assert_eq!(x.take_with_mode(&indices, 0, IndexMode::Wrap)?.to_vec()?, [5, 0, 6, 0, 6, 0, 6]);
    assert_eq!(x.take_with_mode(&indices, 0, IndexMode::Clip)?.to_vec()?, [0, 0, 0, 0, 6, 6, 6]);
    assert!(x.take(&indices, 0).is_err(), "indices out of range are refused");
    Ok(())
}

pub(crate) fn elements_are_taken_along_an_axis_and_put_by_flat_index(ctx: &Context) -> Result<()> {
    let host = host();
    let x = ctx.to_device(&host)?;
    let places = ArrayD::from_shape_fn(vec![5, 2, 3], |at| number((at[0] + 3 * at[1] + 5 * at[2]) % 7));
    let expected =
        ArrayD::from_shape_fn(vec![5, 2, 3], |at| host[[at[0], places[[at[0], at[1], at[2]]] as usize, at[2]]]);
    assert_eq!(x.take_along_axis(&ctx.to_device(&places)?, 1)?.copy_to_host()?, expected);
    for n in [1, 64, 105] {
        let indices: Vec<usize> = (0..n).map(|i| i * 8 % 105).collect(); // All indices differ.
        let on_device: Vec<u32> = indices.iter().map(|&index| number(index)).collect();
        let values: Vec<i32> = (0..n).map(|i| -int(i)).collect();
        let copy = x.to_contiguous(Order::C)?;
        let target = ctx.full_like(&copy, 0)?;
        target.put(&ctx.slice_to_device(&on_device)?, &ctx.slice_to_device(&values)?)?;
        let mut expected = vec![0; 105];
        indices.iter().zip(&values).for_each(|(&index, &value)| expected[index] = value);
        assert_eq!(target.to_vec()?, expected, "{n} elements");
    }
    Ok(())
}
