//! Random numbers on the device equal the numbers of the host's functions, at every start of a draw and for every
//! target.

use vkarray::prelude::*;
use vkarray::primitives::{Rng, philox_4x32, philox_4x64};

use crate::Result;

/// The stream of Philox 4x32-10 from a word on.
fn narrow_stream(seed: u64, from: u64) -> impl Iterator<Item = u32> {
    let key = bytemuck::cast::<u64, [u32; 2]>(seed);
    (from..).map(move |word| {
        let [low, high] = bytemuck::cast::<u64, [u32; 2]>(word / 4);
        philox_4x32(key, [low, high, 0, 0])[(word % 4) as usize]
    })
}

pub(crate) fn bits_are_those_of_the_host_from_any_position_and_of_any_length(ctx: &Context) -> Result<()> {
    let seed = 0x0123_4567_89ab_cdef;
    for n in [0_usize, 1, 3, 255, 1023, 1024, 1025, 7919] {
        for from in [0, 1, 2, 3, 5, (1 << 34) - 7] {
            let found = Rng::philox(seed).at(from).bits::<u32>(ctx, n)?;
            assert_eq!(found.to_vec()?, narrow_stream(seed, from).take(n).collect::<Vec<_>>(), "{n} from {from}");
        }
    }
    // The draw takes more than one dispatch.
    let n = (1 << 25) + 5;
    let last = Rng::philox(seed).bits::<u32>(ctx, n)?.slice_axis(0, -9..)?;
    assert_eq!(last.to_vec()?, narrow_stream(seed, n as u64 - 9).take(9).collect::<Vec<_>>());
    Ok(())
}

pub(crate) fn wide_bits_are_those_of_the_host_and_of_numpy(ctx: &Context) -> Result<()> {
    let key = [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210];
    let expected: Vec<u64> = (1..).flat_map(|i| philox_4x64(key, [i, 0, 0, 0])).take(1001).collect();
    let found = Rng::numpy_philox_with_key(key).bits::<u64>(ctx, 1001)?;
    assert_eq!(found.to_vec()?, expected);
    let part = Rng::numpy_philox_with_key(key).at(2 * 500).bits::<u64>(ctx, 501)?;
    assert_eq!(part.to_vec()?, expected[500..]);
    // numpy.random.Philox(key=key).random_raw(4)
    assert_eq!(
        expected[..4],
        [0x2d2e_7c09_c193_c5fa, 0xd56c_6aa2_d11f_06aa, 0x184f_cdf7_f547_4a23, 0x3678_32d0_8700_8054]
    );
    // numpy.random.Generator(numpy.random.Philox(2026)).random(5), and of float32
    let mut rng = Rng::numpy_philox(2026);
    assert_eq!(
        rng.uniform::<f64>(ctx, 5)?.to_vec()?,
        [0.17174895248729471, 0.00637712572177529, 0.774576334588037, 0.4671660589691675, 0.6322062453794223]
    );
    let floats = Rng::numpy_philox(2026).uniform::<f32>(ctx, 5)?;
    assert_eq!(floats.to_vec()?, [0.055188775, 0.17174894, 0.41750526, 0.006377101, 0.31117278]);
    Ok(())
}

pub(crate) fn uniform_numbers_are_the_upper_bits_as_a_fraction(ctx: &Context) -> Result<()> {
    let bits: Vec<u32> = narrow_stream(9, 0).take(2000).collect();
    let floats = Rng::philox(9).uniform::<f32>(ctx, 2000)?;
    let expected: Vec<f32> = bits.iter().map(|&bits| (bits >> 8) as f32 / 16_777_216.0).collect();
    assert_eq!(floats.to_vec()?, expected);
    let doubles = Rng::philox(9).uniform::<f64>(ctx, 1000)?;
    let wide = bits.chunks(2).map(|pair| u64::from(pair[0]) | u64::from(pair[1]) << 32);
    let expected: Vec<f64> = wide.map(|bits| (bits >> 11) as f64 / 9_007_199_254_740_992.0).collect();
    assert_eq!(doubles.to_vec()?, expected);
    Ok(())
}

pub(crate) fn integers_are_products_of_bits_and_the_length_of_the_range(ctx: &Context) -> Result<()> {
    let bits: Vec<u32> = narrow_stream(5, 0).take(999).collect();
    let found = Rng::philox(5).integers(ctx, -7..11, 999)?;
    let expected: Vec<i32> =
        bits.iter().map(|&bits| i32::try_from((u64::from(bits) * 18) >> 32).expect("below 18") - 7).collect();
    assert_eq!(found.to_vec()?, expected);
    let whole = Rng::philox(5).integers(ctx, i32::MIN..i32::MAX, 999)?;
    let expected: Vec<i32> = bits
        .iter()
        .map(|&bits| {
            i32::try_from(((u64::from(bits) * u64::from(u32::MAX)) >> 32).cast_signed() - (1 << 31))
                .expect("in the range")
        })
        .collect();
    assert_eq!(whole.to_vec()?, expected);
    let wide = Rng::numpy_philox_with_key([3, 4]).integers(ctx, i64::MIN..1 << 60, 100)?;
    let range = u128::from((1_u64 << 63) + (1 << 60));
    let expected: Vec<i64> = (1..)
        .flat_map(|i| philox_4x64([3, 4], [i, 0, 0, 0]))
        .take(100)
        .map(|bits| i64::try_from(((u128::from(bits) * range) >> 64).cast_signed() - (1 << 63)).expect("in the range"))
        .collect();
    assert_eq!(wide.to_vec()?, expected);
    let refused = Rng::philox(1).integers(ctx, 3..3, 5).expect_err("an empty range is refused");
    assert_eq!(refused.to_string(), "integers: there are no numbers from 3 to before 3");
    Ok(())
}

pub(crate) fn normal_numbers_follow_from_the_bits_and_have_their_moments(ctx: &Context) -> Result<()> {
    let n = 100_001;
    let found = Rng::philox(11).normal::<f32>(ctx, n)?.to_vec()?;
    let bits: Vec<u32> = narrow_stream(11, 0).take(n + 1).collect();
    for (pair, expected) in found.chunks(2).zip(bits.chunks(2)) {
        let [u, v] = [expected[0], expected[1]].map(|bits| f64::from(bits >> 8) / 16_777_216.0);
        let radius = (-2.0 * (1.0 - u).ln()).sqrt();
        let angle = std::f64::consts::PI * (2.0 * v - 1.0);
        for (found, expected) in pair.iter().zip([radius * angle.cos(), radius * angle.sin()]) {
            // Vulkan allows an error of 2^-11 for sines and cosines.
            assert!((f64::from(*found) - expected).abs() < 4e-3, "{found} for {expected}");
        }
    }
    let mean = found.iter().map(|&x| f64::from(x)).sum::<f64>() / n as f64;
    let variance = found.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / n as f64;
    assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.02, "{mean}, {variance}");
    Ok(())
}

pub(crate) fn a_draw_fills_views_and_host_memory_in_c_order_and_leaves_the_rest(ctx: &Context) -> Result<()> {
    let stream = ctx.stream()?;
    let expected = Rng::philox(3).uniform::<f32>(ctx, [5, 7])?.to_vec()?;
    let base = ctx.full([7, 11], -1.0_f32)?;
    let view = base.t().slice(s![1..;2, ..;-1])?;
    let mut rng = Rng::philox(3);
    rng.fill_uniform(&view.on(&stream))?;
    assert_eq!(view.to_vec()?, expected);
    assert_eq!(base.to_vec()?.iter().filter(|&&x| x == -1.0).count(), 42);
    assert_eq!(rng.position(), 35);
    let pinned = ctx.pinned_array::<f32>([5, 7])?;
    Rng::philox(3).fill_uniform(&pinned)?;
    assert_eq!(pinned.to_vec()?, expected);
    let misaligned = ctx.zeros::<f32>(36)?;
    Rng::philox(3).fill_uniform(&misaligned.slice(s![1..])?)?;
    assert_eq!(misaligned.to_vec()?[1..], expected);
    let constant = ctx.zeros::<f32>(4)?.read_only();
    let mut rng = Rng::philox(3);
    assert!(matches!(rng.fill_uniform(&constant), Err(Error::ReadOnly { .. })));
    assert_eq!((rng.position(), constant.to_vec()?), (0, vec![0.0; 4]));
    Ok(())
}
